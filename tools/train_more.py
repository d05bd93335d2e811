#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Train a model of the drawn shapes' masks, oriented boxes and keypoints, and export it as three.

It writes, in the output folder:

  shapes-seg.onnx        boxes, scores and mask coefficients, and the masks' prototypes
  shapes-obb.onnx        oriented boxes and scores, with the angle last
  shapes-pose.onnx       boxes, scores and keypoints
  *.onnx.modelinfo       tensor ids and the input's range (read by GStreamer 1.28)
  shapes.labels          class names, one per line
  shapes-more.pt         all weights, for PyTorch
  more.png               some scenes with detections of all three

They share a backbone, boxes and scores, and are exported separately, each in the layout of YOLOv8's
exports. pipelines/models/README.md describes it.

It needs torch, onnx, onnxruntime, numpy and OpenCV; a GPU helps, and so do many CPU cores, which
draw scenes.
"""
import math

import needed

needed.modules(__doc__, "cv2", "numpy", "onnx", "onnxruntime", "torch")
import torch  # noqa: E402
from torch import nn  # noqa: E402
from torch.nn import functional as F

import measure_more
from shapes_export import export
from shapes_net import (BOX, MASK_STRIDE, ORIENTED, STRIDES, TIPS, Net, arguments, box_losses,
                        separable, train)
from shapes_scene import NO_POINT, POINTS, SEEN, SIZE, WIDE_TURN

PROTOTYPES = 16
ANGLES = math.pi / 2      # from -45 to 45 degrees
MASKS_A_STEP = 1024       # points per step whose masks are learned: more cost memory without gain
MARGIN = 2 * MASK_STRIDE  # margin in pixels around a box in which its mask is learned
# The exports: group, output tensors.
MODELS = {
    "seg": ("yolo-v8-segmentation-out", ["yolo-v8-segmentation-out-detections",
                                         "yolo-v8-segmentation-out-protos"]),
    "obb": ("yolo-v8-obb-out", ["yolo-v8-obb-out"]),
    "pose": ("yolo-v8-pose-out", ["yolo-v8-pose-out"]),
}


class MoreNet(Net):
    """The detector with three more heads: mask coefficients, oriented boxes, keypoints."""

    def __init__(self):
        super().__init__()
        numbers = {"seg": PROTOTYPES, "obb": 5, "pose": 3 * POINTS}
        self.more = nn.ModuleDict({
            task: nn.ModuleList([nn.Sequential(separable(48, 48), nn.Conv2d(48, count, 1))
                                 for _ in STRIDES]) for task, count in numbers.items()})
        self.fine, self.coarse = nn.Conv2d(24, 32, 1), nn.Conv2d(48, 32, 1)
        self.prototypes = nn.Sequential(separable(32, 32), separable(32, 32),
                                        nn.Conv2d(32, PROTOTYPES, 1))

    def levels(self, task, heads):
        """Return a task's planes and the points' centres, level by level."""
        for i, (head, more, stride) in enumerate(zip(heads, self.more[task], STRIDES)):
            yield more(head).flatten(2), self.points(i), stride

    def masks(self, stem, features, heads):
        """Return coefficients, PROTOTYPES planes of points, and prototypes of stride
        MASK_STRIDE."""
        coefficients = [planes for planes, _, _ in self.levels("seg", heads)]
        coarse = F.interpolate(self.coarse(features[0]), scale_factor=2.0, mode="nearest")
        return torch.cat(coefficients, 2), self.prototypes(self.fine(stem) + coarse)

    def oriented(self, heads):
        """Return planes cx, cy, width, height and angle."""
        levels = []
        for planes, points, stride in self.levels("obb", heads):
            levels.append(torch.cat([points + planes[:, :2] * stride,
                                     F.softplus(planes[:, 2:4]) * (3 * stride),
                                     (planes[:, 4:].sigmoid() - 0.5) * ANGLES], 1))
        return torch.cat(levels, 2)

    def tips(self, heads):
        """Return planes x, y and visibility (before the sigmoid), for each of POINTS."""
        levels = []
        for planes, points, stride in self.levels("pose", heads):
            planes = planes.unflatten(1, (POINTS, 3))
            places = points.unsqueeze(1) + planes[:, :, :2] * (2 * stride)
            levels.append(torch.cat([places, planes[:, :, 2:]], 2))
        return torch.cat(levels, 3)

    def forward(self, image):
        """Return everything for training: boxes, coefficients, prototypes, oriented boxes,
        keypoints."""
        stem, features = self.features(image)
        heads = [head(f) for f, head in zip(features, self.head)]
        return self.boxes(heads), *self.masks(stem, features, heads), self.oriented(heads), \
            self.tips(heads)


class Part(nn.Module):
    """The part of a net that is exported for one task."""

    def __init__(self, net, task):
        super().__init__()
        self.net, self.task = net, task

    def forward(self, image):
        """Return the task's tensors, for RGB images of 0..255."""
        boxes, coefficients, prototypes, oriented, tips = self.net(image)
        if self.task == "seg":
            return torch.cat([boxes, coefficients], 1), prototypes
        if self.task == "obb":
            return torch.cat([oriented[:, :4], boxes[:, 4:], oriented[:, 4:]], 1)
        tips = torch.cat([tips[:, :, :2], tips[:, :, 2:].sigmoid()], 2)
        return torch.cat([boxes, tips.flatten(1, 2)], 1)


