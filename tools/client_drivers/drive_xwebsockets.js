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

// xwebsockets (cloned, compiled with its own script): X-Plane's UDP for WebSockets on port 5174.

'use strict';

const {spawn} = require('child_process');
const folder = process.argv[2];
const WebSocket = require(`${folder}/node_modules/ws`);

const AIRSPEED = 'sim/flightmodel/position/indicated_airspeed';
const HEADING = 'sim/cockpit/autopilot/heading_mag';
const LIGHTS = 'sim/cockpit/electrical/landing_lights_on';
const NAMES = [AIRSPEED, HEADING, LIGHTS];

const print = (what, reason) => process.stdout.write(`${what}\t${reason}\n`);
const server = spawn('node', ['out/index.js'], {cwd: folder});
const values = {};
let socket;

function becomes(what, name, expected, tolerance) {
  return new Promise((resolve) => {
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

const send = (message) => socket.send(JSON.stringify(message));

async function drive() {
  NAMES.forEach((path, index) => send({header: 'RREF', freq: 10, index, path}));
  await becomes('read', AIRSPEED, 100, 5);
  send({header: 'DREF', path: HEADING, data: 180});
  await becomes('write', HEADING, 180, 1e-3);
  send({header: 'CMND', path: 'sim/lights/landing_lights_on'});
  await becomes('command', LIGHTS, 1, 1e-3);
  server.kill();
  process.exit(0);
}

// It says where it listens, when it does.
server.stdout.once('data', () => {
  socket = new WebSocket('ws://127.0.0.1:5174');
  socket.on('open', drive);
  socket.on('message', (text) => {
    JSON.parse(text).data.forEach(([index, value]) => { values[NAMES[index]] = value; });
  });
});
