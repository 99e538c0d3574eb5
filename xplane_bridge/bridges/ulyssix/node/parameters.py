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

"""Parameters of ulyssix_node."""

from __future__ import annotations

from dataclasses import dataclass
import ipaddress

from xplane_bridge.bridges.links.udp import RECEIVE_BUFFER
from xplane_bridge.bridges.nodes.common.base import CaptureParameters
from xplane_bridge.bridges.nodes.managed.parameters import parameter
from xplane_bridge.bridges.nodes.vehicle.publisher import TopicParameters
from xplane_bridge.bridges.ulyssix.protocol import WordOrder
from xplane_bridge.bridges.ulyssix.session import CONSTANT_AFTER, named_rate

# Complete years that a stamp can represent.
_FIRST_YEAR, _LAST_YEAR = 1970, 2037


@dataclass(frozen=True)
class UlyssixParameters(TopicParameters, CaptureParameters):
    """Parameters of ulyssix_node."""

    port: int = parameter(
        0, 'UDP port that the publisher sends to. Required: there is no standard one. With '
        'capture_file: 0 accepts the datagrams of all ports.', low=0, high=65535)
    bind_address: str = parameter(
        '', 'Local address to listen on; empty for all of them, as broadcasts need. With '
        'group: address of the network interface to join on; empty for the default route.')
    group: str = parameter('', 'Multicast group to join, if the publisher sends to one.')
    sender: str = parameter(
        '', 'Address or name of the only computer to listen to, optionally with the port that '
        'the publisher sends from, as host:port; empty for any.')
    receive_buffer: int = parameter(
        RECEIVE_BUFFER, 'Bytes of datagrams that the kernel is asked to buffer for the node.',
        low=4096, high=2**30)
    word_order: str = parameter(
        'auto', "Which half of the packet's time is sent first: the date (first_word_high) or "
        'the clock (true_u64); auto detects it.',
        choices=('auto', *(order.value for order in WordOrder)))
    day_base: str = parameter(
        'auto', 'Day number of 1 January in the packet time; auto detects it from the sample '
        'times, and is 1 without them.', choices=('auto', '1', '0'))
    integer_width: str = parameter(
        'auto', 'Bytes of a value in integer mode; auto detects it.', choices=('auto', '8', '4'))
    year: int = parameter(
        0, 'Year of the first packet, for recordings; 0 is the one nearest to the time of '
        'reception.', low=0, high=_LAST_YEAR)
    utc_offset: float = parameter(
        0.0, "Hours that the publisher's clock is ahead of UTC.", low=-14.0, high=14.0)
    parameter_names: tuple[str, ...] = parameter(
        (), 'Names of the parameters in order, for packets without names.')
    sample_rates: tuple[str, ...] = parameter(
        (), 'Rates of parameters without time tags, as "name=samples per second"; the name may '
        'be a pattern with * and ?; the first match counts.')
    sample_topics: tuple[str, ...] = parameter(
        (), 'Names, or patterns with * and ?, of parameters to publish on samples/<name> as well.')
    max_sample_topics: int = parameter(
        200, 'Maximum number of parameters with their own topic; the publisher may name any '
        'number of them.', low=1, high=10_000)
    decimation: int = parameter(
        1, 'Publish only every n-th sample on samples/<name>.', low=1, high=1_000_000,
        live=True)
    map: str = parameter(
        '', 'File (.yaml) that says what the parameters measure, in what unit, within what '
        'limits; from it come SI units, alarms, derived parameters, fix, imu/data and air_data. '
        'Empty: none.')
    quality: bool = parameter(
        True, 'Follow the quality of each parameter, and publish it on the topic quality; at the '
        'latest 0.1 s, or 1 MB of samples, after they are published.')
    constant_after: float = parameter(
        CONSTANT_AFTER, 'Seconds without a change after which the topic quality calls a parameter '
        'constant or stuck; 0 for never.', low=0.0, high=86_400.0)

    def __post_init__(self) -> None:
        """Check combinations of values."""
        super().__post_init__()
        if self.group:
            try:
                good = ipaddress.IPv4Address(self.group).is_multicast
            except ValueError:
                good = False
            if not good:
                raise ValueError(
                    f"parameter group: '{self.group}' is not a multicast address, "
                    '224.0.0.0 to 239.255.255.255')
        if 0 < self.year < _FIRST_YEAR:
            raise ValueError(
                f'parameter year: {self.year} is not 0, or {_FIRST_YEAR} to {_LAST_YEAR}')
        for name in ('parameter_names', 'sample_rates', 'sample_topics'):
            for text in getattr(self, name):
                if not isinstance(text, str):
                    raise ValueError(f'parameter {name}: expected texts, got {text!r}')
        for text in self.sample_rates:
            try:
                named_rate(text)
            except ValueError as error:
                raise ValueError(f'parameter sample_rates: {error}') from None
