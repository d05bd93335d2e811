# SPDX-License-Identifier: LGPL-2.1-or-later
"""Shared by the trainers of the demo's models: network, targets and training.

It needs torch, numpy and OpenCV."""
import argparse
import math
import pathlib
import random
import time

import cv2
import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from shapes_scene import CLASSES, MAX_TURN, MOST, POINTS, SIZE, draw_objects

STRIDES = (8, 16, 32)
# Ranges of the longer side, in pixels, of boxes learned at each stride; they overlap.
LEVEL_SIDES = ((0, 48), (40, 110), (90, 1e9))
BOX_UNIT = 1.5            # a box side's distance from its point: softplus of a plane, in strides
NEAR_CENTRE = (1.5, 0.2)  # a point learns boxes centred within so many strides, or part of a side
MASK_STRIDE = 4
LEARNING_RATE = 3e-3
REUSE = 3                 # drawing is slow: only one in so many steps has a fresh batch
# Columns of the row of an object.
CLASS, BOX, ORIENTED, TIPS = 0, slice(1, 5), slice(5, 10), slice(10, 10 + 3 * POINTS)


# --- the network ---------------------------------------------------------------------------------

def conv(inputs, outputs, stride=1):
    """A 3x3 convolution, batch norm and ReLU."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU(True))


def separable(inputs, outputs, stride=1):
    """A depthwise 3x3 convolution and a pointwise one, each with batch norm and ReLU."""
    return nn.Sequential(nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False),
                         nn.BatchNorm2d(inputs), nn.ReLU(True),
                         nn.Conv2d(inputs, outputs, 1, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU(True))


def grid(stride, height=SIZE, width=SIZE):
    """Return the centres of the points of one stride in input pixels, 1 x 2 x points."""
    y, x = torch.meshgrid(torch.arange(height // stride), torch.arange(width // stride),
                          indexing="ij")
    return (torch.stack([x, y], 0).reshape(1, 2, -1) + 0.5) * stride


class Net(nn.Module):
    """A small anchor-free detector with a feature pyramid of three levels."""

    def __init__(self, classes=len(CLASSES)):
        super().__init__()
        self.stem = nn.Sequential(conv(3, 12, 2), separable(12, 24, 2), separable(24, 24))
        self.p3 = nn.Sequential(separable(24, 48, 2), separable(48, 48), separable(48, 48))
        self.p4 = nn.Sequential(separable(48, 96, 2), separable(96, 96), separable(96, 96))
        self.p5 = nn.Sequential(separable(96, 96, 2), separable(96, 96), separable(96, 96))
        self.l4 = nn.Conv2d(96, 48, 1)
        self.l3 = nn.Conv2d(48, 48, 1)
        self.l5 = nn.Conv2d(96, 48, 1)
        self.head = nn.ModuleList([nn.Sequential(separable(48, 48), separable(48, 48))
                                   for _ in STRIDES])
        self.out = nn.ModuleList([nn.Conv2d(48, 4 + classes, 1) for _ in STRIDES])
        for out in self.out:
            out.bias.data[4:] = -4.6    # at first every score is about 0.01
            out.bias.data[:4] = 0.5
        for i, stride in enumerate(STRIDES):
            self.register_buffer(f"g{i}", grid(stride), persistent=False)

    def features(self, image):
        """Return the stem's planes, of stride 4, and each level's before its head."""
        stem = self.stem(image / 255.0)
        p3 = self.p3(stem)
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        f5 = self.l5(p5)
        f4 = self.l4(p4) + F.interpolate(f5, scale_factor=2.0, mode="nearest")
        f3 = self.l3(p3) + F.interpolate(f4, scale_factor=2.0, mode="nearest")
        return stem, (f3, f4, f5)

    def points(self, level):
        """Return the centres of a level's points, 1 x 2 x points."""
        return getattr(self, f"g{level}")

    def boxes(self, heads):
        """Return boxes and scores, 4 + classes planes, from the outputs of the levels' heads."""
        boxes, scores = [], []
        for i, (head, out, stride) in enumerate(zip(heads, self.out, STRIDES)):
            planes, points = out(head).flatten(2), self.points(i)
            sides = F.softplus(planes[:, :4]) * stride * BOX_UNIT
            low, high = points - sides[:, :2], points + sides[:, 2:]
            boxes.append(torch.cat([(low + high) / 2, high - low], 1))
            scores.append(planes[:, 4:])
        return torch.cat([torch.cat(boxes, 2), torch.cat(scores, 2).sigmoid()], 1)

    def forward(self, image):
        """Return boxes and scores of RGB images of 0..255."""
        _, features = self.features(image)
        return self.boxes([head(f) for f, head in zip(features, self.head)])


