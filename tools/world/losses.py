# SPDX-License-Identifier: LGPL-2.1-or-later
"""Losses of the detectors. No size depends on values, so the device never waits for the host.

It needs torch.
"""
import torch
from torch.nn import functional as F

from shapes_net import BOX, CLASS, ORIENTED

from . import samples
from .assign import assign, corners, inside
from .truth import SEEN

MASKS = 24            # points per picture whose masks are learned
MASK_STRIDE = 4
MARGIN = 2 * MASK_STRIDE
PERSON = samples.CLASSES.index("person")


def detector_loss(made, batch, net):
    """Return the loss of a batch, and its parts.

    made: what a Detector returns. batch: rows N x M x ROW; cells N x height x width, the number of
    the row's object in each cell; ignored N x boxes x 4, where nothing is learned.
    """
    rows, points, strides = batch["rows"], net.points[0], net.strides[0, 0]
    logits, boxes = made["scores"], made["boxes"]
    which, wanted = assign(boxes.detach(), logits.detach().sigmoid(), rows, points, strides)
    row = which.clamp(0)
    mine = torch.gather(rows, 1, row[:, :, None].expand(-1, -1, ORIENTED.stop))
    learns, total = (which >= 0).float(), wanted.sum().clamp(1)
    free = inside(batch["ignored"], points).any(1) & (which < 0)
    scores = score_loss(logits, mine, wanted, free) / total
    overlap, miss = box_loss(boxes, mine)
    weight = wanted * learns
    parts = {"scores": scores, "boxes": (miss * weight).sum() / total,
             "IoU": (overlap * learns).sum() / learns.sum().clamp(1), "points": learns.sum()}
    loss = parts["scores"] + 4 * parts["boxes"]
    if "seg" in made:
        parts["masks"] = mask_loss(*made["seg"], which, mine, batch)
        loss = loss + parts["masks"]
    if "pose" in made:
        people = weight * (mine[:, :, CLASS] == PERSON)
        parts["keypoints"], parts["seen"] = keypoint_losses(made["pose"], rows, row, people)
        loss = loss + 10 * parts["keypoints"] + 0.2 * parts["seen"]
    if "obb" in made:
        truth = mine[:, :, ORIENTED]
        parts["oriented"], parts["angle"] = oriented_losses(made["obb"], truth, weight)
        loss = loss + 1.5 * parts["oriented"] + parts["angle"]
    return loss, parts


def score_loss(logits, mine, wanted, free):
    """Return the varifocal loss of the scores N x classes x P: wanted ones, and none elsewhere."""
    classes = torch.arange(logits.shape[1], device=logits.device)[:, None]
    target = (mine[:, None, :, CLASS] == classes) * wanted[:, None]
    weight = torch.where(target > 0, target, 0.75 * logits.detach().sigmoid() ** 2)
    entropy = F.binary_cross_entropy_with_logits(logits, target, reduction="none")
    return (entropy * weight * ~free[:, None]).sum()


def box_loss(boxes, mine):
    """Return the points' IoU, and 1 - generalised IoU with an error relative to the sides."""
    found, true = corners(boxes.transpose(1, 2)), corners(mine[:, :, BOX])
    low, high = torch.maximum(found[..., :2], true[..., :2]), torch.minimum(found[..., 2:],
                                                                            true[..., 2:])
    around = (torch.maximum(found[..., 2:], true[..., 2:])
              - torch.minimum(found[..., :2], true[..., :2])).prod(2).clamp(1e-3)
    both = (high - low).clamp(0).prod(2)
    either = (area(found) + area(true) - both).clamp(1e-3)
    overlap = both / either
    sides = mine[:, :, BOX][..., 2:].clamp(4)
    apart = ((found - true).abs().unflatten(2, (2, 2)) / sides[:, :, None]).clamp(max=2)
    return overlap.detach(), 1 - overlap + (around - either) / around + 0.25 * apart.sum((2, 3))


def area(boxes):
    """Return the areas of boxes x1, y1, x2, y2."""
    return (boxes[..., 2] - boxes[..., 0]) * (boxes[..., 3] - boxes[..., 1])


