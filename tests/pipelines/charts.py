#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the charts of the pages: one colour per subject, readable in light and dark."""
import json
import re
import subprocess
import sys

from tap import SOURCE, main

sys.path.insert(0, str(SOURCE / 'tools'))
import charts  # noqa: E402  after the path

SCALE = {'paper', 'ink', 'faint', 'note'}
LEAST_CONTRAST = 3  # of graphics, in the guidelines of the web (WCAG)


def drawn():
    found = sorted((SOURCE / 'tests').glob('*/*.svg'))
    assert len(found) > 3, found
    return found


def light(colour):
    parts = [int(colour[at:at + 2], 16) / 255 for at in (1, 3, 5)]
    parts = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]


def contrast(one, other):
    low, high = sorted((light(one), light(other)))
    return (high + 0.05) / (low + 0.05)


def test_every_chart_has_the_colours_of_all(folder):
    del folder
    for path in drawn():
        text = path.read_text()
        assert charts.style() in text, \
            f'{path.name} was drawn by another version of tools/charts.py'
        rest = text.replace(charts.style(), '')
        assert not re.search(r'#[0-9a-f]{3}|rgb\(', rest), path
        assert set(re.findall(r'class="([^"]*)"', rest)) <= set(charts.SUBJECTS), path


def test_colours_are_different_and_readable(folder):
    del folder
    for variant in (0, 1):
        paper = charts.SUBJECTS['paper'][variant]
        colours = {name: both[variant] for name, both in charts.SUBJECTS.items()
                   if name not in SCALE}
        assert len(set(colours.values())) == len(colours), colours
        faint = {name: contrast(colour, paper) for name, colour in colours.items()
                 if contrast(colour, paper) < LEAST_CONTRAST}
        assert not faint, faint


def test_a_subject_keeps_its_colour(folder):
    names = ['keepbox cuda', 'keepbox simd', 'PyTorch decode', 'something new']
    for order in (names, names[::-1]):
        rows = [{'section': 'frames', 'contender': name, 'candidates': candidates,
                 'p50_us': candidates}
                for name in order for candidates in (10, 1000)]
        (folder / 'gpu.json').write_text(json.dumps(rows))
        subprocess.run([sys.executable, SOURCE / 'tools/plot_bench.py', '--section', 'frames',
                        folder / 'gpu.json', folder / 'gpu.svg'], check=True)
        text = (folder / 'gpu.svg').read_text()
        painted = {name: re.search(rf'class="([^"]*)" [^>]*>{name}<', text)[1] for name in names}
        assert {**painted, 'something new': ''} == {
            'keepbox cuda': 'cuda', 'keepbox simd': 'simd', 'PyTorch decode': 'torch',
            'something new': ''}, painted
        assert painted['something new'].startswith('other-'), painted
        assert charts.style() in text, text


def test_batches_are_next_to_the_model_alone(folder):
    rows = [{'row': 'gpu-queued', 'streams': streams, 'batch_size': 16, 'model_us': 2500,
             'frames_per_second': rate} for streams, rate in ((16, 6000), (1, 5000))]
    rows.append({'row': 'gpu', 'streams': 2, 'skipped': 'no GPU'})
    (folder / 'a.json').write_text(json.dumps({'model': 'm/yolo.onnx', 'rows': rows}))
    subprocess.run([sys.executable, SOURCE / 'tools/plot_bench.py', '--batches',
                    folder / 'a.json', folder / 'a.svg'], check=True)
    text = (folder / 'a.svg').read_text()
    bars = [float(width) for width in re.findall(r'width="([\d.]+)" height="16"', text)]
    assert [round(width / max(bars), 2) for width in bars] == [0.94, 1, 0.78, 1], bars
    assert 'yolo, 16 streams<' in text and 'yolo, one file, lookahead<' in text, text
    assert '>6,000<' in text and '>6,400<' in text, text
    rows[0]['alone'] = rows[1]['alone'] = 7000
    (folder / 'a.json').write_text(json.dumps({'model': 'm/yolo.onnx', 'rows': rows}))
    subprocess.run([sys.executable, SOURCE / 'tools/plot_bench.py', '--batches',
                    folder / 'a.json', folder / 'a.svg'], check=True)
    assert (folder / 'a.svg').read_text().count('>7,000<') == 2


if __name__ == '__main__':
    main(globals())
