#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the scripts of pipelines/ with whole clips: held boxes, counts, many streams, pictures."""
import csv
import io
import json
import os
import shlex

import numpy as np

from tap import PIPELINES, main, need, need_inference, run

CLIP = PIPELINES / 'media/shapes.webm'
QUOTED = shlex.quote(str(PIPELINES))


def places(path):
    """Returns class and corner of each box, for each frame."""
    return [[(box['detection']['label'], box['x'], box['y']) for box in frame.get('objects', [])]
            for frame in map(json.loads, path.read_text().splitlines())]


def test_file_with_boxes_held_between(folder):
    need_inference()
    each, third = folder / 'each.jsonl', folder / 'third.jsonl'
    run(PIPELINES / 'file', CLIP, each)
    _, told = run(PIPELINES / 'file', '--interval', 3, CLIP, third)
    assert 'interval=3 hold=true' in told, told
    truth, held = places(each), places(third)
    assert len(held) == len(truth) == 250
    assert held == [truth[number // 3 * 3] for number in range(250)] and held != truth
    for number, line in enumerate(third.read_text().splitlines()):
        assert ('"held":true' in line) == (number % 3 != 0), f'{number}: {line}'
    _, told = run(PIPELINES / 'file', '--interval', 0, 'x', status=2)
    assert 'found 0' in told, told


def count(lines, *words, status=0):
    return run(PIPELINES / 'count.py', *words, input='\n'.join(map(json.dumps, lines)), status=status)


def test_count(folder):
    def frame(second, *objects):
        return {'timestamp': int(second * 1e9), 'frame': 0, **({'objects': [
            {'detection': {'label': label}, **({} if number is None else {'id': number})}
            for label, number in objects]} if objects else {})}
    lines = [frame(0.5, ('cat', 7), ('cat', 8), ('dog', 9)), frame(59.9, ('cat', 7)), frame(60),
             frame(61, ('dog', 9)), frame(200, ('cat', None))]
    table, _ = count(lines, 'cat')
    assert table == ('begin,frames,mean,most,tracked\n0,2,1.50,2,2\n60,2,0.00,0,\n180,1,1.00,1,\n')
    assert count(lines[:2], 'dog', 0.5)[0].splitlines()[1:] == ['0.5,1,1.00,1,1', '59.5,1,0.00,0,']
    _, told = count(lines, 'dgo')
    assert told == 'count.py: expected boxes of the class dgo, found those of cat, dog', told
    assert 'found no boxes' in count([frame(1)], 'cat')[1] and not count(lines, 'cat')[1]
    assert 'without: {"frame"' in count([{'frame': 0}], 'cat', status=1)[1]
    count([], status=1)


def test_count_of_a_clip(folder):
    need_inference()
    os.mkfifo(folder / 'boxes')
    line = (f'timeout 120 {QUOTED}/count.py ring 2 < {folder}/boxes & '
            f'{QUOTED}/file {shlex.quote(str(CLIP))} {folder}/boxes > /dev/null && wait $!')
    table, _ = run('bash', '-c', line)
    rows = list(csv.DictReader(io.StringIO(table)))
    assert [row['begin'] for row in rows] == ['0', '2', '4', '6', '8'], table
    assert sum(int(row['frames']) for row in rows) == 250, table
    # Two rings are drawn on every frame of it.
    assert all(2 <= float(row['mean']) < 2.1 and not row['tracked'] for row in rows), table


def test_count_of_tracked_objects(folder):
    need_inference()
    need('ioutracker')
    table, _ = run('bash', '-c', f'gst-launch-1.0 -q filesrc location={shlex.quote(str(CLIP))}'
                   f' ! decodebin ! videoconvert ! tensorinfer model-file={QUOTED}/models/shapes.onnx'
                   ' ! boxdecode score-threshold=0.5 ! ioutracker ! boxsink'
                   f' | {QUOTED}/count.py ring')
    row, = csv.DictReader(io.StringIO(table))
    assert 2 <= int(row['tracked']) < int(row['frames']) / 2, table


def test_streams(folder):
    need_inference()
    told, line = run(PIPELINES / 'streams', '--interval', 5, folder)
    assert line.count('tensorinfer') == 8, line
    words = told.split()
    assert words[:4] == ['8', 'streams,', '2000', 'frames,'] and float(words[4]) > 0, told
    run(PIPELINES / 'file', '--interval', 5, CLIP, folder / 'alone.jsonl')
    alone = places(folder / 'alone.jsonl')
    for number in range(8):
        assert places(folder / f'{number}.jsonl') == alone, number
    still = folder / 'with a blank.png'
    run(PIPELINES / 'kept', still)
    told, _ = run(PIPELINES / 'streams', folder / 'with a blank', still, CLIP)
    assert told.startswith('2 streams, 251 frames, '), told
    assert places(folder / 'with a blank' / '0.jsonl') != places(folder / 'with a blank' / '1.jsonl')[:1]
    assert 'a folder for boxes' in run(PIPELINES / 'streams', status=2)[1]


def test_wall(folder):
    need_inference()

    def pixels(name):
        run('gst-launch-1.0', '-q', 'filesrc', f'location={folder / name}.png', '!', 'pngdec', '!',
            'videoconvert', '!', 'video/x-raw,format=RGBx', '!', 'filesink',
            f'location={folder / name}.raw')
        flat = np.fromfile(folder / f'{name}.raw', np.uint8)
        return flat.reshape(180, 642, 4)[:, :, :3].astype(int)

    _, line = run(PIPELINES / 'wall', folder / 'boxes.png', CLIP, CLIP)
    run('bash', '-c', line.replace('boxoverlay', 'boxoverlay draw-boxes=false')
        .replace('boxes.png', 'plain.png'))
    boxed, plain = pixels('boxes'), pixels('plain')
    for tile in np.s_[:, :320], np.s_[:, 322:]:
        drawn = np.abs(boxed[tile] - plain[tile]).max(2) > 40
        assert .01 < drawn.mean() < .1, drawn.mean()
    assert (np.abs(plain[:, :320] - plain[:, 322:]).max(2) > 40).mean() > .1, 'of the same time'
    assert 'a name for the picture' in run(PIPELINES / 'wall', status=2)[1]


def test_pictures_of_what_is_kept(folder):
    need_inference()
    _, told = run(PIPELINES / 'kept', folder / 'kept.png')
    assert (folder / 'kept.png').read_bytes().startswith(b'\x89PNG')
    line, = told.splitlines()
    for side, least, most in (('tensors. ! boxdecode score-threshold=0.5 nms', 50, 2100),
                              ('tensors. ! boxdecode score-threshold=0.5 iou', 8, 8)):
        decode = line[line.index(side):].removeprefix('tensors. ').split(' ! videoconvertscale')[0]
        before = line.replace(' -e ', ' -q -e ').split(' ! tee name')[0].replace(
            'decodebin', 'decodebin ! identity eos-after=2')
        out, _ = run('bash', '-c', f'{before} {decode} ! boxsink')
        found = json.loads(out.splitlines()[0])['objects']
        assert least <= len(found) <= most, f'{side}: {len(found)}'


if __name__ == '__main__':
    main(globals())
