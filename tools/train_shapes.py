#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Train the demo's detector of drawn shapes and export it for GStreamer's onnxinference.

It writes, in the output folder:

  shapes.onnx            the detector, its tensor id and class names in its metadata
  shapes.onnx.modelinfo  the same, and the input's range (read by GStreamer 1.28)
  shapes.labels          the classes' names, one a line
  shapes.pt              the weights, for PyTorch
  look.png               some scenes with what the detector finds in them

The output tensor is 1 x (4 + classes) x points: planes cx, cy, w, h in input pixels, then one
sigmoid score per class.

It needs torch, onnx, numpy and OpenCV; a GPU is of use, many CPU cores more so: drawing the
scenes is what takes the time.
"""
import argparse
import inspect
import math
import pathlib
import time

import cv2
import numpy as np
import onnx
import torch
from torch import nn
from torch.nn import functional as F

from shapes_scene import CLASSES, SIZE, decode, draw_boxes, draw_scene, match

STRIDES = (8, 16, 32)
# The longest sides of the boxes that each stride's points learn, in pixels; they overlap.
LEVEL_SIDES = ((0, 48), (40, 110), (90, 1e9))
BOX_UNIT = 1.5            # a box side's distance from its point: softplus of a plane, in strides
NEAR_CENTRE = (1.5, 0.2)  # a point learns a box within this many strides, or part of a side, of it
INPUT_NAME, OUTPUT_NAME, TENSOR_ID = "images", "yolo-v8-out", "yolo-v8-out"
LEARNING_RATE = 3e-3


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


def grid(stride):
    """Centres of the points of one stride in input pixels, 1 x 2 x points."""
    side = SIZE // stride
    y, x = torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij")
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

    def raw(self, image):
        """Each level's planes before they become boxes and scores."""
        p3 = self.p3(self.stem(image / 255.0))
        p4 = self.p4(p3)
        p5 = self.p5(p4)
        f5 = self.l5(p5)
        f4 = self.l4(p4) + F.interpolate(f5, scale_factor=2.0, mode="nearest")
        f3 = self.l3(p3) + F.interpolate(f4, scale_factor=2.0, mode="nearest")
        return [out(head(f)).flatten(2) for f, head, out in zip((f3, f4, f5), self.head, self.out)]

    def forward(self, image):
        """Boxes and scores of RGB images of 0..255."""
        boxes, scores = [], []
        for i, (planes, stride) in enumerate(zip(self.raw(image), STRIDES)):
            sides = F.softplus(planes[:, :4]) * stride * BOX_UNIT
            points = getattr(self, f"g{i}")
            low, high = points - sides[:, :2], points + sides[:, 2:]
            boxes.append(torch.cat([(low + high) / 2, high - low], 1))
            scores.append(planes[:, 4:])
        return torch.cat([torch.cat(boxes, 2), torch.cat(scores, 2).sigmoid()], 1)


# --- targets -------------------------------------------------------------------------------------

def level_targets(boxes, points, stride, sides):
    """Class (-1: none) and box cx, cy, w, h of each point of one level.

    A point learns the smallest box that it lies in, near whose centre it is, and whose longer
    side is one of the level's.
    """
    count = points.shape[1]
    classes, targets = np.full(count, -1, np.int64), np.zeros((count, 4), np.float32)
    smallest = np.full(count, 1e9)
    strides, part = NEAR_CENTRE
    for index, x1, y1, x2, y2 in boxes:
        width, height = x2 - x1, y2 - y1
        if not sides[0] <= max(width, height) <= sides[1]:
            continue
        cx, cy, area = (x1 + x2) / 2, (y1 + y2) / 2, width * height
        near = ((np.abs(points[0] - cx) < max(strides * stride, part * width))
                & (np.abs(points[1] - cy) < max(strides * stride, part * height)))
        inside = ((points[0] > x1) & (points[0] < x2) & (points[1] > y1) & (points[1] < y2))
        learns = near & inside & (area < smallest)
        smallest[learns] = area
        classes[learns] = int(index)
        targets[learns] = [cx, cy, width, height]
    return classes, targets


def scene_targets(boxes, points):
    """Classes and boxes of all points of all levels for one scene."""
    levels = [level_targets(boxes, *level) for level in zip(points, STRIDES, LEVEL_SIDES)]
    return np.concatenate([c for c, _ in levels]), np.concatenate([t for _, t in levels])


class Scenes(torch.utils.data.IterableDataset):
    """Endless random scenes with their targets."""

    def __init__(self, seed):
        super().__init__()
        self.seed = seed

    def __iter__(self):
        worker = torch.utils.data.get_worker_info()
        rng = np.random.default_rng([self.seed, worker.id if worker else 0])
        points = [grid(stride)[0].numpy() for stride in STRIDES]
        while True:
            image, boxes = draw_scene(rng)
            classes, targets = scene_targets(boxes, points)
            yield as_planes(image), torch.from_numpy(classes), torch.from_numpy(targets)


def as_planes(image):
    """A picture, height x width x 3, as a tensor of three planes."""
    return torch.from_numpy(image.transpose(2, 0, 1).copy())


# --- training ------------------------------------------------------------------------------------

def box_overlap(a, b):
    """IoU and generalised IoU of boxes cx, cy, w, h, row by row."""
    a_low, a_high = a[:, :2] - a[:, 2:] / 2, a[:, :2] + a[:, 2:] / 2
    b_low, b_high = b[:, :2] - b[:, 2:] / 2, b[:, :2] + b[:, 2:] / 2
    both = (torch.minimum(a_high, b_high) - torch.maximum(a_low, b_low)).clamp(0).prod(1)
    either = a[:, 2:].prod(1) + b[:, 2:].prod(1) - both
    around = (torch.maximum(a_high, b_high) - torch.minimum(a_low, b_low)).prod(1)
    return both / either, both / either - (around - either) / around


