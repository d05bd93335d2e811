#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measure the models of the drawn world on scenes that they were not trained on.

It prints precision and recall of boxes, errors of masks, keypoints and oriented boxes, and how many
plates and vehicles are read rightly. With --look it writes pictures of what is found. It needs
onnxruntime, numpy, OpenCV and pycairo or cairocffi.
"""
import argparse
import pathlib

import needed

needed.modules(__doc__, "cv2", "numpy", "onnxruntime")
import cv2  # noqa: E402
import numpy as np  # noqa: E402

from world import samples  # noqa: E402
from world.actors import LABEL  # noqa: E402
from world.street import Street  # noqa: E402
from world.truth import SEEN  # noqa: E402
from world.evaluated import Average  # noqa: E402
from world.look import draw  # noqa: E402
from world.measure_others import (measure_crops, measure_crossing,  # noqa: E402
                                  measure_reading)
from world.measured import (FRAMES_A_SCENE, LARGE, MATCH, ious, kept, run, scenes,  # noqa: E402
                            session, settings)

SIZES = (24, 48, 96)    # of the longer side, in tables
WEAK = 0.05             # minimum score of the boxes of an average precision
CLEAR = 0.4             # visible part of the objects that have to be found


class Count:
    """Matches of boxes with objects."""

    def __init__(self, min_side=LARGE):
        self.found, self.right, self.there, self.met, self.overlaps = 0, 0, 0, 0, []
        self.min_side = min_side

    def add(self, boxes, labels, objects):
        """Match boxes, best first; objects are (box, label, counts) with those not to be counted.

        Return pairs of indices.
        """
        there = np.array([o[0] for o in objects], float).reshape(-1, 4)
        taken, pairs = set(), []
        self.there += sum(o[2] for o in objects)
        for i, (box, label) in enumerate(zip(boxes, labels)):
            overlap = ious(box, there)
            able = [j for j in np.argsort(-overlap) if overlap[j] > MATCH and j not in taken]
            same = [j for j in able if objects[j][1] == label]
            if same:
                j = max(same, key=lambda j: (objects[j][2], overlap[j]))
                taken.add(j)
                if objects[j][2]:
                    self.found, self.right, self.met = self.found + 1, self.right + 1, self.met + 1
                    self.overlaps.append(overlap[j])
                pairs.append((i, j))
            elif (box[2:] - box[:2]).max() > self.min_side / 2 and all(objects[j][2] for j in able):
                self.found += 1
        return pairs

    def text(self):
        """Return precision, recall and the mean IoU of matches."""
        return (f"precision {self.right / max(1, self.found):.3f}, "
                f"recall {self.met / max(1, self.there):.3f}, "
                f"IoU {np.mean(self.overlaps or [0]):.3f} ({self.there} objects)")


def to_input(box, scale):
    """Return a box of a frame in input pixels."""
    return np.array(box, float) * scale + (0, samples.BORDER) * (len(box) // 2)


def objects_of(frame, scale, min_side=LARGE):
    """Return a frame's objects as (box, label, whether they have to be found), with plates.

    min_side: longer side in pixels of the frame.
    """
    out = []
    for truth in frame.objects:
        x1, y1, x2, y2 = truth.box
        large = max(x2 - x1, y2 - y1) > min_side and truth.visible > CLEAR
        out.append((to_input(truth.box, scale), LABEL[truth.kind], bool(large)))
    for truth in frame.objects:
        if truth.plate is not None:
            high = np.linalg.norm(truth.plate[3] - truth.plate[0])
            box = to_input((*truth.plate.min(0), *truth.plate.max(0)), scale)
            out.append((box, samples.PLATE, bool(high > 10 and min_side == LARGE)))
    return out


def measure_street(folder, count, look, standard):
    """Measure the street's three models."""
    models = {task: session(folder / f"world-street{end}.onnx")
              for task, end in (("detect", ""), ("segment", "-seg"), ("pose", "-pose"))}
    sizes, each = {n: Count(n) for n in SIZES}, {name: Count() for name in samples.NAMES}
    masks, points, bodies, average = [], [], Count(), Average(samples.NAMES)
    for number, frame in enumerate(scenes(Street, count, 0, standard)):
        image, scale = samples.fitted(frame.image)
        objects = objects_of(frame, scale)
        output = run(models["detect"], [image])[0][0]
        average.add(*kept(output, len(samples.NAMES), WEAK)[:3], objects)
        boxes, labels, scores, _ = kept(output, len(samples.NAMES))
        for min_side, counted in sizes.items():
            counted.add(boxes, labels, objects_of(frame, scale, min_side))
        for label, name in enumerate(samples.NAMES):
            each[name].add(boxes[labels == label], labels[labels == label],
                           [o for o in objects if o[1] == label])
        masks += measure_masks(models["segment"], image, frame, objects, scale)
        points += measure_points(models["pose"], image, frame, objects, scale, bodies)
        if look and number % FRAMES_A_SCENE == 0:
            draw(look / f"street-{number:03}.png", frame.image, boxes, labels, scores, scale)
    for min_side, counted in sizes.items():
        print(f"above {min_side} pixels:", counted.text())
    print("above 24 pixels:", average.text())
    for name, counted in each.items():
        print(f"{name:10}", counted.text())
    for min_side in SIZES:
        values = [value for size, value in masks if size > min_side]
        print(f"masks above {min_side} pixels: IoU {np.mean(values):.3f}, "
              f"median {np.median(values):.3f} ({len(values)} objects)")
    print("people with keypoints:", bodies.text())
    for min_side in SIZES:
        values = [100 * value for high, value in points if high > min_side]
        print(f"visible keypoints above {min_side} pixels: {np.mean(values):.1f} % of the height, "
              f"median {np.median(values):.1f} % ({len(values)} points)")


