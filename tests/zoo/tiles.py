#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares tiles and their joined boxes with SAHI's slices and postprocessing.

The slices of random frames are compared with the tiles that a recording has, and the boxes of a
clip after tile-merge with what SAHI's NMS keeps of the boxes of all tiles (tile-merge=none).
With intersection over union at the threshold of the NMS in each tile both must be the same boxes.
With intersection over the smaller area SAHI also compares boxes of one slice, so they differ.
tile-union must be its GREEDYNMM.

Requires sahi and NumPy for Python, and a checkout that is built:

    python3 -m venv ~/sahi-venv
    ~/sahi-venv/bin/pip install sahi numpy
    ~/sahi-venv/bin/python tests/zoo/tiles.py
"""
import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

MISSING = [name for name in ('numpy', 'sahi') if importlib.util.find_spec(name) is None]
if {'-h', '--help'} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()
if MISSING:
    sys.exit(f'SKIP: no {", ".join(MISSING)} for Python; {sys.argv[0]} lists what it requires')

import numpy as np
from sahi.postprocess.combine import GreedyNMMPostprocess, batched_nms
from sahi.prediction import ObjectPrediction
from sahi.slicing import get_slice_bboxes

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS, MEDIA = ROOT / 'pipelines' / 'models', ROOT / 'pipelines' / 'media'
FRAMES = 12
THRESHOLD = 0.45


def launch(*words):
    subprocess.run([ROOT / 'dev', 'run', 'gst-launch-1.0', '-q', *map(str, words)], check=True,
                   cwd=ROOT)


def tiles_of(folder, width, height, side, overlap):
    """Returns the tiles of a frame as corners, from a recording."""
    recording = folder / f'{width}x{height}-{side}'
    launch('videotestsrc', 'num-buffers=1', '!',
           f'video/x-raw,format=RGB,width={width},height={height}', '!', 'tensorinfer',
           f'model-file={MODELS / "shapes.onnx"}', f'tile-size={side}',
           f'tile-overlap={overlap}', '!', 'tensorrecord', f'location={recording}', '!', 'fakesink')
    frame = json.loads((recording / 'frames.jsonl').read_text().splitlines()[-1])
    return [[round(edge) for edge in tile[4:]] for tile in frame['tensors'][0]['source']['tiles']]


def compare_slices(folder):
    for width, height, side, overlap in ((1920, 1080, 640, 0.2), (1280, 720, 320, 0.25),
                                         (1001, 777, 512, 0.1), (300, 200, 640, 0.2)):
        want = get_slice_bboxes(height, width, side, side, False, overlap, overlap)
        got = tiles_of(folder, width, height, side, overlap)
        want = [[x1, y1, min(x2, width), min(y2, height)] for x1, y1, x2, y2 in want]
        assert got == want, f'{width}x{height} in {side}: {got}, should be {want}'
        print(f'{width}x{height} in tiles of {side}: {len(got)} tiles, as SAHI')


def boxes_of(folder, merge, union=False):
    """Returns the boxes of each frame: x1 y1 x2 y2 score class."""
    out = folder / f'{merge}-{union}.csv'
    launch('filesrc', f'location={MEDIA / "street.webm"}', '!', 'decodebin', '!',
           'videoconvert', '!', 'identity', f'eos-after={FRAMES + 1}', '!', 'tensorinfer',
           f'model-file={MODELS / "world-street.onnx"}', 'tile-size=640', 'tile-whole=true', '!',
           'boxdecode', 'score-threshold=0.3', f'iou-threshold={THRESHOLD}', 'max-detections=1000',
           'nms-contract=exact', f'tile-merge={merge}', f'tile-threshold={THRESHOLD}',
           'tile-border=-1', f'tile-union={str(union).lower()}', '!', 'boxsink', 'format=csv',
           f'location={out}')
    frames = {}
    head, *lines = out.read_text().splitlines()
    names = ('x1', 'y1', 'x2', 'y2', 'score', 'class_id')
    columns = [head.split(',').index(name) for name in names]
    for line in lines:
        words = line.split(',')
        frames.setdefault(int(words[0]), []).append([float(words[i]) for i in columns])
    return frames


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
    print(f'tile-union=true: {same} boxes as SAHI with GREEDYNMM and IOU, {only_ours} only here, '
          f'{only_theirs} only there')
    assert only_ours == only_theirs == 0


def main():
    with tempfile.TemporaryDirectory(dir=ROOT / 'build') as folder:
        compare_slices(pathlib.Path(folder))
        compare_boxes(pathlib.Path(folder))


if __name__ == '__main__':
    main()