def keypoint_losses(found, rows, row, weight):
    """Return the error of keypoints relative to the person's height, and their visibility's
    entropy.

    found: N x keypoints x 3 x P. row: N x P, each point's row.
    """
    all_points = rows[:, :, samples.KEYPOINTS].transpose(1, 2)
    mine = torch.gather(all_points, 2, row[:, None].expand(-1, all_points.shape[1], -1))
    mine = mine.unflatten(1, (samples.POINTS, 3))
    there, sight = mine[:, :, 2] > 0, mine[:, :, 2] == SEEN
    y = mine[:, :, 1]
    high = (y.masked_fill(~there, -1e4).amax(1) - y.masked_fill(~there, 1e4).amin(1)).clamp(12)
    apart = (found[:, :, :2] - mine[:, :, :2]).abs().sum(2) / high[:, None]
    heed = (there * (sight * 0.7 + 0.3)) * weight[:, None]
    seen = F.binary_cross_entropy_with_logits(found[:, :, 2], sight.float(), reduction="none")
    return ((apart.clamp(max=3) * heed).sum() / heed.sum().clamp(1),
            (seen * weight[:, None]).sum() / (weight.sum() * samples.POINTS).clamp(1))


def oriented_losses(found, wanted, weight):
    """Return errors of position and sides, relative to the box, and of the doubled angle.

    found: N x 6 x P. wanted: N x P x 5.
    """
    found, total = found.transpose(1, 2), weight.sum().clamp(1)
    side = wanted[..., 2:4].clamp(1).prod(2).sqrt()[..., None]
    place = (found[..., :2] - wanted[..., :2]).abs() / side
    sides = (found[..., 2:4].clamp(0.5).log() - wanted[..., 2:4].clamp(0.5).log()).abs()
    double = 2 * wanted[..., 4]
    target = torch.stack([double.cos(), double.sin()], 2)
    long = (wanted[..., 2] / wanted[..., 3].clamp(1)).clamp(1 / 3, 3)
    heed = (long.clamp(1e-3).log().abs() + 0.15).clamp(max=1.0)
    apart = ((place + sides).sum(2).clamp(max=4) * weight).sum() / total
    return apart, ((found[..., 4:] - target).abs().sum(2) * heed * weight).sum() / total


def mask_loss(coefficients, prototypes, which, mine, batch):
    """Return the cross entropy of the masks of some points, within their boxes and a margin.

    Small objects count as much as large ones.
    """
    able = (which >= 0) & (mine[:, :, CLASS] != samples.PLATE)
    draw, at = (torch.rand_like(mine[:, :, 0]) * able).topk(MASKS, 1)
    picked = torch.gather(coefficients, 2, at[:, None].expand(-1, coefficients.shape[1], -1))
    high, wide = prototypes.shape[2:]
    made = (picked.transpose(1, 2) @ prototypes.flatten(2)).unflatten(2, (high, wide))
    number = torch.gather(numbers(batch["rows"]), 1, torch.gather(which.clamp(0), 1, at)) + 1
    own = (batch["cells"][:, None] == number[:, :, None, None]).float()
    own = F.avg_pool2d(own, MASK_STRIDE // samples.CELL)
    boxes = torch.gather(mine[:, :, BOX], 1, at[:, :, None].expand(-1, -1, 4))
    x, y = ((torch.arange(count, device=made.device) + 0.5) * MASK_STRIDE for count in (wide, high))
    reach = boxes[..., 2:] / 2 + MARGIN
    within = ((x - boxes[..., :1]).abs() < reach[..., :1])[:, :, None] \
        & ((y - boxes[..., 1:2]).abs() < reach[..., 1:])[..., None]
    entropy = F.binary_cross_entropy_with_logits(made, own, reduction="none") * within
    overlap = (made.sigmoid() * own * within).sum((2, 3))
    sizes = ((made.sigmoid() + own) * within).sum((2, 3))
    loss = entropy.sum((2, 3)) / within.sum((2, 3)).clamp(1) + 1 - (2 * overlap + 1) / (sizes + 1)
    heed = (draw > 0).float()
    return (loss * heed).sum() / heed.sum().clamp(1)


def numbers(rows):
    """Return the number of each row's object in the map of cells, from 0: plates have none."""
    plain = (rows[:, :, CLASS] != samples.PLATE).long()
    return plain.cumsum(1) - 1
