# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by measurements: models, held-out scenes, boxes of an output.

It needs onnxruntime.
"""
import argparse

import numpy as np
import onnxruntime

from .palette import MOODS

OVERLAP, MATCH = 0.5, 0.5    # IoU of NMS, and of a box with its object
LARGE = 24                   # pixels of the frame: smaller objects need not be found
HELD_OUT = 900_000_000       # seeds from here on are not trained on
FRAMES_A_SCENE = 3

settings = argparse.Namespace(score=0.55)


def session(path):
    """Return a model."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def run(model, images):
    """Return a model's outputs for images N x height x width x 3 of 0..255."""
    planes = np.ascontiguousarray(np.stack(images).transpose(0, 3, 1, 2), np.float32) / 255
    return model.run(None, {"images": planes})


def scenes(make, count, seed, standard):
    """Yield frames of scenes in all moods."""
    for number in range(-(-count // FRAMES_A_SCENE)):
        mood = tuple(MOODS)[number % len(MOODS)]
        scene = make(HELD_OUT + seed + number, mood, standard=standard or number % 2 == 0)
        for _ in range(FRAMES_A_SCENE):
            for _ in range(20):
                scene.traffic.step(0.2)
            yield scene.render()


def ious(box, others):
    """Return the IoU of a box with others, x1, y1, x2, y2."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    both = np.clip(high - low, 0, None).prod(1)
    areas = (others[:, 2:] - others[:, :2]).prod(1)
    return both / np.maximum((box[2:] - box[:2]).prod() + areas - both, 1e-9)


def kept(output, classes, score=None):
    """Return boxes in input pixels, classes, scores and points after NMS in each class.

    score: the least one; None takes that of the settings.
    """
    scores = output[4:4 + classes]
    best, label = scores.max(0), scores.argmax(0)
    order = np.flatnonzero(best > (settings.score if score is None else score))
    order = order[np.argsort(-best[order])]
    centre, half = output[:2].T, output[2:4].T / 2
    boxes, left = np.concatenate([centre - half, centre + half], 1), []
    for i in order:
        mine = [j for j in left if label[j] == label[i]]
        if not mine or ious(boxes[i], boxes[mine]).max() <= OVERLAP:
            left.append(i)
    return boxes[left], label[left], best[left], np.array(left, int)
