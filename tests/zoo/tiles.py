#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares tiles and their joined boxes with SAHI's and supervision's slices and postprocessing.

The slices of random frames are compared with the tiles that a recording has, and the boxes of a
clip after tile-merge with what SAHI's NMS keeps of the boxes of all tiles (tile-merge=none).
With intersection over union at the threshold of the NMS in each tile both must be the same boxes.
With intersection over the smaller area SAHI also compares boxes of one slice, so they differ.
tile-merge=iou-union must be its GREEDYNMM.

The same is done with InferenceSlicer, which gets the tensors of a recording of the same clip
(slicer.py). Boxes that differ must be those that it would have with boxdecode's rule.

Requires NumPy, and sahi or supervision or both for Python, and a checkout that is built:

    python3 -m venv ~/slices-venv
    ~/slices-venv/bin/pip install sahi supervision numpy
    ~/slices-venv/bin/python tests/zoo/tiles.py
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile


def has(name):
    return importlib.util.find_spec(name) is not None


HAVE_SAHI, HAVE_SUPERVISION = has('sahi'), has('supervision')
if {'-h', '--help'} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()
if not has('numpy') or not (HAVE_SAHI or HAVE_SUPERVISION):
    sys.exit(f'SKIP: no numpy, or neither sahi nor supervision for Python; {sys.argv[0]} --help '
             'lists what it requires')

import numpy as np
if HAVE_SAHI:
    from sahi.postprocess.combine import GreedyNMMPostprocess, batched_nms
    from sahi.prediction import ObjectPrediction
    from sahi.slicing import get_slice_bboxes
if HAVE_SUPERVISION:
    import supervision as sv
    import slicer

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS, MEDIA = ROOT / 'pipelines' / 'models', ROOT / 'pipelines' / 'media'
FRAMES = 12
THRESHOLD = 0.45
SCORE = 0.3
FRAMES_OF_CLIP = ('filesrc', f'location={MEDIA / "street.webm"}', '!', 'decodebin', '!',
                  'videoconvert', '!', 'identity', f'eos-after={FRAMES + 1}', '!', 'tensorinfer',
                  f'model-file={MODELS / "world-street.onnx"}')
# width, height, side of a tile, overlap
GRIDS = ((1920, 1080, 640, 0.2), (1280, 720, 320, 0.25), (1001, 777, 512, 0.1),
         (300, 200, 640, 0.2))


def launch(*words):
    subprocess.run([ROOT / 'dev', 'run', 'gst-launch-1.0', '-q', *map(str, words)], check=True,
                   cwd=ROOT)


def tiles_of(folder, width, height, side, overlap):
    """Returns the tiles of a frame as corners, from a recording."""
    recording = folder / f'{width}x{height}-{side}'
    launch('videotestsrc', 'num-buffers=1', '!',
           f'video/x-raw,format=RGB,width={width},height={height}', '!', 'tensorinfer',
           f'model-file={MODELS / "shapes.onnx"}', f'tiles={side}@{overlap}', '!',
           'tensorrecord', f'location={recording}', '!', 'fakesink')
    frame = json.loads((recording / 'frames.jsonl').read_text().splitlines()[-1])
    return [[round(edge) for edge in tile[4:]] for tile in frame['tensors'][0]['source']['tiles']]


def compare_slices(folder):
    for width, height, side, overlap in GRIDS:
        got = tiles_of(folder, width, height, side, overlap)
        wanted = {}
        if HAVE_SAHI:
            found = get_slice_bboxes(height, width, side, side, False, overlap, overlap)
            wanted['SAHI'] = [[x1, y1, min(x2, width), min(y2, height)]
                              for x1, y1, x2, y2 in found]
        if HAVE_SUPERVISION:
            wanted['InferenceSlicer'] = slicer.slices_of(width, height, side, int(side * overlap))
        for name, want in wanted.items():
            assert got == want, f'{width}x{height} in {side}: {got}, should be {want} as {name}'
        print(f'{width}x{height} in tiles of {side}: {len(got)} tiles, as {" and ".join(wanted)}')


def boxes_in(path):
    """Returns the boxes of each frame of a CSV file: x1 y1 x2 y2 score class."""
    frames = {}
    head, *lines = path.read_text().splitlines()
    names = ('x1', 'y1', 'x2', 'y2', 'score', 'class_id')
    columns = [head.split(',').index(name) for name in names]
    for line in lines:
        words = line.split(',')
        frames.setdefault(int(words[0]), []).append([float(words[i]) for i in columns])
    return frames


def decode(path, tensors, merge, union=False, threshold=THRESHOLD):
    """Returns the boxes of each frame. @param tensors words of the line before boxdecode."""
    measure = f'{merge}-union' if union else merge
    launch(*tensors, '!', 'boxdecode', f'score-threshold={SCORE}', f'iou-threshold={THRESHOLD}',
           'max-detections=1000', 'nms-contract=exact', f'tile-merge={measure}',
           f'tile-threshold={threshold}', 'tile-border=-1', '!',
           'boxsink', 'format=csv', f'location={path}')
    return boxes_in(path)


