# SPDX-License-Identifier: LGPL-2.1-or-later
"""Losses of the detectors: those of the drawn shapes' models, and what those lack."""
import torch
from torch.nn import functional as F

from shapes_net import BOX, CLASS, TURNED, box_losses
from train_more import mask_loss

from . import samples
from .truth import SEEN

MASKS_A_STEP = 768    # points per step whose masks are learned
PERSON = samples.CLASSES.index("person")


def keypoint_losses(found, wanted, side):
    """Return the error of keypoints relative to the person's side, and their visibility's
    entropy."""
    there = (wanted[:, :, 2] > 0).float()
    weight = there * torch.where(wanted[:, :, 2] == SEEN, 1.0, 0.4)
    apart = (found[:, :, :2] - wanted[:, :, :2]).abs().sum(2) / side[:, None]
    seen = F.binary_cross_entropy_with_logits(found[:, :, 2], (wanted[:, :, 2] == SEEN).float())
    return (apart * weight).sum() / weight.sum().clamp(1), seen


def turned_losses(found, wanted):
    """Return errors of position and sides, relative to the box, and of the doubled angle."""
    side = wanted[:, 2:4].prod(1).sqrt()[:, None]
    place = (found[:, :2] - wanted[:, :2]).abs() / side
    sides = (found[:, 2:4].clamp(0.5).log() - wanted[:, 2:4].clamp(0.5).log()).abs()
    double = 2 * wanted[:, 4]
    target = torch.stack([double.cos(), double.sin()], 1)
    long = (wanted[:, 2] / wanted[:, 3].clamp(1)).clamp(1 / 3, 3)
    weight = (long.log().abs() + 0.15).clamp(max=1.0)
    angle = ((found[:, 4:] - target).abs().sum(1) * weight).mean()
    return place.sum(1).mean() + sides.sum(1).mean(), angle


def sample_masks(cells, scenes, index):
    """Return masks 0..255 of stride 4 of objects of a batch's maps."""
    own = (cells[scenes] == (index + 1)[:, None, None].to(cells.dtype)).float()
    return F.avg_pool2d(own[:, None], 2)[:, 0] * 255


def detector_loss(made, which, rows, cells):
    """Return the loss of a batch, and its parts.

    made: what a Detector returns. which: N x points, the row that each point learns. rows:
    N x MOST x ROW. cells: N x height x width, the number of the row's object in each cell.
    """
    scenes, points = torch.nonzero(which >= 0, as_tuple=True)
    index = which[scenes, points]
    mine = rows[scenes, index]
    scores, boxes, shown = box_losses(made["boxes"], which, mine)
    loss, parts = 1.5 * scores + 2.5 * boxes, {"scores": scores, "boxes": boxes, **shown}
    if "seg" in made:
        able = torch.nonzero(mine[:, CLASS] != samples.PLATE)[:, 0]
        some = able[torch.randperm(len(able), device=able.device)[:MASKS_A_STEP]]
        coefficients, prototypes = made["seg"]
        masks = sample_masks(cells, scenes[some], numbers(rows)[scenes[some], index[some]])
        parts["masks"] = mask_loss(coefficients[scenes[some], :, points[some]], prototypes,
                                   scenes[some], mine[some, BOX], masks)
        loss = loss + parts["masks"]
    if "pose" in made:
        people = torch.nonzero(mine[:, CLASS] == PERSON)[:, 0]
        side = (mine[people, 3] * mine[people, 4]).sqrt().clamp(4)
        found = made["pose"][scenes[people], :, :, points[people]]
        wanted = mine[people, samples.KEYPOINTS].unflatten(1, (samples.POINTS, 3))
        parts["points"], parts["seen"] = keypoint_losses(found, wanted, side)
        loss = loss + 1.5 * parts["points"] + 0.3 * parts["seen"]
    if "obb" in made:
        parts["turned"], parts["angle"] = turned_losses(made["obb"][scenes, :, points],
                                                        mine[:, TURNED])
        loss = loss + 1.5 * parts["turned"] + parts["angle"]
    return loss, parts


def numbers(rows):
    """Return the number of each row's object in the map of cells, from 0: plates have none."""
    plain = (rows[:, :, CLASS] != samples.PLATE).long()
    return plain.cumsum(1) - 1
