#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests tracks of whole clips, and the scripts of pipelines/ that count objects and their crossings
of lines."""
import contextlib
import csv
import importlib.util
import io
import json
import os
import shlex
from collections import Counter

import numpy as np

from tap import CLIP, PIPELINES, Skip, main, need, need_inference, run

QUOTED = shlex.quote(str(PIPELINES))


def count(lines, *words, status=0):
    return run(PIPELINES / 'count.py', *words, input='\n'.join(map(json.dumps, lines)),
               status=status)


def test_count(folder):
    def frame(second, *objects):
        return {'timestamp': int(second * 1e9), 'frame': 0, **({'objects': [
            {'detection': {'label': label}, **({} if number is None else {'id': number})}
            for label, number in objects]} if objects else {})}
    lines = [frame(0.5, ('cat', 7), ('cat', 8), ('dog', 9)), frame(59.9, ('cat', 7)), frame(60),
             frame(61, ('dog', 9)), frame(200, ('cat', None))]
    # text of the whole frame is no box
    lines[0]['objects'].append({'text': {'label': 'ABC', 'confidence': 0.9}})
    table, _ = count(lines, 'cat')
    assert table == ('begin,frames,mean,max,tracked\n0,2,1.50,2,2\n60,2,0.00,0,\n180,1,1.00,1,\n')
    assert count(lines[:2], 'dog', 0.5)[0].splitlines()[1:] == ['0.5,1,1.00,1,1', '59.5,1,0.00,0,']
    # Two models have the same ids; the first one is named from the second frame on.
    both = [frame(1, ('cat', 7), ('cat', 8)), frame(2, ('cat', 7), ('cat', 7))]
    for box, model in zip(both[1]['objects'], ('a', 'b')):
        box['detection']['model'] = {'name': model}
    assert count(both, 'cat')[0].splitlines()[1] == '0,2,2.00,2,3'
    _, messages = count(lines, 'dgo')
    assert messages == 'count.py: no box has the class dgo; the classes were cat, dog', messages
    assert 'there were no boxes' in count([frame(1)], 'cat')[1] and not count(lines, 'cat')[1]
    assert 'no timestamp: {"frame"' in count([{'frame': 0}], 'cat', status=1)[1]
    count([], status=1)
    between = [dict(frame(second / 3), skipped=True) for second in range(400)]
    mixed = sorted([*lines, *between], key=lambda line: line['timestamp'])
    assert count(mixed, 'cat')[0] == table, 'frames that the model did not look at'


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


LINE = ('filesrc location={media}/{clip} ! decodebin ! videoconvert'
        ' ! tensorinfer model-file={models}/{model}.onnx'
        ' {infer} ! boxdecode score-threshold={least} track-score-threshold=0.1'
        ' ! {track} ! boxsink {sink}')


def tracked(track, infer='', clip='shapes.webm', model='shapes', least=0.5, sink=''):
    """Returns the lines of a clip's boxes after a tracker."""
    line = LINE.format(media=f'{QUOTED}/media', clip=clip, models=f'{QUOTED}/models', model=model,
                       infer=infer, least=least, track=track, sink=sink)
    return run('bash', '-c', f'gst-launch-1.0 -q {line}')[0].splitlines()


def objects_of(lines):
    """Returns the objects of each frame."""
    return [json.loads(line).get('objects', []) for line in lines]


def test_count_of_tracked_objects(folder):
    need_inference()
    rows = tracked('boxtrack')
    table, _ = run(PIPELINES / 'count.py', 'ring', input='\n'.join(rows))
    row, = csv.DictReader(io.StringIO(table))
    assert 2 <= int(row['tracked']) <= 4, table


def test_count_of_objects_tracked_by_gstreamer(folder):
    need_inference()
    need('ioutracker')
    table, _ = run(PIPELINES / 'count.py', 'ring', input='\n'.join(tracked('ioutracker')))
    row, = csv.DictReader(io.StringIO(table))
    assert 2 <= int(row['tracked']) < int(row['frames']) / 2, table


def test_tracks_of_a_clip(folder):
    """The clip's eight shapes keep their ids for all of its ten seconds, whatever is analysed."""
    need_inference()
    for infer, track in (('', 'boxtrack'), ('interval=3', 'boxtrack predict=true')):
        frames = objects_of(tracked(track, infer))
        seen = Counter(box['id'] for boxes in frames for box in boxes if 'id' in box)
        assert len(frames) == 250 and [seen[i] for i in range(1, 9)] == [250] * 8, seen
        predicted = sum(box.get('predicted', False) for boxes in frames for box in boxes)
        assert (predicted > 8 * 160) == (infer != ''), predicted


