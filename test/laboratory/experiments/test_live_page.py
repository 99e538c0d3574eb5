# Copyright 2026 xplane_bridge contributors
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.


"""The page of the live view, as a headless Chromium shows it."""

import fcntl
import json
import os
import select
import shutil
import subprocess
import time

import pytest

pytest.importorskip('jsbsim', reason='the simulators need jsbsim')
pytest.importorskip('foxglove', reason='the live view needs foxglove-sdk')

from xplane_bridge.common.signals import Interrupts
from xplane_bridge.laboratory.experiments.display import LiveView
from xplane_bridge.laboratory.experiments.fly import conduct
from xplane_bridge.laboratory.experiments.live import Live
from xplane_bridge.laboratory.experiments.settings import Experiment, Files, PASSED
from xplane_bridge.laboratory.flights.order import Order
from xplane_bridge.laboratory.flights.scenario import scenario
from xplane_bridge.laboratory.open_flight import open_flight

BROWSERS = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
PROGRAM = next(filter(None, map(shutil.which, BROWSERS)), None)
TITLE = '<b>two</b> & "more"'
FLIGHT = {
    'duration': 8.0, 'initial': {'altitude': 1200.0, 'heading_deg': 90.0, 'airspeed': 50.0},
    'events': [{'at': 0.2, 'engage': True}, {'at': 0.4, 'change': {'altitude': 20.0}}],
    'vehicles': [{'name': 'lead'}, {'name': 'wing', 'initial': {'forward': -60.0, 'up': 5.0}}],
    'criteria': [{'separation': 'all', 'at_least': 30.0}]}
# How many pixels of a canvas have each of these colours.
COUNT = """(id, colours) => {
  const canvas = byId(id).querySelector('canvas');
  const {data} = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
  return colours.map(([r, g, b]) => {
    let count = 0;
    for (let n = 0; n < data.length; n += 4)
      count += data[n] === r && data[n + 1] === g && data[n + 2] === b;
    return count; }); }"""
SKY, GROUND, TARGET, OWN = (43, 119, 201), (125, 84, 48), (255, 109, 240), (255, 213, 74)


class Browser:
    """A headless Chromium with one page, driven by the DevTools protocol over two pipes."""

    def __init__(self, profile):
        theirs, self._to = os.pipe()
        self._from, answers = os.pipe()
        self._process = subprocess.Popen(
            [PROGRAM, '--headless', '--no-sandbox', '--disable-gpu', '--no-first-run',
             '--disable-background-networking', '--disable-component-update', '--disable-sync',
             '--window-size=1280,800', '--remote-debugging-pipe', f'--user-data-dir={profile}'],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            pass_fds=(3, 4), preexec_fn=lambda: _as_third_and_fourth(theirs, answers))
        os.close(theirs)
        os.close(answers)
        self._heard, self._number, self._session = b'', 0, {}
        self.problems = []

    def close(self):
        """End it."""
        self._process.kill()
        self._process.wait()
        os.close(self._to)
        os.close(self._from)

    def call(self, method, **parameters):
        """Return what a method of the protocol answers."""
        self._number += 1
        os.write(self._to, json.dumps({
            'id': self._number, 'method': method, 'params': parameters, **self._session,
        }).encode() + b'\0')
        while True:
            said = self._next()
            if said.get('id') == self._number:
                return said['result']
            if said['method'] in ('Runtime.exceptionThrown', 'Log.entryAdded'):
                self.problems.append(said['params'])

    def _next(self):
        while b'\0' not in self._heard:
            assert select.select([self._from], [], [], 60.0)[0], 'the browser says nothing'
            data = os.read(self._from, 2**20)
            assert data, 'the browser has ended'
            self._heard += data
        said, _, self._heard = self._heard.partition(b'\0')
        return json.loads(said)

    def open(self, address):
        """Open a page."""
        target = self.call('Target.createTarget', url='about:blank')['targetId']
        self._session = {'sessionId': self.call(
            'Target.attachToTarget', targetId=target, flatten=True)['sessionId']}
        for method in 'Runtime.enable', 'Log.enable':
            self.call(method)
        self.call('Page.navigate', url=address)

    def find(self, expression):
        """Return the value of an expression in the page; None if there is none."""
        found = self.call('Runtime.evaluate', expression=expression, returnByValue=True)
        return found['result'].get('value')

    def wait(self, expression):
        """Wait until an expression is true in the page."""
        deadline = time.monotonic() + 30.0
        while not self.find(f'Boolean({expression})'):
            assert time.monotonic() < deadline, (
                f'{expression} in {self.find("document.body.innerText")}')


