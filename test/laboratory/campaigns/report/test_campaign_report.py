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

"""The report of a campaign: what its page says, and what a browser shows of it."""

import base64
from collections import Counter
from html import escape
from html.parser import HTMLParser
import io
import itertools
import json
from pathlib import Path
import re
import shutil
import subprocess

import numpy as np
import pytest

pytest.importorskip('scipy', reason='the statistics of a campaign need scipy')
pytest.importorskip('pyarrow', reason='a campaign needs pyarrow')
pytest.importorskip('matplotlib', reason='drawing needs matplotlib')

from matplotlib.text import Text
from PIL import Image
from pyarrow import parquet

from xplane_bridge.common import drawing
from xplane_bridge.laboratory.campaigns.report import pictures, report
from xplane_bridge.laboratory.campaigns.report.options import ReportOptions
from xplane_bridge.laboratory.campaigns.report.outcomes import groups
from xplane_bridge.laboratory.campaigns.report.worst import left_by
from xplane_bridge.laboratory.campaigns.table import rows
from xplane_bridge.laboratory.campaigns.table.columns import Columns
from xplane_bridge.laboratory.campaigns.table.lost import LostFlights

# They share what is written and shown once.
pytestmark = pytest.mark.xdist_group('campaign_report')

PICTURES = ('pass_rate.png', 'distributions.png', 'map.png', 'sensitivity.png')
ALTITUDE = 'rms of altitude_error from 20 s at most 8'
HOSTILE = '</td><script>document.title = "broken"</script> & "more"'
BROWSERS = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
# Written into the page: what has become of it once all is loaded.
LOOK = """<script>onload = () => {
  const seen = {title: document.title, tables: [...document.querySelectorAll('table')].map(
    table => [...table.rows].map(row => [...row.cells].map(cell => cell.textContent))),
    images: [...document.images].map(image => {
      const box = image.getBoundingClientRect();
      return [image.naturalWidth, box.x, box.y + scrollY, box.width, box.height]; }),
    loaded: performance.getEntriesByType('resource').map(each => each.name)};
  const pre = document.createElement('pre');
  pre.id = 'seen';
  pre.textContent = btoa(unescape(encodeURIComponent(JSON.stringify(seen))));
  document.body.append(pre);
};</script></body>"""


class Page(HTMLParser):
    """A page: the cells of its tables by row, its images, all other references, its text."""

    def __init__(self, text):
        super().__init__()
        self.rows, self.images, self.references, self.text, self.cell = [], [], [], '', False
        self.widths = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        """Take note of a tag."""
        attributes = dict(attrs)
        if tag == 'tr':
            self.rows.append([])
        elif tag in ('td', 'th'):
            self.rows[-1].append('')
        elif tag == 'img':
            self.images.append(attributes['src'])
            self.widths.add(attributes.get('style'))
        self.references += [
            value for name, value in attrs if name in ('href', 'src') and tag != 'img']
        self.cell = tag in ('td', 'th')

    def handle_endtag(self, tag):
        """Leave a cell."""
        self.cell = self.cell and tag not in ('td', 'th')

    def handle_data(self, data):
        """Take note of text."""
        self.text += data
        if self.cell:
            self.rows[-1][-1] += data


def write_table(folder, flown, lost=None):
    """Write the table of a campaign, with the flights that were lost by reason."""
    table = rows.arrow(list(flown)).replace_schema_metadata(LostFlights(Counter(lost)).metadata())
    parquet.write_table(table, folder / 'table.parquet', row_group_size=100)


def draw(worst, file):
    """Draw a flight in a colour that nothing else has; one that crashed cannot be drawn."""
    if worst.row['outcome'] == 'crashed':
        raise ValueError('it crashed again')
    Image.new('RGB', (400, 100), (0, 200, 0)).save(file)


def test_where_all_flights_were_lost_that_is_said(tmp_path):
    from xplane_bridge.laboratory.campaigns.table import table
    table.write([], tmp_path / 'table.parquet', LostFlights(Counter({'the disk is full': 3})))
    with pytest.raises(ValueError, match='table.parquet: no flight is in it; 3 flights were not '
                       'flown: the disk is full; the same campaign flies them$'):
        Columns(tmp_path)


