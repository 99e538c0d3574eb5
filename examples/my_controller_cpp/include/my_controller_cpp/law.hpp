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

/// The control law, without ROS: the same as in examples/controllers/minimal.py.

#ifndef MY_CONTROLLER_CPP__LAW_HPP_
#define MY_CONTROLLER_CPP__LAW_HPP_

#include <algorithm>
#include <cmath>
#include <optional>

namespace my_controller_cpp
{

inline double limited(double value, double limit = 1.0)
{
  return std::clamp(value, -limit, limit);
}

/// SI units and radians; roll + is right wing down, pitch + is nose up.
struct State
{
  double roll, pitch, heading, course, roll_rate, pitch_rate, yaw_rate, altitude, airspeed;
};

/// What is to be held: either a heading or a course.
struct Target
{
  std::optional<double> altitude, true_heading, course, airspeed;
};

struct Controls
{
  double elevator, aileron, rudder, throttle;
};

/// Altitude -> climb -> pitch -> elevator; course -> bank -> aileron; airspeed -> throttle.
class Law
{
public:
  /// Start from where the controls are, so that nothing jumps.
  Law(const State & now, const Controls & controls)
  : pitch_(now.pitch), altitude_(now.altitude), elevator_(controls.elevator),
    throttle_(controls.throttle) {}

  Controls update(const State & now, const Target & target, double dt)
  {
    climb_ += (now.altitude - altitude_ - climb_ * dt) / (0.5 + dt);
    altitude_ = now.altitude;
    const double climb = limited(0.3 * (target.altitude.value() - now.altitude), 3.5);
    pitch_ = limited(pitch_ + 0.008 * (climb - climb_) * dt, 0.2);
    const double error = limited(pitch_ + 0.025 * (climb - climb_), 0.2) - now.pitch;
    elevator_ = limited(elevator_ + 0.8 * error * dt);
    const double off = target.course ? *target.course - now.course :
      target.true_heading.value() - now.heading;
    const double bank = limited(2.2 * std::remainder(off, kTurn), 0.44);
    const double turn = 9.81 * std::tan(limited(now.roll)) / std::max(now.airspeed, 15.0);
    const double slow = limited(target.airspeed.value() - now.airspeed, 3.0);
    throttle_ = limited(throttle_ + 0.01 * slow * dt);
    return {
      limited(elevator_ + 2.2 * error - 0.7 * now.pitch_rate),
      limited(1.5 * (bank - now.roll) - 0.35 * now.roll_rate),
      limited(0.5 * (turn * std::cos(now.roll) - now.yaw_rate)),
      std::max(0.0, limited(throttle_ + 0.15 * slow + 0.1 * climb))};
  }

private:
  static constexpr double kTurn = 6.283185307179586;

  double pitch_, altitude_, elevator_, throttle_;
  double climb_ = 0.0;
};

}  // namespace my_controller_cpp

#endif  // MY_CONTROLLER_CPP__LAW_HPP_
