# SPDX-License-Identifier: LGPL-2.1-or-later
"""The networks: a detector in the manner of YOLOv8 with more heads, a plate reader, a classifier.

It needs torch; tools/ has to be on Python's path.
"""
import torch
from torch import nn
from torch.nn import functional as F

from shapes_net import BOX_UNIT, STRIDES, grid

from . import samples

PROTOTYPES = 24
OUTSIDE = 0.4    # a point may be so far outside of its box, in units of BOX_UNIT strides
WIDTHS = (16, 32, 64, 96, 128)
NECK = (64, 96, 128)


def conv(inputs, outputs, size=3, stride=1):
    """A convolution, batch norm and ReLU."""
    return nn.Sequential(nn.Conv2d(inputs, outputs, size, stride, size // 2, bias=False),
                         nn.BatchNorm2d(outputs), nn.ReLU(True))


class Bottleneck(nn.Module):
    """Two convolutions beside a shortcut."""

    def __init__(self, width, shortcut):
        super().__init__()
        self.body, self.shortcut = nn.Sequential(conv(width, width), conv(width, width)), shortcut

    def forward(self, x):
        """Return planes of the same size."""
        return x + self.body(x) if self.shortcut else self.body(x)


class Stage(nn.Module):
    """A cross-stage block: half of the planes go through bottlenecks, all of them are joined."""

    def __init__(self, inputs, outputs, count=1, shortcut=True):
        super().__init__()
        half = outputs // 2
        self.first = conv(inputs, outputs, 1)
        self.blocks = nn.ModuleList([Bottleneck(half, shortcut) for _ in range(count)])
        self.last = conv(half * (2 + count), outputs, 1)

    def forward(self, x):
        """Return planes of the same size."""
        parts = list(self.first(x).chunk(2, 1))
        for block in self.blocks:
            parts.append(block(parts[-1]))
        return self.last(torch.cat(parts, 1))


class Pool(nn.Module):
    """Three poolings in a row, joined: what is around, near and far."""

    def __init__(self, width):
        super().__init__()
        self.first, self.last = conv(width, width // 2, 1), conv(width * 2, width, 1)

    def forward(self, x):
        """Return planes of the same size."""
        parts = [self.first(x)]
        for _ in range(3):
            parts.append(F.max_pool2d(parts[-1], 5, 1, 2))
        return self.last(torch.cat(parts, 1))


def head(width, hidden, outputs):
    """A head of one level."""
    return nn.Sequential(conv(width, hidden), conv(hidden, hidden), nn.Conv2d(hidden, outputs, 1))


class Detector(nn.Module):
    """An anchor-free detector with three levels, and heads for the tasks that are wanted.

    tasks: any of "seg", "pose" and "obb". Inputs are RGB of 0..1; coordinates are input pixels.
    """

    def __init__(self, classes, tasks=(), size=samples.SIZE):
        super().__init__()
        c, n = WIDTHS, NECK
        self.classes, self.tasks = classes, tuple(tasks)
        self.stem = nn.Sequential(conv(3, c[0], 3, 2), conv(c[0], c[1], 3, 2), Stage(c[1], c[1]))
        self.p3 = nn.Sequential(conv(c[1], c[2], 3, 2), Stage(c[2], c[2], 2))
        self.p4 = nn.Sequential(conv(c[2], c[3], 3, 2), Stage(c[3], c[3], 2))
        self.p5 = nn.Sequential(conv(c[3], c[4], 3, 2), Stage(c[4], c[4]), Pool(c[4]))
        self.up4, self.up3 = Stage(c[4] + c[3], n[1], 1, False), Stage(n[1] + c[2], n[0], 1, False)
        self.down3, self.down4 = conv(n[0], n[0], 3, 2), conv(n[1], n[1], 3, 2)
        self.out4 = Stage(n[0] + n[1], n[1], 1, False)
        self.out5 = Stage(n[1] + c[4], n[2], 1, False)
        counts = {"box": (48, 4), "score": (48, classes), "seg": (48, PROTOTYPES),
                  "pose": (64, 3 * samples.POINTS), "obb": (48, 6)}
        self.heads = nn.ModuleDict({
            task: nn.ModuleList([head(width, *counts[task]) for width in n])
            for task in ("box", "score", *self.tasks)})
        for box, score in zip(self.heads["box"], self.heads["score"]):
            box[-1].bias.data[:] = 0.8
            score[-1].bias.data[:] = -5.0
        if "seg" in self.tasks:
            self.fine, self.coarse = conv(c[1], 32, 1), conv(n[0], 32, 1)
            self.prototypes = nn.Sequential(conv(32, 48), conv(48, 32),
                                            nn.Conv2d(32, PROTOTYPES, 1))
        points = [grid(stride, size[1], size[0]) for stride in STRIDES]
        strides = [torch.full((1, 1, p.shape[2]), float(s)) for p, s in zip(points, STRIDES)]
        self.register_buffer("points", torch.cat(points, 2), persistent=False)
        self.register_buffer("strides", torch.cat(strides, 2), persistent=False)

    def features(self, image):
        """Return the stem's planes, of stride 4, and the three levels'."""
        stem = self.stem(image)
        p3 = self.p3(stem)
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        f4 = self.up4(torch.cat([larger(p5), p4], 1))
        f3 = self.up3(torch.cat([larger(f4), p3], 1))
        f4 = self.out4(torch.cat([self.down3(f3), f4], 1))
        return stem, (f3, f4, self.out5(torch.cat([self.down4(f4), p5], 1)))

    def planes(self, task, levels):
        """Return a head's planes, N x count x points."""
        return torch.cat([h(x).flatten(2) for h, x in zip(self.heads[task], levels)], 2).float()

    def boxes(self, levels):
        """Return boxes cx, cy, w, h, N x 4 x points."""
        sides = (F.softplus(self.planes("box", levels)) - OUTSIDE) * self.strides * BOX_UNIT
        low, high = self.points - sides[:, :2], self.points + sides[:, 2:]
        return torch.cat([(low + high) / 2, high - low], 1)

    def scores(self, levels):
        """Return scores before the sigmoid, N x classes x points."""
        return self.planes("score", levels)

    def keypoints(self, levels):
        """Return x, y and visibility (before the sigmoid), N x keypoints x 3 x points."""
        planes = self.planes("pose", levels).unflatten(1, (samples.POINTS, 3))
        places = self.points[:, None] + planes[:, :, :2] * (2 * self.strides[:, None])
        return torch.cat([places, planes[:, :, 2:]], 2)

    def oriented(self, levels):
        """Return cx, cy, width, height, and the cosine and sine of twice the angle."""
        planes = self.planes("obb", levels)
        return torch.cat([self.points + planes[:, :2] * self.strides,
                          F.softplus(planes[:, 2:4]) * (3 * self.strides), planes[:, 4:]], 1)

    def masks(self, stem, levels):
        """Return coefficients, N x PROTOTYPES x points, and prototypes of stride 4."""
        fine = self.fine(stem) + larger(self.coarse(levels[0]))
        return self.planes("seg", levels), self.prototypes(fine).float()

    def forward(self, image):
        """Return everything for training, by task."""
        stem, levels = self.features(image)
        out = {"boxes": self.boxes(levels), "scores": self.scores(levels)}
        if "seg" in self.tasks:
            out["seg"] = self.masks(stem, levels)
        if "pose" in self.tasks:
            out["pose"] = self.keypoints(levels)
        if "obb" in self.tasks:
            out["obb"] = self.oriented(levels)
        return out


def larger(x):
    """Return planes of twice the size."""
    return F.interpolate(x, scale_factor=2.0, mode="nearest")


class Part(nn.Module):
    """The part of a detector that is exported for one task, in the layout of YOLOv8."""

    def __init__(self, net, task):
        super().__init__()
        self.net, self.task = net, task

    def forward(self, image):
        """Return the task's tensors, for RGB images of 0..1."""
        net = self.net
        stem, levels = net.features(image)
        boxes = torch.cat([net.boxes(levels), net.scores(levels).sigmoid()], 1)
        if self.task == "detect":
            return boxes
        if self.task == "segment":    # masks of plates are not learned
            coefficients, prototypes = net.masks(stem, levels)
            return torch.cat([boxes[:, :4 + len(samples.CLASSES)], coefficients], 1), prototypes
        if self.task == "pose":
            points = net.keypoints(levels)
            points = torch.cat([points[:, :, :2], points[:, :, 2:].sigmoid()], 2)
            return torch.cat([boxes[:, :5], points.flatten(1, 2)], 1)
        oriented = net.oriented(levels)
        angle = torch.atan2(oriented[:, 5:6], oriented[:, 4:5]) / 2
        return torch.cat([oriented[:, :4], boxes[:, 4:], angle], 1)


class Reader(nn.Module):
    """Reads a plate: scores of 32 places from left to right, the blank first, for CTC."""

    def __init__(self, letters=len(samples.ALPHABET)):
        super().__init__()
        self.body = nn.Sequential(
            conv(3, 16), nn.MaxPool2d(2), conv(16, 32), conv(32, 32), nn.MaxPool2d(2),
            conv(32, 48), conv(48, 48), nn.MaxPool2d((2, 1)), conv(48, 64),
            nn.MaxPool2d((2, 1)), conv(64, 64), nn.AvgPool2d((2, 1)))
        # A narrow field of view: with a wide one, whole plates are memorised.
        self.out = nn.Sequential(nn.Dropout(0.15), nn.Conv1d(64, 64, 3, 1, 1), nn.ReLU(True),
                                 nn.Conv1d(64, letters + 1, 1))

    def forward(self, image):
        """Return scores before the softmax, N x 32 x (letters + 1)."""
        return self.out(self.body(image).squeeze(2)).transpose(1, 2)


class Classifier(nn.Module):
    """Tells a vehicle's colour and type."""

    def __init__(self, colours, kinds):
        super().__init__()
        self.body = nn.Sequential(
            conv(3, 16, 3, 2), conv(16, 32, 3, 2), conv(32, 64), conv(64, 64, 3, 2), conv(64, 96),
            conv(96, 96, 3, 2), conv(96, 128), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.colour, self.kind = nn.Linear(128, colours), nn.Linear(128, kinds)

    def forward(self, image):
        """Return scores of colours and of types, before the softmax."""
        made = self.body(image)
        return self.colour(made), self.kind(made)
