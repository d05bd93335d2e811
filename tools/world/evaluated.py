# SPDX-License-Identifier: LGPL-2.1-or-later
"""Average precision of boxes by pycocotools, where it is installed."""
import contextlib
import io

try:
    from pycocotools.coco import COCO
    from pycocotools.cocoeval import COCOeval
except ImportError:
    COCO = None


class Average:
    """Boxes of frames and the objects that are there, in the terms of COCO.

    Objects that need not be found are crowds.
    """

    def __init__(self, names):
        self.names, self.frames, self.truths, self.found = names, 0, [], []

    def add(self, boxes, labels, scores, objects):
        """Add a frame's boxes, and its objects as (box, label, whether it has to be found)."""
        self.frames += 1
        for box, label, counts in objects:
            wide, high = box[2:] - box[:2]
            self.truths.append({"id": len(self.truths) + 1, "image_id": self.frames,
                                "category_id": int(label), "iscrowd": int(not counts),
                                "area": float(wide * high),
                                "bbox": [float(v) for v in (*box[:2], wide, high)]})
        for box, label, score in zip(boxes, labels, scores):
            self.found.append({"image_id": self.frames, "category_id": int(label),
                               "bbox": [float(v) for v in (*box[:2], *(box[2:] - box[:2]))],
                               "score": float(score)})

    def text(self):
        """Return AP at IoU 0.5 to 0.95, and at 0.5; or that there is no pycocotools."""
        if COCO is None:
            return "AP: no pycocotools here"
        with contextlib.redirect_stdout(io.StringIO()):
            truth = COCO()
            truth.dataset = {"images": [{"id": i + 1} for i in range(self.frames)],
                             "annotations": self.truths,
                             "categories": [{"id": i, "name": n} for i, n in enumerate(self.names)]}
            truth.createIndex()
            made = COCOeval(truth, truth.loadRes(self.found), "bbox")
            made.evaluate()
            made.accumulate()
            made.summarize()
        return f"AP {made.stats[0]:.3f}, AP50 {made.stats[1]:.3f} (pycocotools)"