def measure_masks(model, image, frame, objects, scale):
    """Return the objects' longer sides, and the IoU of their masks with the drawn ones."""
    output, prototypes = (out[0] for out in run(model, [image]))
    classes, values = len(samples.CLASSES), []
    boxes, labels, _, at = kept(output, classes)
    plain = [o for o in objects if o[1] != samples.PLATE]
    for i, j in Count().add(boxes, labels, plain):
        if not plain[j][2]:
            continue
        made = np.tensordot(output[4 + classes:, at[i]], prototypes, 1)
        large = cv2.resize(made, samples.SIZE, interpolation=cv2.INTER_LINEAR) > 0
        x1, y1, x2, y2 = np.clip(np.round(boxes[i]).astype(int), 0, (*samples.SIZE, *samples.SIZE))
        cut = np.zeros(large.shape, bool)
        cut[y1:y2, x1:x2] = large[y1:y2, x1:x2]
        truth, drawn = frame.objects[j], np.zeros(frame.image.shape[:2], np.float32)
        drawn[truth.box[1]:truth.box[3], truth.box[0]:truth.box[2]] = truth.mask
        small = cv2.resize(drawn, None, fx=scale, fy=scale, interpolation=cv2.INTER_AREA) > 0.5
        whole = np.zeros(large.shape, bool)
        whole[samples.BORDER:-samples.BORDER] = small
        size = max(truth.box[2] - truth.box[0], truth.box[3] - truth.box[1])
        values.append((size, (cut & whole).sum() / max(1, (cut | whole).sum())))
    return values


def measure_points(model, image, frame, objects, scale, bodies):
    """Return people's heights, and errors of their visible keypoints relative to them."""
    output = run(model, [image])[0][0]
    boxes, labels, _, at = kept(output, 1)
    people = [o if o[1] == 0 else (o[0], o[1], False) for o in objects]
    values = []
    for i, j in bodies.add(boxes, labels, people):
        if not people[j][2] or people[j][1] != 0:
            continue
        truth = frame.objects[j]
        found = output[5:, at[i]].reshape(samples.POINTS, 3)[:, :2]
        seen = truth.keypoints[:, 2] == SEEN
        apart = (found - (0, samples.BORDER)) / scale - truth.keypoints[:, :2]
        high = truth.full[3] - truth.full[1]
        values += [(high, error / high) for error in np.hypot(*apart[seen].T)]
    return values


def main():
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=pathlib.Path,
                        help="folder with world-street.onnx and others")
    parser.add_argument("--frames", type=int, default=150, help="frames of each scene")
    parser.add_argument("--standard", action="store_true",
                        help="only with the cameras of the project's clips")
    parser.add_argument("--score", type=float, default=settings.score, help="minimum score")
    parser.add_argument("--look", type=pathlib.Path, metavar="FOLDER",
                        help="write pictures of what is found")
    args = parser.parse_args(namespace=settings)
    if args.look:
        args.look.mkdir(parents=True, exist_ok=True)
    measure_street(args.folder, args.frames, args.look, args.standard)
    measure_crossing(args.folder, args.frames, args.look, args.standard)
    measure_crops(args.folder, args.frames * 4)
    measure_reading(args.folder, args.frames, args.standard)


if __name__ == "__main__":
    main()
