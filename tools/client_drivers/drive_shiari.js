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

// @shiari/xplane-node-udp-client (npm). Its own dependencies are for its web server only.

'use strict';

const Client = require(process.argv[2]);

const AIRSPEED = 'sim/flightmodel/position/indicated_airspeed';
const HEADING = 'sim/cockpit/autopilot/heading_mag';
const LIGHTS = 'sim/cockpit/electrical/landing_lights_on';

console.log = () => {};  // It logs each callback.
const print = (what, reason) => process.stdout.write(`${what}\t${reason}\n`);
const client = new Client({host: '127.0.0.1', port: 49000});
const values = {};

function check(what, name, expected, tolerance) {
  return new Promise((resolve) => {
    client.requestDataRef(name, 10, (path, value) => { values[path] = value; });
    const begin = Date.now();
    const timer = setInterval(() => {
      const done = Math.abs(values[name] - expected) <= tolerance;
      if (done || Date.now() - begin > 4000) {
        clearInterval(timer);
        print(what, done ? 'ok' : `${values[name]}, not ${expected}`);
        resolve();
      }
    }, 50);
  });
}

(async () => {
  await check('read', AIRSPEED, 100, 5);
  client.setDataRef(HEADING, 180);
  await check('write', HEADING, 180, 1e-3);
  client.sendCommand('sim/lights/landing_lights_on');
  await check('command', LIGHTS, 1, 1e-3);
  process.exit(0);
})();