# --- losses; of each, rows are the points that learn an object -----------------------------------

def mask_loss(coefficients, prototypes, scenes, boxes, masks):
    """Return the cross entropy of the masks within their boxes and a margin."""
    made = torch.einsum("np,nphw->nhw", coefficients, prototypes[scenes])
    rows, columns = ((torch.arange(count, device=made.device) + 0.5) * MASK_STRIDE
                     for count in masks.shape[1:])
    reach = boxes[:, 2:] / 2 + MARGIN
    across = (columns - boxes[:, :1]).abs() < reach[:, :1]
    down = (rows - boxes[:, 1:2]).abs() < reach[:, 1:]
    within = (down[:, :, None] & across[:, None, :]).float()
    entropy = F.binary_cross_entropy_with_logits(made, masks.float() / 255, reduction="none")
    return ((entropy * within).sum((1, 2)) / within.sum((1, 2))).mean()


def oriented_losses(found, wanted):
    """Return errors of positions and sides, relative to the box's side, and of the angle, in
    radians."""
    side = (wanted[:, 2] * wanted[:, 3]).sqrt()[:, None]
    apart = (found[:, :4] - wanted[:, :4]).abs() / side
    return apart.sum(1).mean(), (found[:, 4] - wanted[:, 4]).abs().mean()


def tip_losses(found, wanted, side):
    """Return errors of keypoints, relative to the object's side, and the entropy of their
    visibility."""
    there = wanted[:, :, 2] != NO_POINT
    apart = (found[:, :, :2] - wanted[:, :, :2]).abs().sum(2) / side[:, None]
    seen = F.binary_cross_entropy_with_logits(found[:, :, 2], (wanted[:, :, 2] == SEEN).float())
    return apart[there].mean(), seen


def losses(net, images, which, objects, masks):
    """Return the loss of a batch, and its parts."""
    boxes, coefficients, prototypes, oriented, tips = net(images)
    scenes, points = torch.nonzero(which >= 0, as_tuple=True)
    index = which[scenes, points]
    mine = objects[scenes, index]
    score_loss, box_loss, parts = box_losses(boxes, which, mine)
    some = torch.randperm(len(scenes), device=which.device)[:MASKS_A_STEP]
    part, place = scenes[some], points[some]
    masked = mask_loss(coefficients[part, :, place], prototypes, part,
                       mine[some, BOX], masks[part, index[some]])
    boxed, angle = oriented_losses(oriented[scenes, :, points], mine[:, ORIENTED])
    side = (mine[:, 7] * mine[:, 8]).sqrt()
    tipped, seen = tip_losses(tips[scenes, :, :, points], mine[:, TIPS].unflatten(1, (POINTS, 3)),
                              side)
    loss = 2 * score_loss + 2 * box_loss + masked + boxed + 2 * angle + tipped + 0.5 * seen
    return loss, {"scores": score_loss, "boxes": box_loss, "masks": masked, "oriented": boxed,
                  "angle": angle, "points": tipped, "seen": seen, **parts}


def main():
    """Train, export, report."""
    args = arguments(__doc__)
    net = train(MoreNet(), losses, args, WIDE_TURN)
    for task, (group, names) in MODELS.items():
        export(Part(net, task).eval(), args.out / f"shapes-{task}.onnx", group, names)
    torch.save(net.state_dict(), args.out / "shapes-more.pt")
    measure_more.report(args.out, args.out / "more.png")


if __name__ == "__main__":
    main()