@pytest.fixture(scope='module')
def folder(tmp_path_factory):
    """Return the folder of a campaign of 400 synthetic flights, with its report."""
    folder = tmp_path_factory.mktemp('campaigns') / 'turbulence'
    folder.mkdir()
    flown = list(rows.synthetic(400))
    for row in flown:
        if row['outcome'] == 'missed':
            row['reason'] = 'a criterion'
    crashed = next(row for row in flown if row['outcome'] == 'crashed')
    crashed['reason'] = HOSTILE
    own = left_by(crashed, folder)
    own.mkdir(parents=True)
    (own / 'flight.mcap').touch()
    (folder / 'plan.yaml').write_text('scenarios: [turbulence]  # <all>\n')
    write_table(folder, flown)
    assert report.write(folder, draw) == folder / 'report.html'
    return folder


@pytest.fixture(scope='module')
def page(folder):
    return Page((folder / 'report.html').read_text(encoding='utf-8'))


def test_the_page_says_what_the_table_says(folder, page):
    table = parquet.read_table(folder / 'table.parquet').to_pandas()
    for controller in ('autopilot', 'policy:turbulence'):
        own = table[table.controller == controller]
        line = next(row for row in page.rows if row[0] == controller)
        passed = int((own.outcome == 'passed').sum())
        assert line[1:3] == ['200', str(passed)]
        assert f'{passed / 2:.1f}' in line
    met = int((table[table.controller == 'autopilot'][f'passed.{ALTITUDE}'] == True).sum())  # noqa: E712
    # Of all that flew: what was lost has not met it.
    assert any(row[:4] == ['autopilot', f'{ALTITUDE} m', str(met), '200'] for row in page.rows)
    assert 'scenarios: [turbulence]  # <all>' in page.text


def test_the_worst_flights_have_reason_command_recording_and_picture(folder, page):
    table = parquet.read_table(folder / 'table.parquet').to_pandas()
    worst = page.text[page.text.index('Worst flights'):]
    assert worst.split('Flight ')[1].partition(':')[2].startswith(' crashed')
    assert HOSTILE in worst
    assert 'It has no picture: it crashed again' in worst
    assert re.search(r'It left flights/seed\d+_\w+_turbulence_[0-9a-f]{12}/flight.mcap', worst)
    missed = table[table.outcome == 'missed'].copy()
    missed['margin'] = np.minimum(
        1 - missed['value.rms of altitude_error from 20 s at most 8'] / 8,
        1 - missed['value.rms of heading_error_deg from 25 s at most 4'] / 4)
    for _, own in missed.groupby('controller'):
        flight = own.sort_values('margin').iloc[0]
        assert f'{flight.command}\n' in worst
        assert f'{-flight.margin:.1%} beyond the limit' in worst


def test_the_page_is_one_file_with_its_pictures_in_it(folder, page):
    assert page.references == []
    assert '<script' not in (folder / 'report.html').read_text().replace(escape(HOSTILE), '')
    assert not re.search(r'url\(|@import|https?:', (folder / 'report.html').read_text())
    decoded = [base64.b64decode(source.removeprefix('data:image/png;base64,'), validate=True)
               for source in page.images]
    assert decoded[:len(PICTURES)] == [(folder / name).read_bytes() for name in PICTURES]
    for data in decoded:
        with Image.open(io.BytesIO(data)) as image:
            image.load()
            assert image.width >= 400
    # The same table has the same page, to the last byte.
    before = (folder / 'report.html').read_bytes()
    report.write(folder, draw)
    assert (folder / 'report.html').read_bytes() == before


