# SPDX-License-Identifier: LGPL-2.1-or-later
"""Computes boxes of YOLOX-Nano on a photo without GStreamer's inference and without keepbox: pixels
letterboxed by GStreamer, ONNX Runtime on B, G, R as in training, decoding and suppression with
numpy."""
import importlib.util
import sys

import numpy as np

from tap import Skip, run

SIDE = 416
STRIDES = (8, 16, 32)
INFER = """
import sys
import numpy
import onnxruntime
model, given, made = sys.argv[1:]
session = onnxruntime.InferenceSession(model, providers=['CPUExecutionProvider'])
numpy.save(made, session.run(None, {session.get_inputs()[0].name: numpy.load(given)})[0])
"""


def letterboxed(photo, folder):
    """Returns height x width x (B, G, R)."""
    path = folder / 'pixels.raw'
    run('gst-launch-1.0', '-q', 'filesrc', f'location={photo}', '!', 'jpegdec', '!',
        'videoconvertscale', '!',
        f'video/x-raw,format=BGR,width={SIDE},height={SIDE},pixel-aspect-ratio=1/1', '!',
        'filesink', f'location={path}')
    return np.fromfile(path, np.uint8).reshape(SIDE, SIDE, 3)


def infer(model, pixels, folder):
    if importlib.util.find_spec('onnxruntime') is None:
        raise Skip('no onnxruntime for Python')
    np.save(folder / 'input.npy', pixels.transpose(2, 0, 1)[None].astype(np.float32))
    run(sys.executable, '-c', INFER, model, folder / 'input.npy', folder / 'output.npy')
    return np.load(folder / 'output.npy')[0]


def decode(rows):
    """Returns corners in the model's picture, and a score for each class."""
    sides = [SIDE // stride for stride in STRIDES]
    grid = np.concatenate([np.stack(np.meshgrid(np.arange(n), np.arange(n)), -1).reshape(-1, 2)
                           for n in sides])
    stride = np.repeat(STRIDES, [n * n for n in sides])[:, None]
    centre, half = (rows[:, :2] + grid) * stride, np.exp(rows[:, 2:4]) * stride / 2
    return np.concatenate([centre - half, centre + half], 1), rows[:, 4:5] * rows[:, 5:]


def overlap(box, others):
    size = np.clip(np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2]), 0, None)
    both = size.prod(1)
    return both / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(1) - both)


def suppress(corners, classes, scores, limit):
    """Returns the indices of kept boxes, best first."""
    left, kept = np.argsort(-scores, kind='stable'), []
    while left.size:
        best, left = left[0], left[1:]
        kept.append(best)
        same = classes[left] == classes[best]
        left = left[~(same & (overlap(corners[best], corners[left]) > limit))]
    return kept


def boxes_in(rows, picture, border, frame, threshold, limit):
    """Returns a list of (class, score, (x1, y1, x2, y2) on the frame), best first.
    @param rows the model's output for an input with the frame at `border`, of size `picture`."""
    corners, scores = decode(rows)
    classes, best = scores.argmax(1), scores.max(1)
    above = best > threshold
    corners, classes, best = corners[above], classes[above], best[above]
    kept = suppress(corners, classes, best, limit)
    corners = (corners.reshape(-1, 2, 2) - border) * frame / picture
    clipped = np.clip(corners, 0, frame).reshape(-1, 4)
    return [(int(classes[i]), float(best[i]), clipped[i].tolist()) for i in kept]


def expected_boxes(photo, frame, model, folder, threshold=0.25, limit=0.45):
    """Returns the boxes on a photo of size `frame` that GStreamer letterboxed."""
    # videoconvertscale rounds the picture's size and position down to integers.
    picture = np.array(frame) * SIDE // max(frame)
    rows = infer(model, letterboxed(photo, folder), folder)
    return boxes_in(rows, picture, (SIDE - picture) // 2, frame, threshold, limit)
