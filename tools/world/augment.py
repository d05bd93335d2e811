# SPDX-License-Identifier: LGPL-2.1-or-later
"""Varies samples on the device: size, place, left and right, light, sharpness and noise.

It needs torch.
"""
import functools

import torch
from torch.nn import functional as F

from . import samples
from .assign import corners

MIRRORED = (0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15)    # left and right
KEPT = 0.4       # part of a box that has to stay in the picture to be learned


@functools.cache
def constant(values, device):
    """Return a tuple of numbers on a device, where it stays."""
    return torch.tensor(values, device=device)


def views(count, device):
    """Return random maps of a picture, count x 2: factors and offsets from new x, y to old ones.

    Coordinates are -1..1. Half of the pictures keep their size, half are mirrored.
    """
    zoom = torch.exp(torch.rand(count, 1, device=device) * 0.55 - 0.27)
    zoom = zoom.masked_fill(torch.rand(count, 1, device=device) < 0.5, 1.0)
    slack = (1 - 1 / zoom).abs()
    offset = (torch.rand(count, 2, device=device) * 2 - 1) * slack
    turn = (torch.rand(count, 1, device=device) < 0.5) * 2.0 - 1
    return torch.cat([turn / zoom, 1 / zoom], 1), offset


def seen(x, factor, offset, mode):
    """Return planes N x C x H x W as maps of them show; 0 outside."""
    matrix = torch.stack([torch.stack([factor[:, 0], factor[:, 0] * 0, offset[:, 0]], 1),
                          torch.stack([factor[:, 1] * 0, factor[:, 1], offset[:, 1]], 1)], 1)
    return F.grid_sample(x, F.affine_grid(matrix, x.shape, align_corners=False), mode,
                         align_corners=False)


def placed(points, factor, offset):
    """Return input pixels N x ... x 2 at their new places."""
    size = constant(samples.SIZE, points.device)
    shape = (len(points),) + (1,) * (points.dim() - 2) + (2,)
    new = (2 * points / size - 1 - offset.view(shape)) / factor.view(shape)
    return (new + 1) / 2 * size


def placed_boxes(boxes, factor, offset):
    """Return boxes x1, y1, x2, y2 at their new places, cut at the edges, and the parts left."""
    ends = placed(boxes.unflatten(2, (2, 2)), factor, offset)
    low, high = torch.minimum(ends[:, :, 0], ends[:, :, 1]), torch.maximum(ends[:, :, 0],
                                                                           ends[:, :, 1])
    size = constant(samples.SIZE, boxes.device)
    cut_low, cut_high = torch.minimum(low.clamp(0), size), torch.minimum(high.clamp(0), size)
    part = (cut_high - cut_low).prod(2) / (high - low).prod(2).clamp(1e-3)
    return torch.cat([cut_low, cut_high], 2), part


def vary(batch):
    """Return a detector's batch in other sizes and places; pictures become planes of 0..1."""
    grey = samples.GREY / 255
    image = batch["image"].permute(0, 3, 1, 2).float() / 255 - grey
    rows, (factor, offset) = batch["rows"], views(len(image), image.device)
    image = seen(image, factor, offset, "bilinear") + grey
    cells = seen(batch["cells"][:, None].float(), factor, offset, "nearest")[:, 0]
    boxes, part = placed_boxes(corners(rows[:, :, samples.BOX]), factor, offset)
    there, size = rows[:, :, 3] > 0, boxes[:, :, 2:] - boxes[:, :, :2]
    kept = there & (part > KEPT) & (size.amax(2) > samples.SMALL)
    lost = boxes * (there & ~kept)[..., None]
    ignored = torch.cat([placed_boxes(batch["ignored"], factor, offset)[0], lost], 1)
    new = rows.clone()
    new[:, :, samples.BOX] = torch.cat([(boxes[..., :2] + boxes[..., 2:]) / 2, size], 2) \
        * kept[..., None]
    new[:, :, samples.ORIENTED] = placed_oriented(rows[:, :, samples.ORIENTED], factor, offset)
    points = rows[:, :, samples.KEYPOINTS].unflatten(2, (samples.POINTS, 3))
    mirrored = (factor[:, 0] < 0)[:, None, None, None]
    points = torch.where(mirrored, points.index_select(2, constant(MIRRORED, points.device)),
                         points)
    new[:, :, samples.KEYPOINTS] = placed_points(points, factor, offset).flatten(2)
    return {"image": lit(image), "rows": new, "cells": cells, "ignored": ignored}


def placed_oriented(oriented, factor, offset):
    """Return oriented boxes at their new places."""
    zoom = 1 / factor[:, 1].view(-1, 1, 1)
    angle = torch.where(factor[:, :1, None] < 0, torch.pi - oriented[..., 4:], oriented[..., 4:])
    centre = placed(oriented[..., :2], factor, offset)
    return torch.cat([centre, oriented[..., 2:4] * zoom, angle], 2)


def placed_points(points, factor, offset):
    """Return keypoints x, y, visibility at their new places; those outside are 0."""
    at = placed(points[..., :2], factor, offset)
    size = constant(samples.SIZE, points.device)
    there = (points[..., 2:] > 0) & ((at >= 0) & (at < size)).all(-1, keepdim=True)
    return torch.cat([at, points[..., 2:]], -1) * there


def lit(x):
    """Return inputs of 0..1 in other light, less sharp and with noise."""
    count, device = len(x), x.device

    def any_of(low, high):
        return torch.rand(count, 1, 1, 1, device=device) * (high - low) + low
    x = (x - 0.45) * any_of(0.85, 1.15) + 0.45 + any_of(-0.07, 0.07)
    x = x * (1 + (torch.rand(count, 3, 1, 1, device=device) - 0.5) * 0.08)
    soft = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
    x = x + (soft - x) * (any_of(0, 1) * (any_of(0, 1) < 0.4))
    x = x + torch.randn_like(x) * any_of(0, 0.025)
    return x.clamp(0, 1).contiguous(memory_format=torch.channels_last)


def as_input(images):
    """Return images N x height x width x 3 of 0..255 as varied inputs of 0..1."""
    return lit(images.permute(0, 3, 1, 2).float() / 255)


def moved(x, max_shift=0.07):
    """Return inputs that are moved, resized and sheared a little, each in its own way."""
    count, device = len(x), x.device
    small = (torch.rand(count, 2, 3, device=device) * 2 - 1) * max_shift
    small[:, 1, 0] *= 0.5    # a plate is wide: little rotation
    still = torch.tensor(((1.0, 0, 0), (0, 1.0, 0)), device=device)
    where = F.affine_grid(still + small, x.shape, align_corners=False)
    return F.grid_sample(x, where, padding_mode="border", align_corners=False)