@pytest.fixture(scope='module')
def shown(folder, tmp_path_factory):
    """Return what a browser says of the page, and its picture of it."""
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        pytest.skip(f'none of {", ".join(BROWSERS)} is installed')
    place = tmp_path_factory.mktemp('browser')
    text = (folder / 'report.html').read_text(encoding='utf-8')
    (place / 'page.html').write_text(text.replace('</body>', LOOK), encoding='utf-8')
    done = subprocess.run(
        [browser, '--headless', '--no-sandbox', '--disable-gpu', '--disable-quic',
         '--no-first-run', '--disable-background-networking', '--disable-component-update',
         '--disable-sync', '--hide-scrollbars', f'--user-data-dir={place / "profile"}',
         '--window-size=1100,9000', f'--screenshot={place / "page.png"}', '--dump-dom',
         (place / 'page.html').as_uri()],
        capture_output=True, timeout=120, check=True)
    found = re.search(r'<pre id="seen">([^<]+)</pre>', done.stdout.decode())
    seen = json.loads(base64.b64decode(found[1]))
    with Image.open(place / 'page.png') as image:
        return seen, np.asarray(image.convert('RGB'))


def test_a_browser_shows_the_tables(shown, page):
    seen, _ = shown
    assert seen['title'] == 'Campaign turbulence'
    assert [row for table in seen['tables'] for row in table] == page.rows
    assert len(seen['tables']) == 3


def test_a_browser_loads_nothing_else_and_draws_each_picture(shown, page):
    seen, pixels = shown
    assert all(name.startswith('data:') for name in seen['loaded'])
    assert len(seen['images']) == len(page.images) > len(PICTURES)
    for number, (natural, *box) in enumerate(seen['images']):
        assert natural >= 400
        x, y, width, height = map(round, box)
        part = pixels[y:y + height, x:x + width].reshape(-1, 3)
        assert part.shape[0] == width * height > 10_000
        colours = {tuple(colour) for colour in part[::7]}
        if number < len(PICTURES):
            # White paper, and both controllers' or outcomes' colours.
            assert (255, 255, 255) in colours
            assert sum(abs(int(c[0]) - int(c[2])) > 60 for c in colours) >= 2
        else:
            assert (0, 200, 0) in colours


def test_without_parameters_or_values_the_page_says_so(tmp_path):
    row = next(rows.synthetic(1))
    lost = {name: value for name, value in row.items() if not name.startswith(rows.GROUPS)}
    write_table(
        tmp_path, [lost | {'outcome': 'failed', 'reason': 'no ground'}], {'full': 3, 'slow': 1})
    page = Page(report.write(tmp_path).read_text())
    assert ('4 flights were not flown: full (3); slow (1). They are part of no figure here.' in
            page.text)
    assert 'The plan varies no parameter' in page.text
    assert 'No flight had a value of a criterion.' in page.text
    assert 'no ground' in page.text
    assert sorted(path.name for path in tmp_path.glob('*.png')) == ['pass_rate.png']


def test_words_and_one_parameter_have_a_page_too(tmp_path):
    flown = []
    for row in rows.synthetic(60):
        row['parameter.wind.north'] = ('calm', 'strong')[row['seed'] % 2]
        flown.append(row)
    write_table(tmp_path, flown)
    page = Page(report.write(tmp_path).read_text())
    assert len(page.images) == 4
    assert not any(row[0] == 'wind.north' for row in page.rows)
    for row in flown:
        del row['parameter.initial.airspeed']
    write_table(tmp_path, flown)
    page = Page(report.write(tmp_path).read_text())
    assert 'The plan varies wind.north only' in page.text
    assert not (tmp_path / 'map.png').exists()


def test_a_map_of_a_grid_has_the_rate_and_interval_of_each_cell(tmp_path, monkeypatch):
    flown, grid = [], itertools.cycle(itertools.product((750.0, 1110.0), (-0.4, 0.0, 0.4)))
    for row, (mass, cg) in zip(rows.synthetic(60), grid, strict=False):
        row |= {'parameter.plant.mass': mass, 'parameter.plant.cg': cg,
                'outcome': 'missed' if cg > 0.0 else 'passed'}
        flown.append(row)
    write_table(tmp_path, flown)
    drawn, save = {}, drawing.save
    monkeypatch.setattr(drawing, 'save', lambda figure, files: (
        drawn.update({files[0].stem: figure}), save(figure, files)))
    report.write(tmp_path)
    axes = drawn['map'].axes[0]
    assert {axes.get_xlabel(), axes.get_ylabel()} == {'plant.mass, kg', 'plant.cg, m'}
    # Wilson's interval of 5 of 5 flights of this controller: from 5 / (5 + 1.96^2).
    assert sorted(text.get_text() for text in axes.texts) == (
        ['0%\n0%..43%'] * 2 + ['100%\n57%..100%'] * 4)


