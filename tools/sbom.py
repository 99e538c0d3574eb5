#!/usr/bin/env python3
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

"""
Write what ``make`` has installed as a CycloneDX file: tools/sbom.py ROOT.

ROOT is build/<distro>, as the Makefile lays it out. The file is ROOT/sbom.json, and says of each
package its version, its licence and what it needs. cyclonedx-py reads what the whole is from a
pyproject.toml; ours is setup.cfg.
"""

from configparser import ConfigParser
import json
from pathlib import Path
import subprocess
import sys

SETUP = Path(__file__).resolve().parents[1] / 'setup.cfg'


def pyproject() -> str:
    """Return name, version, licence and dependencies of the package as a pyproject.toml."""
    given = ConfigParser()
    given.read(SETUP)
    lines = [f'{name} = {json.dumps(given["metadata"][name])}'
             for name in ('name', 'version', 'description', 'license')]
    needs = [line for line in given['options']['install_requires'].splitlines() if line]
    return '\n'.join(['[project]', *lines, f'dependencies = {json.dumps(needs)}', ''])


def main(root: str) -> None:
    """Write ROOT/sbom.json, and say how many packages it has."""
    project, written = Path(root, 'release', 'pyproject.toml'), Path(root, 'sbom.json')
    project.write_text(pyproject(), encoding='utf-8')
    subprocess.run(
        [f'{root}/release/bin/cyclonedx-py', 'environment', '--output-reproducible',
         '--pyproject', str(project), '--mc-type', 'application', '--output-file', str(written),
         f'{root}/venv'], check=True)
    found = json.loads(written.read_text(encoding='utf-8'))
    print(f'{written}: CycloneDX {found["specVersion"]}, {len(found["components"])} packages')


if __name__ == '__main__':
    main(*sys.argv[1:])
