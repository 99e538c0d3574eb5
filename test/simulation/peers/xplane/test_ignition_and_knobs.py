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

"""Ignition, and the panel's knobs and switches, by datarefs and by commands."""

from hypothesis import given, settings, strategies
import pytest

pytest.importorskip('jsbsim', reason='needs JSBSim (pip install jsbsim)')

from simulated_xplane import FRAME, Sim

from xplane_bridge.simulation.aircraft.aircraft import Aircraft
from xplane_bridge.simulation.aircraft.initial import Initial
from xplane_bridge.simulation.peers.world import World
from xplane_bridge.simulation.peers.xplane.commands import Commands
from xplane_bridge.simulation.peers.xplane.datarefs import DatarefStore

KEY = 'sim/cockpit2/engine/actuators/ignition_key'
RUNNING = 'sim/flightmodel/engine/ENGN_running'
HIT = 'sim/cockpit2/engine/actuators/starter_hit'
RADIOS = 'sim/cockpit2/radios/actuators/'
DIALS = 'sim/cockpit2/autopilot/'
PARKED = Initial(parked=True, heading_deg=90.0)


@pytest.fixture
def parked() -> Sim:
    """Return a parked aircraft with its engine running."""
    return Sim(PARKED, version=12)


@pytest.fixture(scope='module')
def panel() -> Sim:
    """Return an aircraft whose knobs are turned."""
    return Sim(version=12)


# Ignition


def test_key_stops_the_engine_and_the_starter_starts_it_while_it_is_held(parked: Sim) -> None:
    assert parked.many(KEY) == (3, *[0] * 15)
    parked.put(KEY, 0)
    parked.run(4.0)
    assert parked.one(RUNNING) == 0
    assert parked.one('sim/cockpit2/engine/indicators/engine_speed_rpm') < 10.0
    parked.put(KEY, 3)
    parked.run(1.0)
    assert parked.one(RUNNING) == 0
    # The key springs back, so it is written again and again, as clients do.
    for _ in range(40):
        parked.put(KEY, 4)
        parked.run(0.1)
        assert (parked.one(KEY), parked.one(HIT)) == (4, 1)
    parked.run(0.2)
    assert parked.many(KEY)[:2] == (3, 0)
    assert parked.one(HIT) == 0
    parked.run(2.0)
    assert parked.one(RUNNING) == 1
    assert parked.one('sim/cockpit2/engine/indicators/engine_speed_rpm') > 500.0


def test_magnetos_and_starter_by_command(parked: Sim) -> None:
    run = parked.commands.run
    run('sim/magnetos/magnetos_off_1')
    parked.run(4.0)
    assert parked.one(RUNNING) == 0
    run('sim/starters/engage_starter_1', 'begin')
    parked.run(3.0)
    # Cranked without a spark.
    assert (parked.one(RUNNING), parked.one(HIT)) == (0, 1)
    assert parked.one('sim/cockpit2/engine/indicators/engine_speed_rpm') > 100.0
    run('sim/magnetos/magnetos_left_1')
    assert parked.one('sim/cockpit/engine/ignition_on') == 1
    parked.run(3.0)
    run('sim/starters/engage_starter_1', 'end')
    parked.run(2.0)
    assert (parked.one(RUNNING), parked.one(HIT)) == (1, 0)
    run('sim/starters/shut_down')
    assert parked.one(KEY) == 0
    assert parked.one('sim/flightmodel/engine/ENGN_mixt') == 0.0
    parked.run(4.0)
    assert parked.one(RUNNING) == 0


def test_a_repaired_engine_has_the_magnetos_of_its_key(parked: Sim) -> None:
    failure = 'sim/operation/failures/rel_engfai0'
    parked.put(failure, 6)
    assert parked.one(KEY) == 3
    parked.put(KEY, 0)
    parked.put(failure, 0)
    parked.run(4.0)
    assert parked.one(RUNNING) == 0
    parked.put(failure, 6)
    parked.put(KEY, 3)
    parked.put(failure, 0)
    parked.run(1.0)
    assert parked.one(RUNNING) == 1