def overlap(a, b):
    """Returns the IoU of two objects of JSON Lines, each in its own axes."""
    sides = [min(a[at] + a[side], b[at] + b[side]) - max(a[at], b[at])
             for at, side in (('x', 'w'), ('y', 'h'))]
    common = max(sides[0], 0) * max(sides[1], 0)
    return common / (a['w'] * a['h'] + b['w'] * b['h'] - common)


def between(each, frames, mark):
    """Returns the overlap of each marked box with the nearest one of what is found on its frame."""
    return np.array([max((overlap(box, other) for other in there), default=0)
                     for here, there in zip(frames, each, strict=True)
                     for box in here if box.get(mark)])


def test_predicted_boxes_of_clips(folder):
    """interval=3 looks like every frame: predicted boxes are where the model would find them."""
    need_inference()
    for clip, model, mean, most in (('shapes.webm', 'shapes', .85, .98),
                                    ('crossing.webm', 'world-crossing-obb', .88, .97)):
        each = objects_of(tracked('boxtrack', '', clip, model))
        predicted = between(each, objects_of(tracked('boxtrack predict=true', 'interval=3', clip,
                                                     model)), 'predicted')
        held = between(each, objects_of(tracked('boxtrack', 'interval=3 hold=true', clip, model)),
                       'held')
        summary = (f'{clip}: mean {predicted.mean():.3f}, above 0.5 {(predicted > .5).mean():.3f}, '
                   f'held {held.mean():.3f} {(held > .5).mean():.3f}')
        print(f'# {summary}')
        assert len(predicted) > 500 and len(held) > 500, summary
        assert predicted.mean() >= max(mean, held.mean()), summary
        assert (predicted > .5).mean() >= most, summary


def test_tracks_in_trackeval(folder):
    """TrackEval refuses files with an id twice on a frame."""
    need_inference()
    if not importlib.util.find_spec('trackeval'):
        raise Skip('no trackeval for Python')
    import trackeval
    result = folder / 'results/MOT17-train/keepbox/data/clip.txt'
    truth = folder / 'truth/MOT17-train/clip/gt/gt.txt'
    for path in result, truth:
        path.parent.mkdir(parents=True)
    tracked('boxtrack', least=0.1, sink=f'format=mot location={result}')
    rows = [line.split(',') for line in result.read_text().splitlines()]
    truth.write_text(''.join(','.join([*row[:6], '1', '1', '1']) + '\n' for row in rows))
    quiet = {'PRINT_CONFIG': False}
    clip = trackeval.datasets.MotChallenge2DBox({
        'GT_FOLDER': str(folder / 'truth'), 'TRACKERS_FOLDER': str(folder / 'results'),
        'SEQ_INFO': {'clip': 250}, **quiet})
    judge = trackeval.Evaluator({'PRINT_RESULTS': False, 'TIME_PROGRESS': False,
                                 'PLOT_CURVES': False, 'OUTPUT_SUMMARY': False,
                                 'OUTPUT_DETAILED': False, 'OUTPUT_EMPTY_CLASSES': False,
                                 'BREAK_ON_ERROR': True, 'LOG_ON_ERROR': None, **quiet})
    with contextlib.redirect_stdout(io.StringIO()):
        found, _ = judge.evaluate([clip], [trackeval.metrics.HOTA()])
    hota = found['MotChallenge2DBox']['keepbox']['clip']['pedestrian']['HOTA']['HOTA'].mean()
    assert len(rows) >= 8 * 250 and hota > .999, (len(rows), hota)


def test_file_with_tracks(folder):
    need_inference()
    _, messages = run(PIPELINES / 'file', '--track', '--interval', 3, CLIP, folder / 'out.jsonl')
    assert 'hold=true' not in messages and 'boxtrack predict=true' in messages, messages
    table, _ = run(PIPELINES / 'crossings.py', '--line', 'mid=0.5,1,0.5,0',
                   input=(folder / 'out.jsonl').read_text())
    name, into, out, *_ = table.splitlines()[1].split(',')
    assert name == 'mid' and int(into) > 0 and int(out) > 0, table


def crossings(objects, *words, status=0, skipped=()):
    """Runs crossings.py on {second: [(id, class, x, y of the lower edge)]}; at some of these
    seconds the model did not look."""
    size = {'width': 200, 'height': 100}
    lines = [{'timestamp': int(second * 1e9), 'resolution': size,
              **({'skipped': True} if second in skipped else {}), 'objects': [
        {'id': number, 'x': x - 5, 'y': y - 20, 'w': 10, 'h': 20, 'detection': {'label': label}}
        for number, label, x, y in boxes]} for second, boxes in sorted(objects.items())]
    return run(PIPELINES / 'crossings.py', *words, input='\n'.join(map(json.dumps, lines)),
               status=status)


