#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the lines of docs/switching.md, and compares its names with those of the elements."""
import json
import re

from readme import SWITCHING, launch, lay_out
from tap import blocks_of, main, need, run


def is_graph(block):
    return 'compositor name=wall' in block


def test_the_whole_graph(folder):
    """Two cameras of it, which are files, and a broker that does not answer."""
    for element in 'boxoverlay', 'boxpublish', 'tensorinfer':
        need(element)
    lay_out(folder)
    line, = (block for block in blocks_of(SWITCHING, 'sh') if is_graph(block))
    for words, other in (('{0..15}', '{0..1}'), ('autovideosink', 'fakesink'),
                         ('leaky=downstream ', ''),
                         ('rtsp://camera-$n/stream',
                          f'file://{folder}/pipelines/media/street.webm'),
                         ('! videoconvert\n', '! videoconvert ! identity eos-after=11\n'),
                         ('address=broker', 'address=127.0.0.1:1 stop-timeout=0')):
        assert words in line, words
        line = line.replace(words, other)
    run('bash', '-c', line, cwd=folder)
    for number in range(2):
        frames = [json.loads(text) for text in
                  (folder / f'camera-{number}.jsonl').read_text().splitlines()]
        assert len(frames) == 10 and frames[9]['source'] == f'camera-{number}', frames
        boxes = frames[9]['objects']
        assert sum('id' in box for box in boxes) > 10, boxes
        read = [set(box) - set(boxes[0]) for box in boxes if box['roi_type'] == 'plate']
        assert any(read), f'no text of a plate: {boxes}'


def test_lines_of_switching(folder):
    need('boxoverlay')
    lay_out(folder)
    lines = [block for block in blocks_of(SWITCHING, 'sh') if not is_graph(block)]
    assert lines
    for line in lines:
        out, messages = launch(line, folder)
        assert '"detection"' in out and not messages, f'{line}{out[-500:]}{messages}'


def test_switching_names_what_there_is(folder):
    del folder
    names = set()
    for element in ('boxdecode', 'tensorinfer', 'boxoverlay', 'boxpublish', 'boxsink', 'boxtrack',
                    'boxcount', 'queue', 'videorate'):
        need(element)
        names.update(re.findall(r'^  ([a-z][a-z-]+) *:', run('gst-inspect-1.0', element)[0], re.M))
    ours = re.findall(r'^\|.*\| (.*) \|$', SWITCHING.read_text(), re.M)
    quoted = sum((re.findall('`([^`]*)`', row) for row in ours), [])
    named = re.findall(r'([a-z-]+)=', ' '.join(quoted))
    assert named and names.issuperset(named), set(named) - names


def test_every_property_of_boxdecode_is_on_a_page(folder):
    del folder
    pages = ''.join(page.read_text() for page in sorted(SWITCHING.parent.glob('*.md')))
    inspected = run('gst-inspect-1.0', 'boxdecode')[0].partition('Element Properties:')[2]
    ours = set(re.findall(r'^  ([a-z][a-z-]+) *:', inspected, re.M)) - {'name', 'parent', 'qos'}
    assert 'detector' in ours and len(ours) <= 31, ours  # with stats
    shown = set(re.findall(r'([a-z][a-z-]+)[=`]', pages))
    assert shown.issuperset(ours), ours - shown


if __name__ == '__main__':
    main(globals())
