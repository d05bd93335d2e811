#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests tracks of whole clips, and counts of lines and zones."""
import contextlib
import csv
import importlib.util
import io
import json
import shlex
from collections import Counter

import numpy as np

from tap import CLIP, PIPELINES, Skip, detect, main, need, need_inference, run

QUOTED = shlex.quote(str(PIPELINES))


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


def test_objects_of_a_tracker(folder):
    """Two to four rings are in the clip, whichever tracker gives them ids."""
    need_inference()
    for track in 'boxtrack', 'ioutracker':
        if track == 'ioutracker':
            need(track)
        frames = objects_of(tracked(track))
        ids = {box['id'] for boxes in frames for box in boxes
               if 'id' in box and box['roi_type'] == 'ring'}
        assert 2 <= len(ids) < (5 if track == 'boxtrack' else len(frames) / 2), ids


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
    detect('--track', CLIP, '--every', 3, '--confidence', .5, '--boxes', folder / 'out.jsonl')
    assert 'id' in (folder / 'out.jsonl').read_text()


MID, LEFT = 'lines="mid=0.5,1,0.5,0"', 'zones="left=0,0,0.5,0,0.5,1,0,1"'


def sides(frames, width):
    """Returns how often the middle was passed by objects of frames, by more than a fifth of their
    height, to the left and to the right: what the line in the middle should count."""
    side, counts = {}, Counter()
    for boxes in frames:
        for box in boxes:
            x = box['x'] + box['w'] / 2 - width / 2
            if 'id' not in box or abs(x) < box['h'] / 5:
                continue
            now = 'in' if x < 0 else 'out'
            if side.get(box['id'], now) != now:
                counts[now] += 1
            side[box['id']] = now
    return counts


def test_counts_of_a_clip(folder):
    """The line over the whole height counts each change of sides, whatever is analysed; events add
    up to the totals, and visits to the time of objects in the zone."""
    need_inference()
    lines = [json.loads(line) for line in tracked(f'boxtrack ! boxcount band=0.2 {MID} {LEFT}')]
    total, zone = lines[-1]['lines']['mid'], lines[-1]['zones']['left']
    wanted = sides([line.get('objects', []) for line in lines], lines[0]['resolution']['width'])
    assert total == {'in': wanted['in'], 'out': wanted['out']} and wanted['in'] > 3, (total, wanted)
    assert zone['now'] == len(zone['present']) and zone['visits'] >= wanted['in'], zone
    tracked(f'boxtrack ! boxcount band=0.2 {MID} {LEFT}',
            sink=f'format=events-csv location={folder}/events.csv')
    events = list(csv.DictReader(open(folder / 'events.csv', encoding='utf-8')))
    of = Counter((event['event'], event['direction']) for event in events)
    assert of['crossed', 'in'] == total['in'] and of['crossed', 'out'] == total['out'], of
    assert of['entered', ''] == of['left', ''] == zone['visits'], of
    spent = sum(float(event['seconds']) for event in events if event['event'] == 'left')
    assert abs(spent - zone['mean'] * zone['visits']) < 0.01, (spent, zone)
    every = [json.loads(line)['lines']['mid'] for line in
             tracked(f'boxtrack predict=true ! boxcount band=0.2 {MID}', 'interval=3')]
    assert all(abs(every[-1][way] - total[way]) <= 1 for way in total), (every[-1], total)


if __name__ == '__main__':
    main(globals())
