# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes frames and their truth: PNG, COCO, DOTA and MOTChallenge."""
import json

import numpy as np

from .actors import CLASSES
from .graphics import cairo
from .people import KEYPOINTS
from .canvas import pixels_of

SKELETON = ((16, 14), (14, 12), (17, 15), (15, 13), (12, 13), (6, 12), (7, 13), (6, 7), (6, 8),
            (7, 9), (8, 10), (9, 11), (2, 3), (1, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5, 7))


def write_png(path, image):
    """Write an RGB image, height x width x 3."""
    surface = cairo.ImageSurface(cairo.FORMAT_RGB24, image.shape[1], image.shape[0])
    pixels_of(surface, 4)[:, :, :3] = image[:, :, ::-1]
    surface.mark_dirty()
    surface.write_to_png(str(path))


def run_lengths(mask, box, height, width):
    """Return COCO's uncompressed run lengths, column by column, of a mask that fills a box."""
    x1, y1, x2, y2 = box
    flat = np.zeros((x2 - x1, height), bool)
    flat[:, y1:y2] = mask.T
    flat = flat.ravel()
    ends = np.flatnonzero(np.diff(flat)) + 1
    marks = np.concatenate([[0], ends, [len(flat)]])
    lengths = np.diff(marks).tolist()
    if flat[0]:
        lengths = [0] + lengths
    lengths[0] += x1 * height
    rest = (width - x2) * height
    if len(lengths) % 2:    # the last run is outside of the object
        lengths[-1] += rest
    elif rest:
        lengths.append(rest)
    return {"size": [height, width], "counts": lengths}


class Coco:
    """Collects frames as a COCO data set."""

    def __init__(self):
        self.images, self.annotations = [], []

    def add(self, name, frame):
        """Add a frame whose image is in a file of this name."""
        height, width = frame.image.shape[:2]
        self.images.append({"id": len(self.images) + 1, "file_name": name, "width": width,
                            "height": height})
        for truth in frame.objects:
            self.annotations.append(self.annotation(truth, height, width))

    def annotation(self, truth, height, width):
        """Return an object's annotation; attributes hold what COCO has no field for."""
        x1, y1, x2, y2 = truth.box
        out = {"id": len(self.annotations) + 1, "image_id": len(self.images),
               "category_id": CLASSES.index(truth.kind) + 1, "iscrowd": 0,
               "bbox": [x1, y1, x2 - x1, y2 - y1], "area": int(truth.mask.sum()),
               "segmentation": run_lengths(truth.mask, truth.box, height, width),
               "attributes": {"track_id": truth.identity, "visibility": round(truth.visible, 3),
                              "full": [round(v, 2) for v in truth.full]}}
        if truth.keypoints is not None:
            out["keypoints"] = [round(float(v), 2) for v in truth.keypoints.ravel()]
            out["num_keypoints"] = int((truth.keypoints[:, 2] > 0).sum())
        if truth.colour:
            out["attributes"]["colour"] = truth.colour
        if truth.plate is not None:
            corners = [[round(float(v), 2) for v in corner] for corner in truth.plate]
            out["attributes"].update(plate=truth.text, plate_corners=corners)
        return out

    def write(self, path):
        """Write the data set."""
        categories = [{"id": i + 1, "name": name, "supercategory": "town"}
                      for i, name in enumerate(CLASSES)]
        categories[0].update(keypoints=list(KEYPOINTS), skeleton=[list(pair) for pair in SKELETON])
        path.write_text(json.dumps({"info": {"description": "keepbox drawn world"},
                                    "images": self.images, "annotations": self.annotations,
                                    "categories": categories}), encoding="utf-8")


def corners_of(oriented):
    """Return the corners of an oriented box cx, cy, width, height, radians, clockwise."""
    cx, cy, wide, high, angle = oriented
    along = np.array((np.cos(angle), np.sin(angle))) * wide / 2
    across = np.array((-np.sin(angle), np.cos(angle))) * high / 2
    return [np.array((cx, cy)) + a * along + b * across
            for a, b in ((-1, -1), (1, -1), (1, 1), (-1, 1))]


def write_dota(path, frame):
    """Write a frame's oriented boxes as a label file of DOTA; hardly visible ones are difficult."""
    lines = []
    for truth in frame.objects:
        x1, y1, x2, y2 = truth.box
        corners = corners_of(truth.oriented) if truth.oriented else [(x1, y1), (x2, y1), (x2, y2),
                                                                 (x1, y2)]
        places = " ".join(f"{v:.1f}" for corner in corners for v in corner)
        lines.append(f"{places} {truth.kind} {int(truth.visible < 0.3)}\n")
    path.write_text("".join(lines), encoding="utf-8")


class Mot:
    """Collects frames as a sequence of MOTChallenge."""

    def __init__(self):
        self.lines, self.frames, self.size = [], 0, (0, 0)

    def add(self, frame):
        """Add the next frame."""
        self.frames += 1
        self.size = frame.image.shape[1::-1]
        for truth in frame.objects:
            x1, y1, x2, y2 = truth.box
            self.lines.append(f"{self.frames},{truth.identity},{x1},{y1},{x2 - x1},{y2 - y1},1,"
                              f"{CLASSES.index(truth.kind) + 1},{truth.visible:.3f}\n")

    def write(self, folder, name, rate):
        """Write gt/gt.txt and seqinfo.ini."""
        (folder / "gt").mkdir(parents=True, exist_ok=True)
        (folder / "gt" / "gt.txt").write_text("".join(self.lines), encoding="utf-8")
        wide, high = self.size
        (folder / "seqinfo.ini").write_text(
            f"[Sequence]\nname={name}\nimDir=img1\nframeRate={rate}\nseqLength={self.frames}\n"
            f"imWidth={wide}\nimHeight={high}\nimExt=.png\n", encoding="utf-8")
