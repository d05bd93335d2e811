#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measure by size how many people of the drawn square are found with and without tiles.

It runs the street's detector on the first frame of square.webm with gst-launch-1.0, and prints the
recall of people at an IoU of 0.5, in bands of their height in frame pixels. People of whom less
than 40 % is visible are left out. It needs numpy and pycairo or cairocffi.
"""
import argparse
import json
import pathlib
import subprocess

import needed

needed.modules(__doc__, "numpy")
import numpy as np  # noqa: E402

from world.square import Square  # noqa: E402

MEDIA = pathlib.Path(__file__).resolve().parent.parent / "pipelines"
CLEAR, MATCH = 0.4, 0.5             # visible part, and IoU
BANDS = (0, 16, 24, 32)         # heights; the last one is above all
SIZE = (3840, 2160)


def people():
    """Return the boxes of the frame's people: all, and whether they have to be found."""
    frame = Square(7, "day", size=SIZE, warm=2.0, standard=True).render()
    there = [truth for truth in frame.objects if truth.kind == "person"]
    return (np.array([truth.box for truth in there], float),
            np.array([truth.visible > CLEAR for truth in there]))


def found(words):
    """Return the boxes of people on the frame, best first."""
    line = ["gst-launch-1.0", "-q", "filesrc", f"location={MEDIA / 'media/square.webm'}", "!",
            "decodebin3", "!", "identity", "eos-after=2", "!", "videoconvert", "!", "tensorinfer",
            f"model-file={MEDIA / 'models/world-street.onnx'}", *words, "!", "boxdecode",
            "score-threshold=0.5", "iou-threshold=0.5", "max-detections=1000",
            "include-classes=person", "!", "boxsink"]
    done = subprocess.run(line, stdout=subprocess.PIPE, check=True)
    objects = sorted(json.loads(done.stdout.splitlines()[0])["objects"],
                     key=lambda each: -each["detection"]["confidence"])
    return np.array([[o["x"], o["y"], o["x"] + o["w"], o["y"] + o["h"]] for o in objects], float)


def ious(box, others):
    """Return the IoU of a box with others."""
    low, high = np.maximum(box[:2], others[:, :2]), np.minimum(box[2:], others[:, 2:])
    both = np.clip(high - low, 0, None).prod(1)
    return both / ((box[2:] - box[:2]).prod() + (others[:, 2:] - others[:, :2]).prod(1) - both)


def matched(boxes, there):
    """Return which of the people have a box; each box is taken for one of them at most."""
    met = np.zeros(len(there), bool)
    for box in boxes:
        overlap = np.where(met, 0, ious(box, there))
        if overlap.max() > MATCH:
            met[overlap.argmax()] = True
    return met


def main():
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("grids", nargs="*", default=["3x2", "4x3", "6x5"])
    grids = parser.parse_args().grids
    there, counts = people()
    heights = there[:, 3] - there[:, 1]
    bands = [counts & (heights >= low) & (heights < high)
             for low, high in zip(BANDS, (*BANDS[1:], np.inf))]
    names = [*(f"{low} to {high}" for low, high in zip(BANDS, BANDS[1:])), f"above {BANDS[-1]}"]
    print("| height in pixels |", " | ".join(names), "| boxes | right |")
    print("| people |", " | ".join(str(band.sum()) for band in bands), f"| | {counts.sum()} |")
    for words in ([], *([f"tiles={grid}+whole"] for grid in grids)):
        boxes = found(words)
        met = matched(boxes, there)
        print("|", " ".join(words) or "whole frame", "|",
              " | ".join(f"{met[band].sum() / max(1, band.sum()):.2f}" for band in bands),
              f"| {len(boxes)} | {(met & counts).sum()} |", flush=True)


main()
