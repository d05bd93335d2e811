#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Records scenes of the drawn town for compare.py: what is there, and what a model finds.

usage: ./dev run tests/track/town.py FOLDER [SCENE]...

Draws each scene frame by frame, runs its model of pipelines/models on it, and writes
FOLDER/SCENE.jsonl with the truth and the boxes of each frame. Takes minutes; the same checkout
writes the same files on the same machine.
"""
import csv
import json
import math
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))
if sys.argv[1:] in (['-h'], ['--help'], []):
    print(__doc__.strip())
    sys.exit(0)

from tools.world.actors import CLASSES  # noqa: E402
from tools.world.crossing import Crossing  # noqa: E402
from tools.world.square import Square  # noqa: E402
from tools.world.street import Street  # noqa: E402

# Name: scene, seed, frame size, rate, frames, seconds before the first one, model, its options.
# These seeds were not trained on.
SCENES = {
    'street': (Street, 12, (1280, 720), 25, 500, 40, 'world-street', ''),
    'crossing': (Crossing, 7, (1280, 720), 25, 250, 40, 'world-crossing-obb', ''),
    'square': (Square, 7, (3840, 2160), 10, 100, 2, 'world-street', 'tiles=4x3'),
}


def hull(cx, cy, w, h, angle):
    """Returns the upright box around an oriented one."""
    c, s = abs(math.cos(angle)), abs(math.sin(angle))
    half_w, half_h = (w * c + h * s) / 2, (w * s + h * c) / 2
    return [cx - half_w, cy - half_h, cx + half_w, cy + half_h]


def truth_of(frame, oriented):
    """Returns [identity, x1, y1, x2, y2, visible part, class] of each object."""
    out = []
    for each in frame.objects:
        box = hull(*each.oriented) if oriented and each.oriented else each.box
        out.append([each.identity, *(round(float(x), 2) for x in box), round(each.visible, 3),
                    CLASSES.index(each.kind)])
    return out


def boxes_of(path, count):
    """Returns [x1, y1, x2, y2, score, class] of each box, for each frame."""
    out = [[] for _ in range(count)]
    with open(path, encoding='utf-8') as file:
        for row in csv.DictReader(file):
            x1, y1, x2, y2, angle = (float(row[key] or 0) for key in ('x1', 'y1', 'x2', 'y2',
                                                                      'angle'))
            box = hull((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, angle)
            out[int(row['frame'])].append([*(round(x, 2) for x in box), float(row['score']),
                                           int(row['class_id'])])
    return out


def record(name, folder):
    make, seed, (width, height), rate, count, warm, model, options = SCENES[name]
    boxes = folder / f'{name}.csv'
    command = ['gst-launch-1.0', '-q', 'fdsrc', 'fd=0', f'blocksize={width * height * 3}', '!',
               'rawvideoparse', 'format=rgb', f'width={width}', f'height={height}',
               f'framerate={rate}/1', '!', 'tensorinfer',
               f'model-file={ROOT / "pipelines" / "models" / model}.onnx', *options.split(), '!',
               'boxdecode', 'score-threshold=0.1', 'iou-threshold=0.5', 'max-detections=1000',
               'include-classes=!plate' if model == 'world-street' else 'class-agnostic=false', '!',
               'boxsink', 'format=csv', f'location={boxes}']
    scene, truth = make(seed, 'day', size=(width, height), warm=warm, standard=True), []
    steps = max(1, round(25 / rate))
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        for number in range(count):
            for _ in range(steps if number else 0):
                scene.traffic.step(1 / (rate * steps))
            frame = scene.render()
            truth.append(truth_of(frame, model.endswith('obb')))
            process.stdin.write(frame.image.tobytes())
        process.stdin.close()
    if process.returncode:
        sys.exit(f'gst-launch-1.0 ended with {process.returncode}')
    found = boxes_of(boxes, count)
    boxes.unlink()
    with open(folder / f'{name}.jsonl', 'w', encoding='utf-8') as file:
        for number, (there, here) in enumerate(zip(truth, found)):
            json.dump({'at': number / rate, 'truth': there, 'boxes': here}, file)
            file.write('\n')


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name in sys.argv[2:] or SCENES:
        record(name, folder)


main()
