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

// libXPlane-UDP-Client (cloned), compiled with its sources. It prints a line when X-Plane appears.

#include <cmath>
#include <functional>
#include <iostream>
#include <map>
#include <mutex>
#include <string>
#include <unistd.h>

#include "XPlaneBeaconListener.h"
#include "XPlaneUDPClient.h"

namespace {

const char * AIRSPEED = "sim/flightmodel/position/indicated_airspeed";
const char * HEADING = "sim/cockpit/autopilot/heading_mag";
const char * LIGHTS = "sim/cockpit/electrical/landing_lights_on";
// 40 bytes of text, asked for one by one.
const char * DESCRIPTION = "sim/aircraft/view/acf_descrip[0][40]";

std::mutex mutex;
std::map<std::string, float> values;
std::string description;
XPlaneBeaconListener::XPlaneServer found;

void becomes(const std::string & what, std::function<bool()> done)
{
  for (int n = 0; n < 80; ++n) {
    {
      std::lock_guard<std::mutex> lock(mutex);
      if (done()) {
        std::cout << what << "\tok" << std::endl;
        return;
      }
    }
    usleep(50000);
  }
  std::cout << what << "\tnot within 4 s" << std::endl;
}

void near(const std::string & what, const char * name, float expected, float tolerance)
{
  becomes(what, [=]() {
    return values.count(name) && std::fabs(values[name] - expected) <= tolerance;
  });
}

}  // namespace

int main()
{
  XPlaneBeaconListener::getInstance()->registerNotificationCallback(
    [](XPlaneBeaconListener::XPlaneServer server, bool) {
      std::lock_guard<std::mutex> lock(mutex);
      found = server;
    });
  becomes("beacon", []() {return found.receivePort == 49000;});
  XPlaneUDPClient client(
    found.host, found.receivePort,
    [](std::string name, float value) {
      std::lock_guard<std::mutex> lock(mutex);
      values[name] = value;
    },
    [](std::string, std::string value) {
      std::lock_guard<std::mutex> lock(mutex);
      description = value;
    });
  for (const char * name : {AIRSPEED, HEADING, LIGHTS, DESCRIPTION}) {
    client.subscribeDataRef(name, 10);
  }
  near("read", AIRSPEED, 100.0f, 5.0f);
  client.setDataRef(HEADING, 180.0f);
  near("write", HEADING, 180.0f, 1e-3f);
  client.sendCommand("sim/lights/landing_lights_on");
  near("command", LIGHTS, 1.0f, 1e-3f);
  becomes("text", []() {return description.find("(JSBSim)") != std::string::npos;});
  std::cout.flush();
  // Its threads wait for datagrams.
  _exit(0);
}