def test_pictures_for_a_paper_have_its_format_and_its_words(folder, tmp_path, monkeypatch):
    shutil.copy(folder / 'table.parquet', tmp_path)
    drawn, save = {}, drawing.save
    monkeypatch.setattr(drawing, 'save', lambda figure, files: (
        drawn.update({files[0].stem: figure}), save(figure, files)))
    labels = {'policy:turbulence': 'Ours'}
    page = report.write(tmp_path, options=ReportOptions('pdf', labels))
    assert sorted(drawn) == sorted(name.removesuffix('.png') for name in PICTURES)
    for name, figure in drawn.items():
        texts = ' '.join(text.get_text() for text in figure.findobj(Text))
        assert 'Ours' in texts
        assert 'n = 200' in texts
        assert 'policy:' not in texts
        for axes in figure.axes:
            assert axes.has_data(), name
            assert axes.get_xlabel(), name
    assert 'initial.airspeed, m/s' in drawn['map'].axes[0].get_ylabel()
    assert drawn['distributions'].axes[0].get_xlabel() == 'value, m'
    # The autopilot is blue in all of them, also where it comes second.
    assert drawing.controller_colours(['policy:a', 'autopilot']) == {
        'policy:a': drawing.ORANGE, 'autopilot': drawing.BLUE}
    assert 'Ours' in Page(page.read_text()).text
    assert (tmp_path / 'map.pdf').read_bytes().startswith(b'%PDF')
    before = (tmp_path / 'map.pdf').read_bytes()
    report.write(tmp_path, options=ReportOptions('pdf', labels))
    assert (tmp_path / 'map.pdf').read_bytes() == before
    # The next report, as of a campaign that grows, has the same.
    page = report.write(tmp_path, options=ReportOptions('svg', {ALTITUDE: 'Altitude'}))
    assert 'policy:turbulence' not in Page(page.read_text()).text
    assert (tmp_path / 'map.pdf').read_bytes() == before
    assert {path.suffix for path in tmp_path.glob('map.*')} == {'.png', '.pdf', '.svg'}
    names = [text.get_text() for text in drawn['pass_rate'].findobj(Text)]
    assert 'Altitude' in names
    assert ALTITUDE not in ' '.join(names)
    lines = (tmp_path / 'pass_rate.csv').read_text().splitlines()
    assert lines[0] == ('controller,criterion,passed,flights,pass_rate_percent,low_percent,'
                        'high_percent')
    assert sum(line.startswith('Ours,Altitude,') for line in lines) == 1
    assert r'pass rate, \% & 95\% interval \\' in (tmp_path / 'pass_rate.tex').read_text()
    for kept, said in (('["Ours"]', 'labels and width'),
                       ('{"labels": ["Ours"], "width": 0}', 'a label for each name'),
                       ('{"labels": {}, "width": 1e9}', '2.5 to 30 inches or 0')):
        (tmp_path / 'look.json').write_text(kept)
        with pytest.raises(ValueError, match=rf'look.json: .*expected {said}; delete'):
            report.write(tmp_path)
    (tmp_path / 'look.json').unlink()
    with pytest.raises(ValueError, match="there is no controller 'mine' to label: expected one"):
        report.write(tmp_path, options=ReportOptions(labels={'mine': 'Ours'}))
    with pytest.raises(ValueError, match="two controllers are labelled 'Ours'"):
        report.write(tmp_path, options=ReportOptions(labels=labels | {'autopilot': 'Ours'}))


