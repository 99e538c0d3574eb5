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

// xplane (npm), which reads rows.

'use strict';

const XPlane = require(process.argv[2]);

const print = (what, reason) => process.stdout.write(`${what}\t${reason}\n`);
const xplane = new XPlane({port: {in: 49008, out: 49000}});
const end = setTimeout(() => {
  print('rows', 'none; it reads packets that begin with DATA@ only');
  process.exit(0);
}, 3000);
xplane.on('data.airspeed', (speed) => {
  clearTimeout(end);
  print('rows', Math.abs(speed.indicated - 100) < 5 ? 'ok' : `${speed.indicated} kt, not 100`);
  process.exit(0);
});
xplane.listen();