def _as_third_and_fourth(theirs, answers):
    # Where the browser reads and writes; before that they may lie in each other's way.
    answers = fcntl.fcntl(answers, fcntl.F_DUPFD, 5)
    os.dup2(theirs, 3)
    os.dup2(answers, 4)


@pytest.fixture
def browser(tmp_path):
    """Yield a browser."""
    if PROGRAM is None:
        pytest.skip(f'none of {", ".join(BROWSERS)} is installed')
    browser = Browser(tmp_path)
    yield browser
    browser.close()


def test_a_browser_shows_a_flight_of_two(browser):
    order = Order(scenario.parse('two', FLIGHT))
    with Live(0, TITLE, [*order.of_vehicles()]) as live:
        browser.open(live.page)
        browser.wait('channels.size === 8')
        view = LiveView(live, pace=8.0)
        flight = open_flight(order, view)
        assert conduct(flight, view, Experiment(order, Files(), ''), Interrupts()) == PASSED
        browser.wait('byId("clock").textContent === "8.0 s of 8 s"')
        browser.wait('byId("status").textContent === "flight over"')
        assert browser.find('byId("title").textContent') == TITLE
        lead, wing = flight.vehicles.values()
        shows(browser, lead)
        is_drawn(browser)
        assert browser.find('[...byId("fleet").querySelectorAll("tbody tr")]'
                            '.map(row => row.cells[0].textContent)') == ['lead', 'wing']
        browser.find('byId("fleet").querySelectorAll("tbody tr")[1].click()')
        browser.wait('chosen === "wing" && !dirty')
        shows(browser, wing)
        events = browser.find('byId("events").innerText')
        assert 'engage' in events
        assert '0.4 s' in events
        # Where both are on the map, from where the first began.
        east, north, _ = flight.offset('lead', 'wing')
        (x, y, _), (x0, y0, _) = browser.find('[...vehicles.values()].map(one => one.place)')[::-1]
        assert (x - x0, y - y0) == pytest.approx((east, north), abs=0.05)
    browser.wait('!flight.open')
    assert browser.find('byId("status").textContent') == 'flight over'
    # The page finds the next flight by itself.
    with Live(int(live.page.rpartition(':')[2]), 'the next'):
        browser.wait('byId("title").textContent === "the next"')
        browser.wait('byId("status").textContent === "waiting for the flight"')
    assert not [one for one in browser.problems if 'WebSocket' not in json.dumps(one)]


def shows(browser, vehicle):
    """Compare the numbers in the page with those of a vehicle."""
    rows = {name: rest for name, *rest in browser.find(
        '[...byId("numbers").querySelectorAll("tbody tr")]'
        '.map(row => [...row.cells].map(cell => cell.textContent))')}
    assert rows['altitude'] == [
        f'{vehicle.last("altitude"):.1f} m', f'{vehicle.last("target_altitude"):.1f} m']
    assert rows['airspeed'][0] == f'{vehicle.last("airspeed"):.1f} m/s'
    assert float(rows['climb'][0].partition(' ')[0]) > 0.5


def is_drawn(browser):
    """Look for what there is to be seen."""
    sky, ground, target, own = browser.find(
        f'({COUNT})("pfd", {[*map(list, (SKY, GROUND, TARGET, OWN))]})')
    assert min(sky, ground) > 10_000
    assert min(target, own) > 50
    assert min(browser.find(f'({COUNT})("controls", {[list(TARGET), list(OWN)]})')) > 20
    assert browser.find(f'({COUNT})("map", {[list(OWN)]})')[0] > 50