def test_a_report_for_a_column_of_a_paper_is_of_the_controllers_that_are_named(
    tmp_path, monkeypatch
):
    names = ('autopilot', 'policy:a', 'policy:b')
    flown = [row | {'controller': names[index % 3], 'value.roughness at most 3': index % 4,
                    'passed.roughness at most 3': index % 4 < 4}
             for index, row in enumerate(rows.synthetic(90))]
    write_table(tmp_path, flown)
    drawn, save = {}, drawing.save
    monkeypatch.setattr(drawing, 'save', lambda figure, files: (
        drawn.update({files[0].stem: figure}), save(figure, files)))
    page = Page(report.write(tmp_path, options=ReportOptions(
        labels={'policy:b': 'Ours'}, controllers=['Ours', 'autopilot'], width=3.5)).read_text())
    assert '60 flights with' in page.text
    assert 'Not in this report: policy:a.' in page.text
    assert page.widths == {'width: 3.5in'}
    # Criteria have units where people read them, and in the table for programs their own names.
    assert all(any(f'{ALTITUDE} m' in cell for cell in row) for row in (
        next(row for row in page.rows if row[1].startswith(ALTITUDE)),
        (tmp_path / 'pass_rate.tex').read_text().replace('\\_', '_').splitlines()))
    assert 'policy:a' not in (tmp_path / 'pass_rate.csv').read_text()
    assert {row[0] for row in page.rows[1:3]} == {'autopilot', 'Ours'}
    for figure in drawn.values():
        assert figure.get_figwidth() == 3.5
        texts = ' '.join(text.get_text() for text in figure.findobj(Text))
        assert 'policy:a' not in texts
        # Nothing is beyond the paper.
        box = figure.get_tightbbox()
        assert box.x0 > -0.1
        assert box.x1 < 3.6
    # The same colour as in a report of all three: they are told apart by the whole table.
    bars, = [axes for axes in drawn['distributions'].axes
             if axes.get_title().startswith('roughness')]
    labels = dict(zip(*reversed(bars.get_legend_handles_labels()), strict=True))
    assert len(labels) == 3
    assert labels['Ours, n = 30'].patches[0].get_facecolor()[:3] == pytest.approx(
        tuple(int(drawing.GREEN[at:at + 2], 16) / 255 for at in (1, 3, 5)))
    # Few different values have a bar each, as wide as their distance allows.
    bar, = {round(patch.get_width(), 6) for patch in labels['Ours, n = 30'].patches}
    assert bar == pytest.approx(0.4)
    # The next report is of all again, as wide as this one.
    page = Page(report.write(tmp_path).read_text())
    assert '90 flights with' in page.text
    assert 'Not in this report' not in page.text
    assert drawn['map'].get_figwidth() == 3.5
    with pytest.raises(ValueError, match="no flight of controller 'mine': expected one of auto"):
        report.write(tmp_path, options=ReportOptions(controllers=['mine']))


def test_in_a_column_a_long_title_is_on_the_paper_and_a_constant_value_is_one_thin_bar(
    tmp_path, monkeypatch
):
    alike = {'value.max of throttle at most 1': 0.73, 'passed.max of throttle at most 1': True,
             'passed.min of altitude at least 1400': True, 'controller': 'autopilot'}
    # By rounding only it differs.
    write_table(tmp_path, [row | alike | {
        'value.min of altitude at least 1400': 1450.0 + index * 1e-9}
        for index, row in enumerate(rows.synthetic(20))])
    drawn = []
    monkeypatch.setattr(drawing, 'save', lambda figure, files: drawn.append(figure))
    columns = Columns(tmp_path, {'autopilot': 'the_autopilot_of_this_package'})
    for draw_on in (pictures.draw_pass_rates, pictures.draw_distributions):
        draw_on(columns, groups(columns), pictures.Sheet([tmp_path / 'a.png'], 3.5))
    assert drawn[0].axes[0].get_title('right') == (
        'turbulence, the_autopilot_of_\nthis_package, n = 20')
    drawn[0].draw_without_rendering()
    box = drawn[0].get_tightbbox()
    assert box.x0 > -0.05
    assert box.x1 < 3.55
    throttle, altitude = drawn[1].axes[:2]
    for axes, ticks, unit in ((throttle, ['0.73', '1'], ''), (altitude, ['1400', '1450'], ', m')):
        bar, = axes.patches
        assert bar.get_height() == 20
        assert bar.get_width() < 0.1 * np.ptp(axes.get_xlim())
        assert [text.get_text() for text in axes.get_xticklabels()] == ticks
        assert axes.get_xlabel() == f'value{unit}'


def test_an_empty_folder_is_refused(tmp_path):
    with pytest.raises(ValueError, match=r'expected the folder of a flown campaign'):
        report.write(Path(tmp_path))