def test_a_flight_after_a_reset_knows_nothing_of_the_ignition() -> None:
    def fly(sim: Sim) -> tuple[object, ...]:
        sim.run(1.0)
        return tuple(sim.aircraft.state)

    sim = Sim(version=12)
    before = fly(sim)
    sim.put(KEY, 0)
    sim.run(1.0)
    sim.put(KEY, 4)
    sim.run(FRAME)
    sim.commands.run('sim/operation/reset_flight')
    assert (sim.one(KEY), sim.one(HIT)) == (3, 0)
    assert fly(sim) == before


def test_jets_have_neither_magnetos_nor_starters() -> None:
    jet = Sim(Initial(altitude_msl=3000.0, airspeed_kt=250.0), version=12, model='737')
    jet.put(KEY, 4, 0)
    jet.commands.run('sim/starters/engage_starter_1')
    jet.run(0.1)
    for name in (KEY, HIT, 'sim/cockpit/engine/ignition_on'):
        assert not any(jet.many(name))
    assert jet.many(RUNNING)[:2] == (1, 1)


# Radios


@settings(max_examples=30, deadline=None)
@given(channel=strategies.integers(118_000, 136_990).filter(
        lambda khz: khz % 5 == 0 and khz % 25 != 20), turns=strategies.integers(1, 30))
def test_com_knobs_stay_on_channels_and_turn_back(panel: Sim, channel: int, turns: int) -> None:
    name, run = RADIOS + 'com1_standby_frequency_hz_833', panel.commands.run
    for knob in ('fine_{}_833', 'coarse_{}'):
        panel.put(name, channel)
        seen = []
        for _ in range(turns):
            run(f'sim/radios/stby_com1_{knob.format("up")}')
            seen.append(int(panel.one(name)))
        assert all(118_000 <= khz < 137_000 and khz % 25 in (0, 5, 10, 15) for khz in seen)
        for _ in range(turns):
            run(f'sim/radios/stby_com1_{knob.format("down")}')
        assert panel.one(name) == channel
    # A knob turns its own digits only.
    assert len({khz % 1000 for khz in seen}) == 1


def test_names_of_10_khz_show_the_channel_and_tune_whole_ones(panel: Sim) -> None:
    khz, tens = RADIOS + 'com2_frequency_hz_833', RADIOS + 'com2_frequency_hz'
    panel.put(khz, 121_905)
    assert panel.one(tens) == panel.one('sim/cockpit/radios/com2_freq_hz') == 12_190
    for written, expected in ((12_197, 121_975), (12_192, 121_925), (11_830, 118_300)):
        panel.put(tens, written)
        assert (panel.one(tens), panel.one(khz)) == (written, expected)
    panel.put(RADIOS + 'com2_standby_frequency_hz', 12_345)
    panel.commands.run('sim/radios/com2_standy_flip')
    assert panel.one(tens) == 12_345
    assert panel.one(RADIOS + 'com2_standby_frequency_hz') == 11_830