def boxes_of(folder, merge, union=False):
    return decode(folder / f'{merge}-{union}.csv',
                  (*FRAMES_OF_CLIP, 'tiles=640+whole'), merge, union)


def compare_boxes(folder):
    every = boxes_of(folder, 'none')
    for merge in 'iou', 'ios':
        ours = boxes_of(folder, merge)
        kept = same = only_ours = only_theirs = 0
        for number, boxes in every.items():
            table = np.array(boxes, np.float32)
            # SAHI takes equal scores in any order.
            theirs = {tuple(table[i]) for i in batched_nms(table, merge.upper(), THRESHOLD)}
            mine = {tuple(np.array(box, np.float32)) for box in ours.get(number, [])}
            kept += len(mine)
            same += len(mine & theirs)
            only_ours += len(mine - theirs)
            only_theirs += len(theirs - mine)
        print(f'tile-merge={merge}: {sum(map(len, every.values()))} boxes of tiles, {kept} kept; '
              f'{same} as SAHI, {only_ours} only here, {only_theirs} only there')
        assert merge != 'iou' or only_ours == only_theirs == 0
    compare_unions(folder, every)


def merged(boxes, metric):
    """Returns what SAHI's GREEDYNMM makes of boxes: x1 y1 x2 y2 score, rounded."""
    objects = [ObjectPrediction(bbox=box[:4], score=box[4], category_id=int(box[5]),
                                category_name='thing') for box in boxes]
    found = GreedyNMMPostprocess(match_threshold=THRESHOLD, match_metric=metric,
                                 class_agnostic=False)(objects)
    return {(*(round(float(v), 2) for v in each.bbox.to_xyxy()), round(float(each.score.value), 4))
            for each in found}


def compare_unions(folder, every):
    ours = boxes_of(folder, 'iou', union=True)
    same = only_ours = only_theirs = 0
    for number, boxes in every.items():
        theirs = merged(boxes, 'IOU')
        mine = {(*(round(v, 2) for v in box[:4]), round(box[4], 4)) for box in ours.get(number, [])}
        same += len(mine & theirs)
        only_ours += len(mine - theirs)
        only_theirs += len(theirs - mine)
    print(f'tile-merge=iou-union: {same} boxes as SAHI with GREEDYNMM and IOU, '
          f'{only_ours} only here, {only_theirs} only there')
    assert only_ours == only_theirs == 0


def detections(boxes):
    table = np.array(boxes, np.float32).reshape(-1, 6)
    return sv.Detections(xyxy=table[:, :4], confidence=table[:, 4],
                         class_id=table[:, 5].astype(int))


def compare_rule(folder, recording, rule):
    """Compares the boxes of a rule of InferenceSlicer: by place, class and, unless boxes are
    merged, score."""
    kind, metric, threshold = rule
    merge = kind == sv.OverlapFilter.NON_MAX_MERGE
    ours = decode(folder / 'rule.csv', ('tensorreplay', f'location={folder / "clip"}'),
                  metric.name.lower(), merge, threshold)
    every = (sv.OverlapFilter.NONE, metric, threshold)
    all_boxes = here = there = same = unlike = 0
    for frame in range(len(recording.frames)):
        tiles = slicer.sliced(recording, frame, every, SCORE, THRESHOLD)
        theirs = slicer.keys_of(slicer.sliced(recording, frame, rule, SCORE, THRESHOLD), not merge)
        mine = slicer.keys_of(detections(ours.get(frame, [])), not merge)
        by_our_rule = slicer.keys_of(slicer.joined_across_slices(tiles, rule), not merge)
        all_boxes, here, there = all_boxes + len(tiles), here + len(mine), there + len(theirs)
        same += len(mine & theirs)
        unlike += len(mine ^ by_our_rule)
    print(f'InferenceSlicer {kind.name} {metric.name} {threshold}: {all_boxes} boxes of tiles, '
          f'{here} here, {there} there, {same} in both; {unlike} not explained by the rule')
    assert unlike == 0
    assert here == there == same or metric != sv.OverlapMetric.IOU or merge


def compare_with_slicer(folder):
    launch(*FRAMES_OF_CLIP, f'tiles={slicer.SIDE}', '!', 'tensorrecord',
           f'location={folder / "clip"}', '!', 'fakesink')
    recording = slicer.Recording(folder / 'clip')
    for kind in sv.OverlapFilter.NON_MAX_SUPPRESSION, sv.OverlapFilter.NON_MAX_MERGE:
        for metric in sv.OverlapMetric.IOU, sv.OverlapMetric.IOS:
            for threshold in THRESHOLD, 0.5:
                compare_rule(folder, recording, (kind, metric, threshold))


def main():
    with tempfile.TemporaryDirectory(dir=ROOT / 'build') as made:
        folder = pathlib.Path(made)
        compare_slices(folder)
        if HAVE_SAHI:
            compare_boxes(folder)
        else:
            print('SKIP: no sahi')
        if HAVE_SUPERVISION:
            compare_with_slicer(folder)
        else:
            print('SKIP: no supervision')


if __name__ == '__main__':
    main()