def losses(output, classes, targets):
    """Score loss, box loss and mean IoU of a batch.

    A point's score learns the IoU of its box, so that scores rank boxes well in NMS.
    """
    predicted, positive = output.transpose(1, 2), classes >= 0
    count = max(1, positive.sum())
    overlap, generalised = box_overlap(predicted[positive][:, :4].float(), targets[positive])
    box_loss = (1 - generalised).sum() / count
    wanted = torch.zeros_like(predicted[..., 4:])
    wanted[positive, classes[positive]] = overlap.detach().clamp(0.05)
    scores = predicted[..., 4:].clamp(1e-6, 1 - 1e-6)
    weight = torch.where(wanted > 0, wanted, 0.75 * scores.detach() ** 2)
    entropy = F.binary_cross_entropy(scores, wanted, reduction="none")
    return (entropy * weight).sum() / count, box_loss, overlap.mean()


def learning_rate(step, part):
    """Rate at a step after a part (0..1) of the training time: a short rise, then a cosine."""
    cosine = 0.5 + 0.5 * math.cos(math.pi * min(1, part))
    return LEARNING_RATE * min(1, step / 100) * cosine + 1e-5


def train(args):
    """A net trained for the time asked for, on the CPU again and in evaluation mode."""
    torch.manual_seed(args.seed)
    net = Net().to(args.device)
    print("parameters", sum(p.numel() for p in net.parameters()))
    batches = iter(torch.utils.data.DataLoader(
        Scenes(args.seed), args.batch, num_workers=args.workers,
        prefetch_factor=4 if args.workers else None))
    optimizer = torch.optim.AdamW(net.parameters(), LEARNING_RATE, weight_decay=1e-3)
    net.train()
    begin, step = time.monotonic(), 0
    while (elapsed := time.monotonic() - begin) < args.seconds:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, elapsed / args.seconds)
        images, classes, targets = (part.to(args.device, non_blocking=True)
                                    for part in next(batches))
        score_loss, box_loss, overlap = losses(net(images.float()), classes, targets)
        optimizer.zero_grad()
        (score_loss + 2 * box_loss).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 10)
        optimizer.step()
        step += 1
        if step % 200 == 0:
            print(f"step {step} {elapsed:.0f} s: scores {score_loss.item():.3f} "
                  f"boxes {box_loss.item():.3f} IoU {overlap.item():.3f}", flush=True)
    return net.eval().cpu().float()


# --- export and report ---------------------------------------------------------------------------

def modelinfo(points):
    """Text of the .modelinfo file that GStreamer 1.28 reads beside the model."""
    return f"""[modelinfo]
version=1.0
group-id={TENSOR_ID}

[{INPUT_NAME}]
id=shapes-input
type=float32
dims=1,3,{SIZE},{SIZE}
dir=input
ranges=0.0,255.0;0.0,255.0;0.0,255.0

[{OUTPUT_NAME}]
id={TENSOR_ID}
type=float32
dims=1,{4 + len(CLASSES)},{points}
dims-order=col-major
dir=output
"""


def export(net, folder):
    """Write the model with its tensor id, its .modelinfo, its labels and its weights."""
    path = folder / "shapes.onnx"
    # The exporter that traces; a PyTorch too old to have another has no such parameter.
    known = inspect.signature(torch.onnx.export).parameters
    older = {"dynamo": False} if "dynamo" in known else {}
    torch.onnx.export(net, torch.zeros(1, 3, SIZE, SIZE), str(path), input_names=[INPUT_NAME],
                      output_names=[OUTPUT_NAME], opset_version=17, **older)
    model = onnx.load(str(path))
    names = str(dict(enumerate(CLASSES)))
    onnx.helper.set_model_props(model, {OUTPUT_NAME: TENSOR_ID, "names": names})
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    points = sum((SIZE // stride) ** 2 for stride in STRIDES)
    (folder / "shapes.onnx.modelinfo").write_text(modelinfo(points), encoding="utf-8")
    (folder / "shapes.labels").write_text("\n".join(CLASSES) + "\n", encoding="utf-8")
    torch.save(net.state_dict(), folder / "shapes.pt")


def report(net, folder, scenes=200, shown=12, score=0.4):
    """Print precision and recall at IoU 0.5 on fresh scenes, and write a picture of some."""
    rng = np.random.default_rng(12345)
    total, pictures = np.zeros(3, int), []
    for index in range(scenes):
        image, truth = draw_scene(rng)
        with torch.no_grad():
            output = net(as_planes(image).float()[None])[0].numpy()
        found, _ = decode(output, score)
        total += match(found, truth)
        if index < shown:
            pictures.append(draw_boxes(image, found))
    true, false, missed = total
    print(f"score > {score}: precision {true / max(1, true + false):.3f}, "
          f"recall {true / max(1, true + missed):.3f}")
    rows = [np.concatenate(pictures[i:i + 4], 1) for i in range(0, shown, 4)]
    cv2.imwrite(str(folder / "look.png"), cv2.cvtColor(np.concatenate(rows, 0),
                                                       cv2.COLOR_RGB2BGR))


def main():
    """Train, export, report."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-o", "--out", type=pathlib.Path, default=pathlib.Path("."),
                        help="folder for what is written (default: this one)")
    parser.add_argument("--seconds", type=float, default=300, help="time to train for")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--batch", type=int, default=64, help="scenes in a step")
    parser.add_argument("--workers", type=int, default=14, help="processes that draw scenes")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    net = train(args)
    export(net, args.out)
    report(net, args.out)


if __name__ == "__main__":
    main()
