// Copyright 2026 xplane_bridge contributors
//
// Licensed under the Apache License, Version 2.0 (the "License");
// you may not use this file except in compliance with the License.
// You may obtain a copy of the License at
//
//     http://www.apache.org/licenses/LICENSE-2.0
//
// Unless required by applicable law or agreed to in writing, software
// distributed under the License is distributed on an "AS IS" BASIS,
// WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
// See the License for the specific language governing permissions and
// limitations under the License.

/// Run a law on what stands on stdin, a state on each line, and print its commands:
///
/// STATE (9 values, as in State)  ALTITUDE TRUE_HEADING COURSE AIRSPEED (nan: not held)  DT
///
/// The first line begins with elevator and throttle at which it starts.

#include <cmath>
#include <cstdio>
#include <iostream>
#include <optional>

#include "my_controller_cpp/law.hpp"

static std::optional<double> held(double value)
{
  return std::isnan(value) ? std::nullopt : std::optional<double>(value);
}

/// istream reads no nan.
static double number()
{
  std::string word;
  std::cin >> word;
  return word.empty() ? 0.0 : std::stod(word);
}

int main()
{
  std::optional<my_controller_cpp::Law> law;
  const double elevator = number();
  const double throttle = number();
  while (std::cin >> std::ws && !std::cin.eof()) {
    double s[9];
    for (double & value : s) {
      value = number();
    }
    const my_controller_cpp::State now{
      s[0], s[1], s[2], s[3], s[4], s[5], s[6], s[7], s[8]};
    my_controller_cpp::Target target;
    for (auto * value : {&target.altitude, &target.true_heading, &target.course,
        &target.airspeed})
    {
      *value = held(number());
    }
    if (!law) {
      law.emplace(now, my_controller_cpp::Controls{elevator, 0.0, 0.0, throttle});
    }
    const auto controls = law->update(now, target, number());
    std::printf(
      "%.17g %.17g %.17g %.17g\n", controls.elevator, controls.aileron, controls.rudder,
      controls.throttle);
    std::fflush(stdout);
  }
  return 0;
}
