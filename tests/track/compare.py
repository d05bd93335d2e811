#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the trackers of keepbox with those of supervision and trackers on generated crowds.

usage: compare.py TRACKFILE [SCENE]...

TRACKFILE is build/tests/track/trackfile. Prints a table per scene: MOTA, IDF1 and identity switches
by motmetrics, and time per frame. Needs motmetrics; peers that are not installed are left out, so
that several environments can be compared: ByteTrack of supervision was removed in version 0.28, and
trackers needs a newer supervision. Each peer has the parameters of its method's paper.
"""
import importlib.util
import subprocess
import sys
import time

if sys.argv[1:] in (['-h'], ['--help'], []):
    print(__doc__.strip())
    sys.exit(0)
for module in ('numpy', 'motmetrics'):
    if importlib.util.find_spec(module) is None:
        print(f'SKIP: no {module}')
        sys.exit(77)

import motmetrics  # noqa: E402
import numpy as np  # noqa: E402

import crowds  # noqa: E402

SECOND = 1_000_000_000


def ours(program, *words, nominal=None):
    """Returns a function of a scene and its frames: the ids of each frame, microseconds per frame."""
    def run(scene, frames):
        interval = round(SECOND / scene.fps)
        step = round(SECOND / 30) if nominal is None else interval
        text = ''.join(f'{round(at * SECOND)} ' + ' '.join(
            f'{x1} {y1} {x2} {y2} {score} {kind}' for x1, y1, x2, y2, score, kind in boxes) + '\n'
            for at, _, boxes in frames)
        done = subprocess.run([program, words[0], str(step), str(interval), *words[1:]], input=text, text=True,
                              capture_output=True, check=True)
        return [list(map(int, line.split())) for line in done.stdout.splitlines()], float(done.stderr)
    return run


def peer(make, timed=False):
    """Returns the same for a tracker with an interface of supervision."""
    import supervision

    def run(scene, frames):
        tracker, ids, spent = make(scene), [], 0
        for at, _, boxes in frames:
            rows = np.array(boxes, float).reshape(-1, 6)
            given = supervision.Detections(
                xyxy=rows[:, :4], confidence=rows[:, 4], class_id=rows[:, 5].astype(int),
                data={'row': np.arange(len(rows))})
            begin = time.perf_counter()
            if timed:
                got = tracker.update(given, timestamp=at)
            else:
                got = getattr(tracker, 'update_with_detections', None)(given)
            spent += time.perf_counter() - begin
            here = [0] * len(rows)
            for row, number in zip(got.data.get('row', []), got.tracker_id):
                here[int(row)] = int(number) + 1 if timed else int(number)
            ids.append(here)
        return ids, spent * 1e6 / len(frames)
    return run


def trackers_of(program):
    out = {
        'keepbox bytetrack': ours(program, 'bytetrack'),
        'keepbox bytetrack recover-lost=true': ours(program, 'bytetrack', 'recover-lost=true'),
        'keepbox sort': ours(program, 'sort', 'high-threshold=0.25'),
        'keepbox oc-sort': ours(program, 'oc-sort'),
        'keepbox bytetrack nominal-rate=0': ours(program, 'bytetrack', nominal=0),
        'keepbox oc-sort nominal-rate=0': ours(program, 'oc-sort', nominal=0),
    }
    if importlib.util.find_spec('trackers') is not None:
        import trackers
        out['trackers ByteTrack'] = peer(lambda scene: trackers.ByteTrackTracker(
            frame_rate=scene.fps, track_activation_threshold=0.7, minimum_iou_threshold=0.2), True)
        out['trackers SORT'] = peer(lambda scene: trackers.SORTTracker(
            frame_rate=scene.fps), True)
        out['trackers OC-SORT'] = peer(lambda scene: trackers.OCSORTTracker(frame_rate=scene.fps),
                                       True)
    if importlib.util.find_spec('supervision') is not None:
        import supervision
        if hasattr(supervision, 'ByteTrack'):
            out['supervision ByteTrack'] = peer(lambda scene: supervision.ByteTrack(
                track_activation_threshold=0.6, frame_rate=scene.fps))
    return out


def distances(a, b):
    """Returns 1 - IoU of all pairs; NaN from 0.5 on, where boxes do not match."""
    a, b = (np.array(boxes, float).reshape(-1, 1, 4) for boxes in (a, b))
    b = b.reshape(1, -1, 4)
    sides = (np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])).clip(0)
    common = sides.prod(-1)
    out = 1 - common / ((a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) -
                        common)
    return np.where(out < 0.5, out, np.nan)


def score(frames, ids):
    """Returns MOTA, IDF1 and the number of switches; boxes match from an IoU of 0.5 on."""
    sums = motmetrics.MOTAccumulator(auto_id=True)
    for (_, truth, boxes), numbers in zip(frames, ids):
        shown = [(number, box) for number, box in zip(numbers, boxes) if number > 0]

        far = distances([box for _, box in truth], [box[:4] for _, box in shown])
        sums.update([number for number, _ in truth], [number for number, _ in shown], far)
    made = motmetrics.metrics.create().compute(sums, ['mota', 'idf1', 'num_switches'], name='all')
    return [made[name].iloc[0] for name in ('mota', 'idf1', 'num_switches')]


def same_ids(a, b):
    """Returns the part of boxes with ids on both sides, or none, that are the same up to names."""
    names, back, same, all_ = {}, {}, 0, 0
    for here, there in zip(a, b):
        for x, y in zip(here, there):
            x, y, all_ = max(x, 0), max(y, 0), all_ + 1
            if x == 0 or y == 0:
                same += x == y
            else:
                same += names.setdefault(x, y) == y and back.setdefault(y, x) == x
    return same / max(all_, 1)


def main():
    wanted = sys.argv[2:]
    for scene in crowds.SCENES:
        if wanted and scene.name not in wanted:
            continue
        frames = list(crowds.frames_of(scene))
        print(f'\n{scene.name}: {len(frames)} frames\n')
        print('| tracker | MOTA | IDF1 | switches | us per frame | same ids as keepbox |')
        print('| --- | --- | --- | --- | --- | --- |')
        ids_of = {}
        for name, run in trackers_of(sys.argv[1]).items():
            ids, us = run(scene, frames)
            ids_of[name] = ids
            mota, idf1, switches = score(frames, ids)
            own = next((ids_of[each] for each, peers in (
                ('keepbox bytetrack nominal-rate=0', 'ByteTrack'),
                ('keepbox oc-sort nominal-rate=0', 'OC-SORT'),
                ('keepbox sort', ' SORT')) if name.endswith(peers)), None)
            same = f'{100 * same_ids(own, ids):.1f} %' if own is not None else ''
            print(f'| {name} | {100 * mota:.1f} | {100 * idf1:.1f} | {switches:.0f} | {us:.0f} '
                  f'| {same} |', flush=True)


main()