# --- targets -------------------------------------------------------------------------------------

def level_targets(boxes, points, stride, sides):
    """Return the box (-1: none) that each point of one level learns.

    It is the smallest box that contains the point, is centred near it, and whose longer side is in
    the level's range.
    """
    which, smallest = np.full(points.shape[1], -1, np.int64), np.full(points.shape[1], 1e9)
    strides, part = NEAR_CENTRE
    for index, (x1, y1, x2, y2) in enumerate(boxes):
        width, height = x2 - x1, y2 - y1
        if not sides[0] <= max(width, height) <= sides[1]:
            continue
        cx, cy, area = (x1 + x2) / 2, (y1 + y2) / 2, width * height
        near = ((np.abs(points[0] - cx) < max(strides * stride, part * width))
                & (np.abs(points[1] - cy) < max(strides * stride, part * height)))
        inside = ((points[0] > x1) & (points[0] < x2) & (points[1] > y1) & (points[1] < y2))
        learns = near & inside & (area < smallest)
        smallest[learns] = area
        which[learns] = index
    return which


def describe(objects):
    """Return a scene's objects as MOST rows, and their coverage of the cells of MASK_STRIDE,
    0..255."""
    rows = np.zeros((MOST, TIPS.stop), np.float32)
    masks = np.zeros((MOST, SIZE // MASK_STRIDE, SIZE // MASK_STRIDE), np.uint8)
    for i, found in enumerate(objects):
        x1, y1, x2, y2 = found.box
        box = ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1)
        rows[i] = (found.kind, *box, *found.oriented, *found.points.ravel())
        masks[i] = cv2.resize(found.mask, masks.shape[1:], interpolation=cv2.INTER_AREA)
    return rows, masks


class Scenes(torch.utils.data.IterableDataset):
    """Endless random scenes: picture, the object that each point learns, objects and masks."""

    def __init__(self, seed, max_turn):
        super().__init__()
        self.seed, self.max_turn = seed, max_turn

    def __iter__(self):
        cv2.setNumThreads(0)    # there is one process per core
        worker = torch.utils.data.get_worker_info()
        rng = np.random.default_rng([self.seed, worker.id if worker else 0])
        points = [grid(stride)[0].numpy() for stride in STRIDES]
        while True:
            image, objects = draw_objects(rng, max_turn=self.max_turn)
            boxes = [found.box for found in objects]
            which = np.concatenate([level_targets(boxes, *level)
                                    for level in zip(points, STRIDES, LEVEL_SIDES)])
            yield as_planes(image), which, *describe(objects)


def as_planes(image):
    """Return a picture, height x width x 3, as a tensor of three planes."""
    return torch.from_numpy(image.transpose(2, 0, 1).copy())


# --- training ------------------------------------------------------------------------------------

def box_overlap(a, b):
    """Return IoU and generalised IoU of boxes cx, cy, w, h, row by row."""
    a_low, a_high = a[:, :2] - a[:, 2:] / 2, a[:, :2] + a[:, 2:] / 2
    b_low, b_high = b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2
    both = (torch.minimum(a_high, b_high) - torch.maximum(a_low, b_low)).clamp(0).prod(1)
    either = a[:, 2:].prod(1) + b[:, 2:].prod(1) - both
    around = (torch.maximum(a_high, b_high) - torch.minimum(a_low, b_low)).prod(1)
    return both / either, both / either - (around - either) / around


def box_losses(output, which, objects):
    """Return score loss and box loss of a batch's boxes and scores, and their accuracy.

    A point's score learns the IoU of its box, so that scores rank boxes well in NMS.

    objects: the objects that the points learn, one row each.
    """
    predicted, positive = output.transpose(1, 2), which >= 0
    count = max(1, len(objects))
    overlap, generalised = box_overlap(predicted[positive][:, :4].float(), objects[:, BOX])
    box_loss = (1 - generalised).sum() / count
    wanted = torch.zeros_like(predicted[..., 4:])
    wanted[positive, objects[:, CLASS].long()] = overlap.detach().clamp(0.05)
    scores = predicted[..., 4:].clamp(1e-6, 1 - 1e-6)
    weight = torch.where(wanted > 0, wanted, 0.75 * scores.detach() ** 2)
    entropy = F.binary_cross_entropy(scores, wanted, reduction="none")
    right = scores[positive].argmax(1) == objects[:, CLASS]
    return (entropy * weight).sum() / count, box_loss, {"IoU": overlap.mean(),
                                                        "classes": right.float().mean()}


def learning_rate(step, part):
    """Return the rate after a part (0..1) of the training time: a short rise, then a cosine."""
    cosine = 0.5 + 0.5 * math.cos(math.pi * min(1, part))
    return LEARNING_RATE * min(1, step / 100) * cosine + 1e-5


class Batches:
    """Batches on a device: fresh ones, and in between kept ones in other colours."""

    def __init__(self, args, max_turn):
        self.device, self.max_batches, self.pool = args.device, args.pool, []
        self.fresh = iter(torch.utils.data.DataLoader(
            Scenes(args.seed, max_turn), args.batch, num_workers=args.workers, pin_memory=True,
            prefetch_factor=4 if args.workers else None))

    def take(self, step):
        """Return images and targets for a step."""
        if step % REUSE == 0:
            batch = [part.to(self.device, non_blocking=True) for part in next(self.fresh)]
            if len(self.pool) == self.max_batches:
                self.pool.pop(random.randrange(self.max_batches))
            self.pool.append(batch)
            return batch[0].float(), *batch[1:]
        images, *targets = random.choice(self.pool)
        images = images[:, random.sample(range(3), 3)].float()
        return 255 - images if random.random() < 0.5 else images, *targets


def train(net, losses, args, max_turn=MAX_TURN):
    """Train a net for the given time; return it on the CPU and in evaluation mode.

    losses(net, images, which, objects, masks) returns the loss and a dictionary of what to print.
    """
    torch.backends.cudnn.benchmark = True
    net = net.to(args.device).train()
    print("parameters", sum(p.numel() for p in net.parameters()))
    batches = Batches(args, max_turn)
    optimizer = torch.optim.AdamW(net.parameters(), LEARNING_RATE, weight_decay=1e-3)
    begin, step = time.monotonic(), 0
    while (elapsed := time.monotonic() - begin) < args.seconds:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, elapsed / args.seconds)
        loss, shown = losses(net, *batches.take(step))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 10)
        optimizer.step()
        step += 1
        if step % 200 == 0:
            print(f"step {step} {elapsed:.0f} s:",
                  " ".join(f"{name} {value.item():.3f}" for name, value in shown.items()),
                  flush=True)
    return net.eval().cpu().float()


def arguments(text):
    """Parse the options that trainers share; create the output folder."""
    parser = argparse.ArgumentParser(description=text.split("\n", maxsplit=1)[0])
    parser.add_argument("-o", "--out", type=pathlib.Path, default=pathlib.Path("."),
                        help="output folder (default: the current one)")
    parser.add_argument("--seconds", type=float, default=300, help="training time")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=64, help="scenes in a step")
    parser.add_argument("--pool", type=int, default=500,
                        help="batches kept for further steps; 64 scenes take 25 MB on the device")
    parser.add_argument("--workers", type=int, default=14, help="processes that draw scenes")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    return args
