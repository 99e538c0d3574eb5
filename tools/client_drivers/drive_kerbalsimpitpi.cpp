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

// KerbalSimpitPi (cloned), the device's side for a Raspberry Pi, compiled with its source and
// -Dopen=open_port: it knows one serial port, and this is how it gets that of the simulator.

#include <cmath>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <functional>
#include <string>

#include "kspSimpit.h"

namespace {

const char * const PORT = "/tmp/xplane_bridge_simpit";
KSPSimpit device;
float airspeed = NAN, altitude = NAN;
// Not known yet.
int actions = -1;
FILE * results = nullptr;

void on_handshake(KSPMessage *)
{
  for (uint8_t channel : {ALTITUDE_MESSAGE, AIRSPEED_MESSAGE, ACTIONSTATUS_MESSAGE}) {
    device.registerChannel(channel);
  }
}

void on_message(KSPMessage * message)
{
  if (message->msgType == ALTITUDE_MESSAGE) {
    memcpy(&altitude, message->msgData, sizeof altitude);
  } else if (message->msgType == AIRSPEED_MESSAGE) {
    memcpy(&airspeed, message->msgData, sizeof airspeed);
  } else if (message->msgType == ACTIONSTATUS_MESSAGE) {
    actions = message->msgData[0];
  }
}

void becomes(const std::string & what, std::function<bool()> done)
{
  // It reads a byte at a time, and does not wait for one.
  for (int n = 0; n < 4000; ++n) {
    for (int m = 0; m < 100; ++m) {
      device.loop();
    }
    if (done()) {
      fprintf(results, "%s\tok\n", what.c_str());
      return;
    }
    usleep(1000);
  }
  fprintf(results, "%s\tnot within 4 s\n", what.c_str());
}

}  // namespace

int open_port(const char *, int flags, ...)
{
  return openat(AT_FDCWD, PORT, flags);
}

int main()
{
  // It prints each message.
  results = fdopen(dup(1), "w");
  if (freopen("/dev/null", "w", stdout) == nullptr) {
    return 1;
  }
  device.onHandshake = on_handshake;
  device.onMessage = on_message;
  if (device.begin() != 0) {
    return 1;
  }
  device.handshake();
  becomes("handshake", []() {return device.isHandshake;});
  becomes("altitude", []() {return altitude > 1000.0f;});
  becomes("airspeed", []() {return std::fabs(airspeed - 51.4f) < 2.5f;});
  device.activateAction(LIGHT_ACTION);
  becomes("action on", []() {return actions >= 0 && (actions & LIGHT_ACTION);});
  device.deactivateAction(LIGHT_ACTION);
  becomes("action off", []() {return actions >= 0 && !(actions & LIGHT_ACTION);});
  return 0;
}
