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


"""Aircraft that no step of 1/120 s can follow, made of the navion."""

from pathlib import Path
import re
import shutil

from xplane_bridge.common.data import folder


def write(path: Path, name: str = 'sick', inertia: float = 12.0, **properties: float) -> str:
    """
    Write an aircraft into a folder, and return that: the navion of so little inertia in pitch.

    In slug ft2; the navion's 3000 damp pitch with 1/s, 12 with 300/s. ``properties`` (a dot is
    written as two underscores) are in its file.
    """
    source = Path(str(folder('aircraft'))) / 'navion'
    path.mkdir(exist_ok=True)
    shutil.copytree(source, path / name)
    (path / name / 'navion.yaml').rename(path / name / f'{name}.yaml')
    text = (path / name / 'navion.xml').read_text()
    (path / name / 'navion.xml').unlink()
    text, count = re.subn(
        '<iyy unit="SLUG[*]FT2">.*?</iyy>', f'<iyy unit="SLUG*FT2">{inertia}</iyy>', text)
    assert count == 1
    given = ''.join(f'<property value="{value}">{name.replace("__", "/")}</property>'
                    for name, value in properties.items())
    text = text.replace('<flight_control name="Navion controls">',
                        f'<flight_control name="Navion controls">{given}')
    (path / name / f'{name}.xml').write_text(text.replace('name="navion"', f'name="{name}"'))
    return str(path)
