#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the Python programs of README.md, docs/python.md, docs/function.md and docs/archives.md as
printed, in a folder like a fresh clone."""
import importlib.util
import re
import sys

from common import need_inference
from tap import PIPELINES, SOURCE, Skip, blocks_of, main, need, run

import keepbox

PAGE = SOURCE / 'docs/python.md'


def printed(folder, program, processes=1):
    """Returns what a program prints; it must be silent on stderr, where several processes mix the
    lines that ONNX Runtime of Debian prints."""
    need_inference()
    (folder / 'pipelines').symlink_to(PIPELINES)
    (folder / 'app.py').write_text(program)
    out, messages = run(sys.executable, 'app.py', cwd=folder)
    assert not messages or processes > 1, messages
    return out


def program_with(words):
    found, = (block for block in blocks_of(PAGE, 'python') if words in block)
    return found


def test_program_of_readme(folder):
    program, = blocks_of(SOURCE / 'README.md', 'python')
    rows = [line.split() for line in printed(folder, program).splitlines()]
    assert len(rows) > 600, len(rows)
    assert {row[0] for row in rows} == {'ring', 'star'}
    assert all(len(row) == 6 and .5 < float(row[1]) <= 1 for row in rows), rows[0]


def test_first_program(folder):
    program, *_ = blocks_of(PAGE, 'python')
    out = printed(folder, program)
    assert re.match(r'0\.00 s: ring 0\.9\d at [\d., ]+\n', out), out[:100]
    assert len(out.splitlines()) > 600


def test_one_picture(folder):
    assert printed(folder, program_with('detect(np')) == '(480, 640) 0\n'


def test_selection(folder):
    rows = [line.split() for line in printed(folder, program_with('masks_in_frame')).splitlines()]
    assert len(rows) == 250 and all((row[1] == '0') == (row[2] == '0') for row in rows)
    assert any(int(row[2]) > 5000 for row in rows), rows


def test_drawing(folder):
    need('boxoverlay')
    out = printed(folder, program_with('frame.draw('))
    shape, changed = out.rsplit(' ', 1)
    assert shape == '(720, 1280, 3) uint8' and 5000 < int(changed) < 200000, out


def test_tables(folder):
    if importlib.util.find_spec('pandas') is None:
        raise Skip('no pandas')
    assert 'ring' in printed(folder, program_with('import pandas'))


def test_settings(folder):
    counts = [int(word) for word in printed(folder, program_with('nms_contract=')).split()]
    assert len(counts) == 250 and sum(counts[:100]) / 100 > sum(counts[110:]) / 140, counts


def test_end_of_a_stream(folder):
    out = printed(folder, program_with('stream.stats'))
    assert "'ring'" in out and 'yolov8' in out, out


def test_ids(folder):
    out = printed(folder, program_with('track_score_threshold'))
    ids = [set(map(int, re.findall(r'\d+', row))) for row in re.findall(r'\[(.*?)\]', out, re.S)]
    assert len(ids) == 21 and len(ids[20] & ids[15]) > 10, ids


def test_processes(folder):
    out = printed(folder, program_with('multiprocessing'), processes=2)
    rows = [line.split() for line in out.splitlines()]
    assert [row[0].rsplit('/')[-1] for row in rows] == ['shapes.webm', 'square.webm', 'street.webm']
    assert len(rows[0]) == 6 and all(int(word) > 5 for word in rows[0][1:]), rows


def test_functions(folder):
    decodes, suppresses = blocks_of(SOURCE / 'docs/function.md', 'python')
    out, again = folder / 'decodes', folder / 'suppresses'
    out.mkdir(), again.mkdir()
    rows = printed(out, decodes)
    assert rows.count('[') > 6 and re.search(r'0\.9\d', rows), rows
    assert re.fullmatch(r'\[\[ *0\. *0\. *10\. *10\.\]\n \[20\. 20\. 30\. 30\.\]\]\n',
                        printed(again, suppresses))


def test_archives(folder):
    """The program, and the query on what it has written."""
    for name in 'pyarrow', 'pandas', 'duckdb':
        if importlib.util.find_spec(name) is None:
            raise Skip(f'no {name}')
    page = SOURCE / 'docs/archives.md'
    program, = blocks_of(page, 'python')
    out = printed(folder, program)
    assert 'shapes.webm ok 250' in out and 'square.webm ok' in out and 'ring' in out, out
    import duckdb
    query, = blocks_of(page, 'sql')
    found = duckdb.sql(query.replace('boxes/', f'{folder}/boxes/')).fetchall()
    assert {(row[0], row[2]) for row in found} == {('shapes.webm', 0.), ('square.webm', 0.)}, found
    assert {'ring', 'star'} <= {row[1] for row in found}


def test_every_array_is_in_the_table(folder):
    del folder
    table = PAGE.read_text().split('## Boxes')[1].split('\n\nIndexing')[0]
    named = set(re.findall(r'`(\w+)(?:\(\))?`', ' '.join(re.findall(r'^\| (.*?) \|', table, re.M))))
    public = {name for name in vars(keepbox.Boxes) if not name.startswith('_')}
    assert named == public, named ^ public


if __name__ == '__main__':
    main(globals())
