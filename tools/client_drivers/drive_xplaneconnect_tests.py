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

"""The test suite of NASA's X-Plane Connect for Python 3, as far as it is cloned."""

from importlib.machinery import SourceFileLoader
from pathlib import Path
import sys
from tempfile import NamedTemporaryFile
import time
import unittest

from checks import source

root = Path(source())
client = root / 'Python3' / 'src' / 'xpc' / '__init__.py'
# The suite names the place of the client before it became a package.
text = (root / 'TestScripts' / 'Python3 Tests' / 'Tests.py').read_text()
with NamedTemporaryFile('w', suffix='.py') as suite:
    suite.write(text.replace('../../Python3/src/xpc.py', str(client)))
    suite.flush()
    module = SourceFileLoader('nasa_tests', suite.name).load_module()


class Pause(unittest.TestResult):
    """Prints each outcome, and waits between tests, as the plugin reads 20 datagrams a frame."""

    def startTest(self, test):  # noqa: N802 -- unittest's name
        time.sleep(0.1)
        super().startTest(test)

    def addSuccess(self, test):  # noqa: N802
        print(f'{test._testMethodName}\tok', flush=True)

    def addFailure(self, test, err):  # noqa: N802
        print(f'{test._testMethodName}\t{" ".join(str(err[1]).split())[:70]}', flush=True)

    def addError(self, test, err):  # noqa: N802
        self.addFailure(test, err)


unittest.defaultTestLoader.loadTestsFromModule(module).run(Pause())
sys.stdout.flush()
