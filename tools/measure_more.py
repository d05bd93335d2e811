#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measure the models of the drawn shapes' masks, oriented boxes and keypoints, and draw results.

With a clip they are run on a frame of it, otherwise on fresh scenes, where the results are compared
with the drawn shapes.  It needs onnxruntime, numpy and OpenCV.
"""
import argparse
import itertools
import math
import pathlib

import needed

needed.modules(__doc__, "cv2", "numpy", "onnxruntime")
import cv2  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

from make_clip import decoded
from shapes_scene import (CLASSES, NO_POINT, POINTS, SEEN, SIZE, WIDE_TURN, box_rows, decode,
                          draw_boxes, draw_objects, iou)

TASKS = ("seg", "obb", "pose")
SCORE, OVERLAP = 0.4, 0.45
MATCH = 0.5               # minimum IoU of a box with its object
SCENES, SHOWN = 200, 8
PLANES = 4 + len(CLASSES)
COLOURS = ((255, 90, 90), (90, 255, 90), (90, 150, 255), (255, 230, 80), (255, 90, 255))


def open_models(folder):
    """Return sessions of the three models by task."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    return {task: onnxruntime.InferenceSession(str(folder / f"shapes-{task}.onnx"), options,
                                               providers=["CPUExecutionProvider"])
            for task in TASKS}


def run(models, image):
    """Return the output tensors of the three models, without their first dimension."""
    planes = image.transpose(2, 0, 1)[None].astype(np.float32)
    return {task: [out[0] for out in model.run(None, {"images": planes})]
            for task, model in models.items()}


def masks_of(rows, points, output, prototypes):
    """Return masks of the picture's size, bool, cropped to their boxes."""
    masks = np.zeros((len(rows), SIZE, SIZE), bool)
    for mask, row, point in zip(masks, rows, points):
        made = np.tensordot(output[PLANES:, point], prototypes, 1)
        x1, y1, x2, y2 = np.clip(np.round(row[1:]).astype(int), 0, SIZE)
        large = cv2.resize(made, (SIZE, SIZE), interpolation=cv2.INTER_LINEAR)
        mask[y1:y2, x1:x2] = large[y1:y2, x1:x2] > 0
    return masks


def oriented_iou(a, b):
    """Return the overlap of two oriented boxes cx, cy, width, height, angle."""
    one, two = (((r[0], r[1]), (r[2], r[3]), math.degrees(r[4])) for r in (a, b))
    _, corners = cv2.rotatedRectangleIntersection(one, two)
    both = cv2.contourArea(cv2.convexHull(corners)) if corners is not None else 0.0
    return both / max(a[2] * a[3] + b[2] * b[3] - both, 1e-9)


def oriented_rows(output):
    """Return oriented boxes after NMS: rows class, cx, cy, width, height, angle."""
    scores, classes = output[4:PLANES].max(0), output[4:PLANES].argmax(0)
    rows = []
    for i in sorted(np.flatnonzero(scores > SCORE), key=lambda i: -scores[i]):
        row = (classes[i], *(float(v) for v in output[:4, i]), float(output[PLANES, i]))
        if all(k[0] != row[0] or oriented_iou(k[1:], row[1:]) <= OVERLAP for k in rows):
            rows.append(row)
    return rows


def pairs(found, truth, overlap):
    """Return the indices of detections, best first, each with the object that it matches."""
    taken, out = set(), []
    for i, row in enumerate(found):
        free = [(overlap(row, other), j) for j, other in enumerate(truth)
                if j not in taken and other[0] == row[0]]
        best = max(free, default=(0, -1))
        if best[0] > MATCH:
            taken.add(best[1])
            out.append((i, best[1]))
    return out


def upright(row, other):
    """Return the overlap of two rows class, x1, y1, x2, y2."""
    return float(iou(row[1:], other[None, 1:])[0])


