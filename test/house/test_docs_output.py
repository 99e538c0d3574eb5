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

"""Which output of a command is what a page says."""

from docs_session import Exact, missing
import pytest


@pytest.mark.parametrize(('page', 'printed', 'is_said'), [
    ('altitude 12.0 m', 'altitude 12.0 m', True),
    # The last digit may be rounded otherwise; a table may be wider.
    ('altitude 12.0 m', '  altitude   12.1 m', True),
    ('altitude 12.0 m', 'altitude 12.2 m', False),
    ('0.0599778253308948', '0.0606', False),
    ('0.0599778253308948', '0.0600', True),
    ('8e-09 rad/s', '7e-09 rad/s', True),
    ('8e-09 rad/s', '5e-09 rad/s', False),
    ('151 samples', '152 samples', False),
    ('1500.02 m', '1499.9 m', True),
    ('by ... -1.68 .. -1.595', 'by 3, -1.68 .. -1.595', True),
    ('1.2.3 installed.', '1.2.3 installed.', True),
    ('1.2.3 installed.', '1.2.4 installed.', False),
    ('margin nan', 'margin nan', True),
    ('margin nan', 'margin 3', False),
])
def test_figures_of_a_page_are_those_that_are_printed(page, printed, is_said):
    assert (missing([Exact(page)], f'before\n{printed}\nafter\n') == '') is is_said
    # Where they vary, any number will do.
    assert missing([page], f'before\n{printed}\nafter\n') == ''


def test_lines_come_in_their_order():
    said = 'a 1\nb 2\na 3\n'
    assert missing([Exact(line) for line in ('a 1', '...', 'a 3')], said) == ''
    assert missing([Exact(line) for line in ('b 2', 'a 1')], said) == 'a 1'