@pytest.mark.parametrize(('command', 'name', 'before', 'after'), [
    ('radios/stby_com1_fine_up', RADIOS + 'com1_standby_frequency_hz', 11_897, 11_800),
    ('radios/stby_com1_coarse_down', RADIOS + 'com1_standby_frequency_hz', 11_830, 13_630),
    ('radios/stby_nav1_fine_up', RADIOS + 'nav1_standby_frequency_hz', 11_095, 11_000),
    ('radios/stby_nav1_fine_down', RADIOS + 'nav1_standby_frequency_hz', 11_030, 11_025),
    ('radios/stby_nav2_coarse_up', RADIOS + 'nav2_standby_frequency_hz', 11_795, 10_895),
    ('radios/stby_adf1_ones_up', RADIOS + 'adf1_standby_frequency_hz', 409, 400),
    ('radios/stby_adf1_tens_down', RADIOS + 'adf1_standby_frequency_hz', 409, 499),
    ('radios/stby_adf2_hundreds_thous_up', RADIOS + 'adf2_standby_frequency_hz', 950, 1050),
    ('radios/obs1_down', RADIOS + 'nav1_obs_deg_mag_pilot', 0.0, 359.0),
    ('radios/obs_HSI_up', RADIOS + 'hsi_obs_deg_mag_pilot', 359.0, 0.0),
    ('transponder/transponder_thousands_down', RADIOS + 'transponder_code', 1200, 200),
    ('transponder/transponder_ones_up', RADIOS + 'transponder_code', 1207, 1200),
    ('autopilot/heading_up', DIALS + 'heading_dial_deg_mag_pilot', 359.5, 0.5),
    ('autopilot/altitude_down', DIALS + 'altitude_dial_ft', 50.0, 0.0),
    ('autopilot/vertical_speed_down', DIALS + 'vvi_dial_fpm', 0.0, -100.0),
    ('autopilot/airspeed_up', DIALS + 'airspeed_dial_kts_mach', 99.0, 100.0),
    ('instruments/barometer_up', 'sim/cockpit/misc/barometer_setting', 29.92, 29.93),
    ('instruments/barometer_2992', 'sim/cockpit/misc/barometer_setting', 30.5, 29.92),
    ('instruments/barometer_copilot_down', 'sim/cockpit/misc/barometer_setting2', 29.92, 29.91),
    ('systems/avionics_off', 'sim/cockpit/electrical/avionics_on', 1, 0),
    ('ice/pitot_heat0_on', 'sim/cockpit/switches/pitot_heat_on', 0, 1),
    ('electrical/battery_1_off', 'sim/cockpit/electrical/battery_on', 1, 0),
    ('electrical/generator_1_off', 'sim/cockpit2/electrical/generator_on', 1, 0),
    ('fuel/fuel_pump_1_on', 'sim/cockpit/engine/fuel_pump_on', 0, 1)])
def test_knobs_and_switches_turn(panel: Sim, command: str, name: str, before: float,
                                 after: float) -> None:
    panel.put(name, before)
    assert panel.commands.run(f'sim/{command}')
    assert panel.one(name) == pytest.approx(after)


def test_dials_are_set_to_what_is_flown(panel: Sim) -> None:
    run, flight = panel.commands.run, 'sim/flightmodel/position/'
    for command, dial, flown in (
            ('heading_sync', 'heading_dial_deg_mag_pilot', 'mag_psi'),
            ('vertical_speed_sync', 'vvi_dial_fpm', 'vh_ind_fpm'),
            ('airspeed_sync', 'airspeed_dial_kts_mach', 'indicated_airspeed')):
        run(f'sim/autopilot/{command}')
        assert panel.one(DIALS + dial) == panel.one(flight + flown)
    panel.put(DIALS + 'airspeed_is_mach', 1)
    run('sim/autopilot/airspeed_sync')
    run('sim/autopilot/airspeed_up')
    assert panel.one(DIALS + 'airspeed_dial_kts_mach') == pytest.approx(
        panel.one('sim/flightmodel/misc/machno') + 0.01)
    panel.put(DIALS + 'airspeed_is_mach', 0)


def test_second_switches_are_elements_of_their_arrays(panel: Sim) -> None:
    panel.commands.run('sim/electrical/battery_2_on')
    panel.commands.run('sim/fuel/fuel_pump_2_on')
    for name in ('sim/cockpit2/electrical/battery_on', 'sim/cockpit/electrical/battery_array_on',
                 'sim/cockpit2/engine/actuators/fuel_pump_on'):
        assert panel.many(name)[1] == 1


def test_views_by_command(panel: Sim) -> None:
    external = 'sim/graphics/view/view_is_external'
    for command, outside in (('chase', 1), ('3d_cockpit_cmnd_look', 0)):
        panel.commands.run(f'sim/view/{command}')
        assert panel.one(external) == outside


def test_commands_work_before_anybody_reads_a_dataref() -> None:
    world = World(Aircraft())
    Commands(world).run('sim/autopilot/altitude_up')
    dial = DatarefStore(world, 12).read(DIALS + 'altitude_dial_ft')
    assert dial is not None
    assert dial.values == (100.0,)
