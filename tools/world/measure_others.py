# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures oriented boxes, and models of crops.

It needs onnxruntime and OpenCV.
"""
import cv2
import numpy as np

from . import samples
from .actors import LABEL
from .crossing import Crossing
from .look import draw_oriented
from .measured import (FRAMES_A_SCENE, HELD_OUT, LARGE, MATCH, OVERLAP, ious, kept, run, scenes,
                       session, settings)
from .street import Street

PLATES = ((9, 14), (14, 20), (20, 50))    # heights in pixels, in the table


def oriented_iou(a, b):
    """Return the IoU of two oriented boxes cx, cy, width, height, radians."""
    one, two = (((r[0], r[1]), (r[2], r[3]), np.degrees(r[4])) for r in (a, b))
    _, corners = cv2.rotatedRectangleIntersection(one, two)
    both = cv2.contourArea(cv2.convexHull(corners)) if corners is not None else 0.0
    return both / max(a[2] * a[3] + b[2] * b[3] - both, 1e-9)


def measure_crossing(folder, count, look, standard):
    """Measure the model of oriented boxes."""
    model, classes = session(folder / "world-crossing-obb.onnx"), len(samples.CLASSES)
    found = right = there = met = 0
    overlaps, angles = [], []
    for number, frame in enumerate(scenes(Crossing, count, 0, standard)):
        image, scale = samples.fitted(frame.image)
        rows = oriented_rows(run(model, [image])[0][0], classes)
        truths = [(*t.oriented, LABEL[t.kind], t.visible > 0.6 and max(t.oriented[2:4]) > LARGE)
                  for t in frame.objects]
        truths = [(t[0] * scale, t[1] * scale + samples.BORDER, t[2] * scale, t[3] * scale, *t[4:])
                  for t in truths]
        taken = set()
        there += sum(t[6] for t in truths)
        for row in rows:
            over = [(oriented_iou(row, t), j) for j, t in enumerate(truths)]
            able = sorted(((o, j) for o, j in over if o > MATCH and j not in taken), reverse=True)
            same = [(o, j) for o, j in able if truths[j][5] == row[5]]
            if same:
                over, j = same[0]
                taken.add(j)
                if truths[j][6]:
                    found, right, met = found + 1, right + 1, met + 1
                    overlaps.append(over)
                    if truths[j][5] != LABEL["person"]:
                        apart = abs(row[4] - truths[j][4]) % np.pi
                        angles.append(np.degrees(min(apart, np.pi - apart)))
            elif max(row[2:4]) > LARGE * scale and not any(not truths[j][6] for _, j in able):
                found += 1
        if look and number % FRAMES_A_SCENE == 0:
            draw_oriented(look / f"crossing-{number:03}.png", frame.image, rows, scale)
    print(f"oriented: precision {right / max(1, found):.3f}, recall {met / max(1, there):.3f}, IoU "
          f"{np.mean(overlaps):.3f}, angle {np.median(angles):.1f} degrees in the median, "
          f"{np.percentile(angles, 95):.1f} at 95 % ({there} objects)")


def oriented_rows(output, classes):
    """Return oriented boxes after NMS: cx, cy, width, height, radians, class."""
    best, label, left = output[4:4 + classes].max(0), output[4:4 + classes].argmax(0), []
    for i in sorted(np.flatnonzero(best > settings.score), key=lambda i: -best[i]):
        row = (*output[:4, i].tolist(), float(output[4 + classes, i]), int(label[i]), best[i])
        if all(k[5] != row[5] or abs(k[0] - row[0]) + abs(k[1] - row[1]) > 90
               or oriented_iou(k, row) <= OVERLAP for k in left):
            left.append(row)
    return left


def measure_crops(folder, count):
    """Measure the plate reader and the classifier."""
    kinds, plates = session(folder / "world-vehicles.onnx"), folder / "world-plates.onnx"
    reader = session(plates) if plates.exists() else None
    rng, read, colours, types = np.random.default_rng(HELD_OUT), [], [], []
    while len(types) < count:
        made = samples.portrait(rng)
        if made.plate is not None and reader:
            text = read_plate(run(reader, [made.plate])[0][0])
            wanted = "".join(samples.ALPHABET[i] for i in made.text)
            read.append((made.high, text == wanted))
        if made.vehicle is not None:
            colour, kind = run(kinds, [made.vehicle])
            colours.append(colour[0].argmax() == made.colour)
            types.append(kind[0].argmax() == made.kind)
    for minimum, maximum in PLATES:
        right = [done for high, done in read if minimum <= high < maximum]
        if right:
            print(f"plates of {minimum} to {maximum} pixels read: "
                  f"{np.mean(right):.3f} of {len(right)}")
    print(f"colours {np.mean(colours):.3f}, types {np.mean(types):.3f} of {len(types)}")


def measure_reading(folder, count, standard):
    """Measure how many plates of the street are found by one model and read by another."""
    finder, reader = (session(folder / f"world-{name}.onnx") for name in ("street", "plates"))
    found, read, there = 0, 0, 0
    for frame in scenes(Street, count, 500, standard):
        image, scale = samples.fitted(frame.image)
        boxes, labels, _, _ = kept(run(finder, [image])[0][0], len(samples.NAMES))
        boxes = (boxes[labels == samples.PLATE] - (0, samples.BORDER) * 2) / scale
        for truth in frame.objects:
            if truth.plate is None or \
                    np.linalg.norm(truth.plate[3] - truth.plate[0]) < PLATES[0][0]:
                continue
            there += 1
            overlap = ious(np.array((*truth.plate.min(0), *truth.plate.max(0))), boxes)
            if not len(overlap) or overlap.max() < MATCH:
                continue
            found += 1
            x1, y1, x2, y2 = np.clip(np.round(boxes[overlap.argmax()]), 0, None).astype(int)
            crop = cv2.resize(frame.image[y1:y2, x1:x2], samples.PLATE_SIZE)
            read += read_plate(run(reader, [crop])[0][0]) == truth.text
    print(f"plates of the street from {PLATES[0][0]} pixels on: {there}, found {found},"
          f" read {read}")


def read_plate(scores):
    """Return the text of a reader's output: the best letters, repeats and blanks left out."""
    best = scores.argmax(1)
    return "".join(samples.ALPHABET[i - 1] for i, before in zip(best, [0, *best[:-1]])
                   if i and i != before)
