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

"""How Sphinx builds the pages: by ``make docs``, and by rosdoc2 for docs.ros.org."""

from pathlib import Path
import posixpath
import re
import sys

try:
    import sphinxcontrib.mermaid
except ImportError:
    sphinxcontrib = None

# The API is that of the checkout; rosdoc2, which has the pages elsewhere, finds its own.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

project = 'xplane_bridge'
author = 'xplane_bridge contributors'
copyright = author
# What is no page is linked in the repository: test/house/test_site.py compares this address with
# package.xml.
REPOSITORY = 'https://xplane-bridge.invalid/xplane_bridge'

extensions = ['myst_parser', 'sphinx.ext.autodoc', 'sphinx_rtd_theme']
if sphinxcontrib:
    # rosdoc2 has it not: there the text of a drawing is shown.
    extensions.append('sphinxcontrib.mermaid')
    myst_fence_as_directive = ['mermaid']
rosdoc2_settings = {'allow_other_extensions': True}

# Pages link to one another's headings.
myst_heading_anchors = 4
highlight_language = 'text'
# What a node says stands on the page as it says it.
smartquotes = False

# The API page needs none of what the package imports where it is used.
autodoc_mock_imports = [
    'gymnasium', 'jsbsim', 'mcap', 'onnxruntime', 'pettingzoo', 'pyarrow', 'rosbags', 'scipy']
autodoc_typehints = 'description'
autodoc_member_order = 'bysource'

html_theme = 'sphinx_rtd_theme'
html_theme_options = {'navigation_depth': 2, 'titles_only': True}
html_title = project
# Below rosdoc2 all is in a folder docs/.
html_static_path = [folder for folder in ('_static', 'docs/_static')
                    if (Path(__file__).parent / folder).is_dir()]
html_css_files = ['site.css']
html_copy_source = False
html_show_sourcelink = False

_LINK = re.compile(r'\]\(((?:\.\./)+[^)\s]+)\)')


def lead_out(text, page):
    """Return a page's text whose links to what is no page lead to the repository."""
    def address(link):
        path, hash_, anchor = link[1].partition('#')
        path = posixpath.normpath(posixpath.join('docs', posixpath.dirname(page), path))
        if path.startswith('docs/') and posixpath.splitext(path)[1]:
            return link[0]
        return f']({REPOSITORY}/blob/main/{path}{hash_}{anchor})'

    return _LINK.sub(address, text)


def setup(app):
    """Have Sphinx read the pages so; below rosdoc2 their names begin with docs/."""
    def on_source(_, page, source):
        source[0] = lead_out(source[0], page.removeprefix('docs/'))

    app.connect('source-read', on_source)