class Measures:
    """Counts and errors over scenes."""

    def __init__(self):
        self.counts = {task: np.zeros(3, int) for task in TASKS}
        self.lists = {name: [] for name in ("mask IoU", "oriented IoU", "angle error, degrees",
                                            "point error, pixels", "visibility right")}

    def count(self, task, found, truth, overlap):
        """Return pairs of detections and drawn objects."""
        matched = pairs(found, truth, overlap)
        self.counts[task] += (len(matched), len(found), len(truth))
        return matched

    def add(self, outputs, objects):
        """Add one scene."""
        truth = box_rows(objects)
        output, prototypes = outputs["seg"]
        rows, points = decode(output, SCORE, OVERLAP)
        masks = masks_of(rows, points, output, prototypes)
        for i, j in self.count("seg", rows, truth, upright):
            drawn = objects[j].mask > 127
            either = max((masks[i] | drawn).sum(), 1)
            self.lists["mask IoU"].append((masks[i] & drawn).sum() / either)
        oriented = oriented_rows(outputs["obb"][0])
        drawn = [(o.kind, *o.oriented) for o in objects]
        for i, j in self.count("obb", oriented, drawn, lambda a, b: oriented_iou(a[1:], b[1:])):
            self.lists["oriented IoU"].append(oriented_iou(oriented[i][1:], drawn[j][1:]))
            if CLASSES[drawn[j][0]] not in ("circle", "ring"):
                apart = abs(math.degrees(oriented[i][5] - drawn[j][5]))
                self.lists["angle error, degrees"].append(apart)
        self.add_points(outputs["pose"][0], objects, truth)

    def add_points(self, output, objects, truth):
        """Add the keypoints of a scene."""
        rows, points = decode(output, SCORE, OVERLAP)
        for i, j in self.count("pose", rows, truth, upright):
            found = output[PLANES:, points[i]].reshape(POINTS, 3)
            drawn = objects[j].points
            seen = drawn[:, 2] == SEEN
            apart = np.hypot(*(found[seen, :2] - drawn[seen, :2]).T)
            self.lists["point error, pixels"] += list(apart)
            there = drawn[:, 2] != NO_POINT
            self.lists["visibility right"] += list((found[:, 2] > 0.5) == (seen & there))

    def show(self):
        """Print all results."""
        for task, (matched, found, truth) in self.counts.items():
            print(f"{task}: precision {matched / max(1, found):.3f}, "
                  f"recall {matched / max(1, truth):.3f}")
        for name, values in self.lists.items():
            print(f"{name}: mean {np.mean(values):.3f}, median {np.median(values):.3f}")


def draw(image, outputs):
    """Return three copies of a picture: with masks, oriented boxes, keypoints."""
    masked, oriented = image.copy(), image.copy()
    output, prototypes = outputs["seg"]
    rows, points = decode(output, SCORE, OVERLAP)
    for i, mask in enumerate(masks_of(rows, points, output, prototypes)):
        masked[mask] = masked[mask] // 2 + np.array(COLOURS[i % 5], np.uint8) // 2
    for row in oriented_rows(outputs["obb"][0]):
        corners = cv2.boxPoints((row[1:3], row[3:5], math.degrees(row[5])))
        cv2.polylines(oriented, [np.round(corners).astype(int)], True, (255, 255, 255), 1,
                      cv2.LINE_AA)
    posed, output = image.copy(), outputs["pose"][0]
    rows_posed, points = decode(output, SCORE, OVERLAP)
    for point in points:
        for number, (x, y, seen) in enumerate(output[PLANES:, point].reshape(POINTS, 3)):
            if seen > 0.5:
                cv2.circle(posed, (round(float(x)), round(float(y))), 3, COLOURS[number], -1)
    return np.concatenate([draw_boxes(masked, rows), oriented, draw_boxes(posed, rows_posed)], 1)


def write(path, pictures):
    """Write pictures in rows of two."""
    rows = [np.concatenate(pictures[i:i + 2], 1) for i in range(0, len(pictures), 2)]
    cv2.imwrite(str(path), np.concatenate(rows, 0)[..., ::-1])


def report(folder, path):
    """Print the accuracy of a folder's models on fresh scenes, and write a picture of some."""
    rng, models = np.random.default_rng(12345), open_models(folder)
    pictures, measures = [], Measures()
    for index in range(SCENES):
        image, objects = draw_objects(rng, max_turn=WIDE_TURN)
        outputs = run(models, image)
        measures.add(outputs, objects)
        if index < SHOWN:
            pictures.append(draw(image, outputs))
    measures.show()
    write(path, pictures)


def record(folder, outputs):
    """Write the tensors of a frame as raw float16."""
    for task, tensors in outputs.items():
        for tensor, name in zip(tensors, ("", "-protos")):
            tensor.astype(np.float16).tofile(folder / f"shapes-{task}{name}.f16.raw")


def main():
    """Measure, or draw the results for a frame."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path, help="folder with shapes-seg.onnx and others")
    parser.add_argument("out", type=pathlib.Path, help="picture to write")
    parser.add_argument("--clip", type=pathlib.Path, help="do not measure: use a frame of this")
    parser.add_argument("--frame", type=int, default=0, help="number of the frame, from 0")
    parser.add_argument("--record", type=pathlib.Path, metavar="FOLDER",
                        help="with --clip: write the frame's tensors here")
    args = parser.parse_args()
    if not args.clip:
        report(args.folder, args.out)
        return
    image = next(itertools.islice(decoded(args.clip, SIZE), args.frame, None))
    outputs = run(open_models(args.folder), image)
    write(args.out, [draw(image, outputs)])
    if args.record:
        record(args.record, outputs)


if __name__ == "__main__":
    main()