def test_crossings(folder):
    walk = {second: [(7, 'cat', 10 + 20 * second, 50), (8, 'dog', 190 - 20 * second, 60)]
            for second in range(9)}
    line, zone = ('--line', 'gate=100,100,100,0'), ('--zone', 'yard=0.25,0,0.75,0,0.75,1,0.25,1')
    head = 'name,in,out,visits,mean,max\n'
    assert crossings(walk, *line)[0] == head + 'gate,1,1,,,\n'
    assert crossings(walk, *line, '--class', 'cat')[0] == head + 'gate,0,1,,,\n'
    # A line that ends above their feet is not crossed.
    assert crossings(walk, '--line', 'g=100,40,100,0')[0] == head + 'g,0,0,,,\n'
    assert crossings(walk, '--line', 'g=100,45,100,0',
                     '--point', 'center')[0] == head + 'g,0,1,,,\n'
    assert crossings(walk, *zone)[0] == head + 'yard,,,2,5.000,5.000\n'
    events, _ = crossings(walk, *line, *zone, '--events', '--class', 'cat')
    assert events.splitlines() == ['time,event,name,id,class,seconds', '2.000,enter,yard,7,cat,',
                                   '5.000,out,gate,7,cat,', '7.000,leave,yard,7,cat,5.000'], events
    # An object that vanishes has left when it was last seen; on the line it is where it was.
    gone = {0: [(1, 'cat', 100, 50)], 1: [(1, 'cat', 101, 50)], 5: []}
    events, _ = crossings(gone, *zone, '--events')
    assert events.splitlines()[2:] == ['1.000,leave,yard,1,cat,1.000']
    # Frames that the model did not look at are neither empty nor is a predicted box of theirs one.
    unseen = {second + .5: [(7, 'cat', 190, 50)] if second % 2 else [] for second in range(20)}
    assert crossings({**walk, **unseen}, *line, *zone,
                     skipped=unseen)[0] == crossings(walk, *line, *zone)[0]
    slow = {0: [(1, 'cat', 100, 50)], 9: [(1, 'cat', 100, 50)]}
    assert crossings({**slow, **unseen}, *zone,
                     skipped=unseen)[0] == head + 'yard,,,1,9.000,9.000\n'
    touch = {0: [(1, 'cat', 90, 50)], 1: [(1, 'cat', 100, 50)], 2: [(1, 'cat', 90, 50)]}
    assert crossings(touch, *line)[0] == head + 'gate,0,0,,,\n'


def test_crossings_of_two_models(folder):
    """Objects with the same id, one on each side of the line; names come with the second one."""
    size = {'width': 200, 'height': 100}
    lines = []
    for second in range(9):
        boxes = [('a' if second else '', 10 + 20 * second), ('b', 150)][:2 if second else 1]
        lines.append({'timestamp': int(second * 1e9), 'resolution': size, 'objects': [
            {'id': 1, 'x': x - 5, 'y': 30, 'w': 10, 'h': 20, 'detection': {
                'label': 'cat', **({'model': {'name': model}} if model else {})}}
            for model, x in boxes]})
    table, _ = run(PIPELINES / 'crossings.py', '--line', 'gate=20,100,20,0', '--line',
                   'other=100,100,100,0', input='\n'.join(map(json.dumps, lines)))
    assert table.splitlines()[1:] == ['gate,0,1,,,', 'other,0,1,,,'], table


def test_crossings_explains(folder):
    walk = {0: [(7, 'cat', 10, 50)]}
    assert 'no box has the class dog; the classes were cat' in crossings(
        walk, '--line', 'a=0,0,9,9', '--class', 'dog')[1]
    for words, messages in (((), 'a --line or a --zone'), (('--line', 'a=1,2,3'), 'a=1,2,3 is not'),
                            (('--zone', 'a=1,2,3,4'), 'X3,Y3'), (('--size', '3'), '--size is not'),
                            (('--line', 'a=0,0,9,9', '--point', 'top'), 'not top'),
                            (('--line', 'a=0,0,9,9', '--lost', 'x'), 'number of seconds')):
        assert messages in crossings(walk, *words, status=1)[1], words
    untracked = '{"timestamp":0,"resolution":{"width":9,"height":9},"objects":[{"detection":{}}]}'
    assert 'put boxtrack before' in run(PIPELINES / 'crossings.py', '--line', 'a=0,0,9,9',
                                        input=untracked, status=1)[1]


if __name__ == '__main__':
    main(globals())
