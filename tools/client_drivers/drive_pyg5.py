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

"""pyG5 (PyPI), an instrument for a small screen; here its network part, without a screen."""

import os

from checks import AIRSPEED, becomes, check, flies, HEADING_DIAL

os.environ['QT_QPA_PLATFORM'] = 'offscreen'

from pyG5.pyG5Network import pyG5NetWorkManager
from PySide6.QtGui import QGuiApplication

application = QGuiApplication([])
client = pyG5NetWorkManager()
values = {}
client.drefUpdate.connect(lambda news: values.update(
    {name: value for value, _, name, _ in news.values()}))


def after_events(read):
    """Return a function that lets Qt do its work, then reads."""
    return lambda: (application.processEvents(), read())[1]


def latest(name):
    """Return a function that returns the newest value of a dataref."""
    return after_events(lambda: values.get(name))


check('beacon', lambda: becomes(after_events(lambda: int(client.xpHost is not None)), 1))
check('read', lambda: flies(latest(AIRSPEED)))
client.write_data_ref(HEADING_DIAL, 180.0)
check('write', lambda: becomes(latest(HEADING_DIAL), 180.0))
# It asks for some names twice.
asked = {name for name, *_ in client.datarefs}
check(f'all its {len(asked)} datarefs', lambda: becomes(
    after_events(lambda: len(asked & set(values))), len(asked)))
