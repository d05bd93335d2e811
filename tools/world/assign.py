# SPDX-License-Identifier: LGPL-2.1-or-later
"""Chooses the points that learn each object by what the network finds there now.

The method is the task-aligned assignment of TOOD (Feng et al., 2021), as YOLOv8 has it. No size
depends on values, so the device never waits for the host. It needs torch.
"""
import torch

from shapes_net import BOX, CLASS

TOP = 10                  # points per object, at most
SCORE, OVERLAP = 0.5, 5   # exponents of score and IoU in a point's rank
LEAST = 13.0              # sides of boxes, at least, when points are chosen
NEAR = 1e-5               # weight of the distance from the centre, which decides at first


def corners(boxes):
    """Return boxes cx, cy, w, h in the last axis as x1, y1, x2, y2."""
    half = boxes[..., 2:] / 2
    return torch.cat([boxes[..., :2] - half, boxes[..., :2] + half], -1)


def overlaps(objects, found):
    """Return the IoU of objects N x M x 4 and found boxes N x P x 4: N x M x P."""
    one, two = objects[:, :, None], found[:, None]
    wide = (torch.minimum(one[..., 2], two[..., 2]) - torch.maximum(one[..., 0], two[..., 0]))
    high = (torch.minimum(one[..., 3], two[..., 3]) - torch.maximum(one[..., 1], two[..., 1]))
    both = wide.clamp(0) * high.clamp(0)
    areas = [(b[..., 2] - b[..., 0]) * (b[..., 3] - b[..., 1]) for b in (one, two)]
    return both / (areas[0] + areas[1] - both).clamp(1e-6)


def inside(boxes, points):
    """Return whether points 2 x P are inside of boxes N x M x 4: N x M x P."""
    x, y = points[0], points[1]
    return ((x > boxes[..., 0:1]) & (x < boxes[..., 2:3]) & (y > boxes[..., 1:2])
            & (y < boxes[..., 3:4]))


@torch.no_grad()
def assign(boxes, scores, rows, points, strides):
    """Return the row that each point learns (-1: none), N x P, and the score that it learns.

    boxes: N x 4 x P, cx, cy, w, h. scores: N x classes x P, 0..1. rows: N x M x columns; rows
    without width are empty. points: 2 x P. strides: P.
    """
    there = rows[:, :, 3] > 0
    middle = rows[:, :, BOX][..., :2]
    reach = torch.cat([middle, rows[:, :, BOX][..., 2:].clamp(LEAST)], 2)
    able = inside(corners(reach), points) & there[:, :, None]
    labels = rows[:, :, CLASS].long()
    overlap = overlaps(corners(rows[:, :, BOX]), corners(boxes.transpose(1, 2))) * able
    score = torch.gather(scores, 1, labels[:, :, None].expand(-1, -1, scores.shape[2]))
    rank = score ** SCORE * overlap ** OVERLAP
    away = (points[0] - middle[..., 0:1]) ** 2 + (points[1] - middle[..., 1:2]) ** 2
    order = (rank + NEAR * torch.exp(-away / strides ** 2)) * able
    best, places = order.topk(TOP, 2)
    chosen = torch.zeros_like(able).scatter_(2, places, best > 0)
    value, which = (overlap + 1e-6).masked_fill(~chosen, -1.0).max(1)
    which = which.masked_fill(value <= 0, -1)
    mine = which[:, None] == torch.arange(rows.shape[1], device=rows.device)[:, None]
    rank = rank * mine
    max_overlap = (overlap * mine).amax(2, keepdim=True).sqrt()
    wanted = (rank / rank.amax(2, keepdim=True).clamp(1e-9) * max_overlap * mine).sum(1)
    return which, wanted.clamp(0.02, 1) * (which >= 0)
