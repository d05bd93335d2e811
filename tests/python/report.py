#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests keepbox report: its numbers beside DuckDB's, in a browser if there is one."""
import importlib.util
import json
import re
import shutil
import subprocess
import sys

from common import MODEL, fails
from scancommon import corpus, need_arrow, scan
from tap import Skip, main, run

import keepbox
from keepbox._report import Facts

PROGRAM = sys.executable, '-m', 'keepbox.cli', 'report'
BROWSERS = 'chromium', 'chromium-browser', 'google-chrome'
# Moves the slider, and writes what the page shows at each limit into it.
PROBE = """<script>
const slider = document.getElementById('limit'), found = {};
for (const at of [0, 30, 55, 80, 99, 100]) {
  slider.value = at;
  slider.oninput();
  rows.forEach(row => row.show());
  found[at] = {
    classes: Object.fromEntries([...document.querySelectorAll('[data-class]')].map(
      node => [node.dataset.class, Number(node.textContent.replaceAll(',', ''))])),
    inputs: Object.fromEntries([...document.querySelectorAll('[data-boxes]')].map(
      node => [node.dataset.input, Number(node.dataset.boxes)])),
    drawn: [...document.querySelectorAll('rect')].filter(
      node => node.style.display !== 'none').length};
}
document.body.innerHTML = '';
document.body.append(JSON.stringify(found), document.title);
</script>"""


def need_duckdb():
    if importlib.util.find_spec('duckdb') is None:
        raise Skip('no duckdb')
    import duckdb
    return duckdb


def page_of(found, folder):
    """Writes the page; returns its text and what it has."""
    out, err = run(*PROGRAM, found.folder, '-o', folder / 'report.html')
    assert '12 inputs' in out and not err, (out, err)
    text = (folder / 'report.html').read_text()
    return text, json.loads(re.search(r'const data = (.*);\n', text)[1])


def duckdb_counts(duckdb, found, column, limit):
    """Returns the boxes above a limit by class or input."""
    return dict(duckdb.sql(
        f"select {column}, count(*) from '{found.folder}/*.parquet'"
        f' where score::double > {limit / 100}::double group by {column}').fetchall())


def counts_of(data, limit, by_class):
    """Returns what the page counts above a limit."""
    counts = {}
    for each in data['inputs']:
        for at in range(0, len(each['cells']), 4):
            number, column, level, count = each['cells'][at:at + 4]
            assert 0 <= column < each['divisions']
            if level > limit:
                name = data['classes'][number] if by_class else each['name']
                counts[name] = counts.get(name, 0) + count
    return counts


def test_numbers(folder):
    """At each position of the slider counts are those of DuckDB."""
    need_arrow()
    duckdb = need_duckdb()
    found = keepbox.scan(corpus(folder / 'in'), model=MODEL, out=folder / 'out', workers=1)
    text, data = page_of(found, folder)
    assert 'http' not in re.sub(r'http://www.w3.org/2000/svg', '', text), 'nothing from elsewhere'
    assert not re.search(r'<(script|link|img)[^>]+(src|href)=', text)
    for limit in range(101):
        for column in 'label', 'input':
            expected = duckdb_counts(duckdb, found, column, limit)
            assert counts_of(data, limit, column == 'label') == expected, (limit, column)
    assert [each['status'] for each in data['inputs'][:3]] == ['error', 'partial', 'ok']
    with_frames = [each for each in data['inputs'] if any('image' in best for best in each['best'])]
    assert len(with_frames) == 11, [each['name'] for each in with_frames]
    best = data['inputs'][2]['best'][0]
    assert best['size'] == [1280, 720] and len(best['boxes']) > 3


def test_in_a_browser(folder):
    need_arrow()
    duckdb = need_duckdb()
    browser = next(filter(None, map(shutil.which, BROWSERS)), None)
    if browser is None:
        raise Skip('no chromium')
    found = keepbox.scan(corpus(folder / 'in'), model=MODEL, out=folder / 'out', workers=1)
    text, data = page_of(found, folder)
    page = folder / 'probe.html'
    page.write_text(text.replace('</html>', f'{PROBE}</html>'))
    done = subprocess.run([browser, '--headless', '--no-sandbox', '--disable-gpu',
                           f'--user-data-dir={folder}/profile', '--virtual-time-budget=5000',
                           '--dump-dom', f'file://{page}'], capture_output=True, text=True,
                          timeout=120, check=False)
    shown = json.loads(re.search(r'<body>(\{.*\})keepbox report', done.stdout, re.S)[1])
    for limit, each in shown.items():
        for column, counts in (('label', each['classes']), ('input', each['inputs'])):
            expected = duckdb_counts(duckdb, found, column, int(limit))
            assert {name: count for name, count in counts.items() if count} == expected, limit
        boxes = [box for each in data['inputs'] for best in each['best'] if 'image' in best
                 for box in best['boxes']]
        assert each['drawn'] == sum(box[4] > int(limit) / 100 for box in boxes), limit


def test_what_is_wrong(folder):
    need_arrow()
    _, err = run(*PROGRAM, status=2)
    assert 'no folder was given' in err
    _, err = run(*PROGRAM, folder, status=1)
    assert 'has no results of keepbox scan' in err
    source = corpus(folder / 'in')
    evil = source / '</script><b>x.webm'.replace('/', '\u2215')
    shutil.copy(source / '0.webm', evil)
    shutil.copy(source / 'text.mp4', source / '<script>alert(1)<\u2215script>.mp4')
    found = scan(source, folder / 'out', workers=1)
    shutil.rmtree(source)
    out, _ = run(*PROGRAM, folder / 'out', '-o', folder / 'report.html')
    text = (folder / 'report.html').read_text()
    assert '14 inputs' in out and '<script>alert' not in text and '</script><b>' not in text
    assert 'data:image' not in text, 'the videos have gone'
    _, err = run(*PROGRAM, folder / 'out', '-o', folder / 'none/report.html', status=1)
    assert 'cannot be written: No such file' in err and err.count('\n') == 0, err
    scan(folder / 'report.html', folder / 'out', workers=1, iou=.5)
    _, err = run(*PROGRAM, folder / 'out', status=2)
    assert '2 models or settings: name one of' in err, err
    for path in list((folder / 'out').glob('*/*.parquet'))[:1]:
        path.write_bytes(b'rubbish')
    error = fails(keepbox.Error, 'keepbox scan --check',
                  lambda: __import__('keepbox._report')._report.write(
                      found.folder, str(folder / 'x.html'), 1))
    assert not (folder / 'x.html').exists() and found.folder in str(error)


def test_a_page_without_boxes(folder):
    need_arrow()
    found = keepbox.scan(corpus(folder / 'in') / '0.webm', model=MODEL, out=folder / 'out',
                         workers=1, confidence=1.)
    facts = Facts(found.folder)
    assert not facts.classes and facts.inputs[0]['cells'] == []
    run(*PROGRAM, found.folder, '-o', folder / 'report.html')


if __name__ == '__main__':
    main(globals())
