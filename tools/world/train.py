# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trains the world's models while processes draw its samples.

It needs torch, onnx, numpy and OpenCV; tools/ has to be on Python's path.
"""
import copy
import multiprocessing
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

from shapes_net import STRIDES, learning_rate

from . import export, losses, pool, samples
from .net import Classifier, Detector, Reader
from .palette import COLOURS
from .actors import VEHICLES

DECAY = 0.9985      # of the running mean of weights, a step
FILL = 40           # steps between two looks for new samples
MIRRORED = [0, 2, 1, 4, 3, 6, 5, 8, 7, 10, 9, 12, 11, 14, 13, 16, 15]    # left and right


class Pool:
    """A store's samples on the device."""

    def __init__(self, store, device):
        self.store, self.device, self.used = store, device, np.zeros(store.count, bool)
        self.order, self.parts = [], {
            name: torch.empty(array.shape, dtype=torch.from_numpy(array[:1]).dtype, device=device)
            for name, array in store.arrays.items() if name != "ready"}

    def fill(self):
        """Copy the samples that are new."""
        new = np.flatnonzero((self.store.arrays["ready"] == 1) & ~self.used)
        for some in np.array_split(new, max(1, len(new) // 64)):
            if len(some):
                where = torch.from_numpy(some).to(self.device)
                for name, part in self.parts.items():
                    part[where] = torch.from_numpy(self.store.arrays[name][some]).to(self.device)
        self.used[new] = True
        self.order += new.tolist()

    def wait(self, least):
        """Wait until there are some samples."""
        while len(self.order) < least:
            time.sleep(0.5)
            self.fill()

    def take(self, count):
        """Return random samples by name."""
        some = torch.tensor(np.random.choice(self.order, count), device=self.device)
        return {name: part[some] for name, part in self.parts.items()}


def mirror(batch):
    """Return a detector's batch with left and right exchanged."""
    wide, high = samples.SIZE
    which, start, levels = batch["which"], 0, []
    for stride in STRIDES:
        count = (wide // stride) * (high // stride)
        level = which[:, start:start + count].unflatten(1, (high // stride, wide // stride))
        levels.append(level.flip(2).flatten(1))
        start += count
    rows = batch["rows"].clone()
    there = rows[:, :, 3] > 0
    for column in (1, 5):
        rows[:, :, column] = torch.where(there, wide - rows[:, :, column], 0)
    rows[:, :, 9] = torch.pi - rows[:, :, 9]
    points = rows[:, :, samples.KEYPOINTS].unflatten(2, (samples.POINTS, 3))[:, :, MIRRORED]
    seen = points[..., 2] > 0
    points = torch.stack([torch.where(seen, wide - points[..., 0], 0), points[..., 1],
                          points[..., 2]], 3)
    rows[:, :, samples.KEYPOINTS] = points.flatten(2)
    return {"image": batch["image"].flip(2), "which": torch.cat(levels, 1), "rows": rows,
            "cells": batch["cells"].flip(2)}


def as_input(images):
    """Return images N x height x width x 3 of 0..255 as varied inputs of 0..1."""
    x = images.permute(0, 3, 1, 2).float() / 255
    count, device = len(x), x.device

    def any_of(low, high):
        return torch.rand(count, 1, 1, 1, device=device) * (high - low) + low
    x = (x - 0.45) * any_of(0.85, 1.15) + 0.45 + any_of(-0.07, 0.07)
    x = x * (1 + (torch.rand(count, 3, 1, 1, device=device) - 0.5) * 0.08)
    soft = F.avg_pool2d(x, 3, 1, 1, count_include_pad=False)
    x = x + (soft - x) * (any_of(0, 1) * (any_of(0, 1) < 0.4))
    x = x + torch.randn_like(x) * any_of(0, 0.025)
    return x.clamp(0, 1).contiguous(memory_format=torch.channels_last)


def moved(x, most=0.07):
    """Return inputs that are moved, resized and sheared a little, each in its own way."""
    count, device = len(x), x.device
    small = (torch.rand(count, 2, 3, device=device) * 2 - 1) * most
    small[:, 1, 0] *= 0.5    # a plate is wide: little rotation
    still = torch.tensor(((1.0, 0, 0), (0, 1.0, 0)), device=device)
    where = F.affine_grid(still + small, x.shape, align_corners=False)
    return F.grid_sample(x, where, padding_mode="border", align_corners=False)


class Trainer:
    """Steps of one network, with a running mean of its weights."""

    def __init__(self, net, device, deadline, name):
        self.device, self.deadline, self.name = device, deadline, name
        self.net = net.to(device).train().to(memory_format=torch.channels_last)
        self.mean = copy.deepcopy(self.net).eval()
        self.optimizer = torch.optim.AdamW(self.net.parameters(), 1e-3, weight_decay=2e-3)
        self.begin, self.steps = time.monotonic(), 0
        print(name, "parameters", sum(p.numel() for p in net.parameters()), flush=True)

    def part(self):
        """Return the part of the time that is over, 0..1."""
        return min(1.0, (time.monotonic() - self.begin) / (self.deadline - self.begin))

    def step(self, inputs, losses_of):
        """Do a step; losses_of(what the net makes of the inputs) returns the loss and its parts."""
        for group in self.optimizer.param_groups:
            group["lr"] = learning_rate(self.steps, self.part())
        with torch.autocast(self.device, torch.bfloat16):
            made = self.net(inputs)
        loss, parts = losses_of(made)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 10)
        self.optimizer.step()
        self.steps += 1
        self.average()
        if self.steps % 200 == 0 or self.steps == 5:
            shown = " ".join(f"{name} {float(value.detach()):.3f}" for name, value in parts.items())
            print(f"{self.name} step {self.steps} {time.monotonic() - self.begin:.0f} s: {shown}",
                  flush=True)

    def average(self):
        """Move the mean of weights towards the net's."""
        decay = min(DECAY, (1 + self.steps) / (10 + self.steps))
        with torch.no_grad():
            mine, others = self.mean.state_dict(), self.net.state_dict()
            floats = [name for name in mine if mine[name].dtype.is_floating_point]
            torch._foreach_lerp_([mine[n] for n in floats], [others[n] for n in floats], 1 - decay)

    def result(self):
        """Return the mean net on the CPU."""
        return copy.deepcopy(self.mean).cpu().float().eval()


def start(args):
    """Choose the device, which processes must not have used before they fork; seed it."""
    args.device = args.device or ("cuda" if torch.cuda.is_available() else "cpu")
    torch.backends.cudnn.benchmark = True
    torch.manual_seed(args.seed)


def train_detector(store, net, args, deadline, name):
    """Train a detector on a store's samples until a time, and write it."""
    start(args)
    if args.weights:
        net.load_state_dict(load(args.weights / f"{args.prefix}{name}.pt"))
    data, half = Pool(store, args.device), True
    data.wait(min(store.count, args.batch * 6))
    trainer = Trainer(net, args.device, deadline, name)
    while time.monotonic() < deadline:
        if trainer.steps % FILL == 0:
            data.fill()
        batch = data.take(args.batch)
        if trainer.steps % 2:
            batch = mirror(batch)
        image, which = as_input(batch["image"]), batch["which"].long()
        trainer.step(image, lambda made: losses.detector_loss(made, which, batch["rows"],
                                                              batch["cells"]))
        if half and trainer.part() > 0.6:    # a result, should the end not be reached
            torch.save(trainer.result().state_dict(), args.out / f"{args.prefix}{name}.pt")
            half = False
    print(name, "samples", len(data.order), "steps", trainer.steps, flush=True)
    write(trainer.result(), args, name)


def networks():
    """Return the networks by name, with their exports: a function, and the names of parts."""
    detectors = export.write_detectors
    return {"street": (Detector(len(samples.NAMES), ("seg", "pose")), detectors,
                       (("detect", "segment", "pose"),)),
            "crossing": (Detector(len(samples.CLASSES), ("obb",)), detectors, (("obb",),)),
            "plates": (Reader(), export.write_reader, ()),
            "vehicles": (Classifier(len(COLOURS), len(VEHICLES)), export.write_classifier, ())}


def load(path):
    """Return the weights in a file."""
    return torch.load(path, map_location="cpu", weights_only=True)


def write(net, args, name):
    """Write a network's weights, and its exports."""
    torch.save(net.state_dict(), args.out / f"{args.prefix}{name}.pt")
    _, how, parts = networks()[name]
    how(net, args.out, args.prefix + name, *parts)
    print(name, "written", flush=True)


def export_only(args):
    """Write the exports of weights that were trained before."""
    for name, (net, _, _) in networks().items():
        path = args.weights / f"{args.prefix}{name}.pt"
        if path.exists():
            net.load_state_dict(load(path))
            write(net.eval(), args, name)


def train_street(store, args, deadline):
    """Train and export the detector of the street with masks and keypoints."""
    train_detector(store, networks()["street"][0], args, deadline, "street")


def train_crossing(store, args, deadline):
    """Train and export the detector of oriented boxes."""
    train_detector(store, networks()["crossing"][0], args, deadline, "crossing")


def train_crops(stores, args, deadline):
    """Train and export the plate reader and the classifier of vehicles, in turns."""
    start(args)
    pools = [Pool(store, args.device) for store in stores]
    for data in pools:
        data.wait(min(data.store.count, args.batch * 4))
    reader, kinds = (Trainer(networks()[name][0], args.device, deadline, name)
                     for name in ("plates", "vehicles"))
    while time.monotonic() < deadline:
        if reader.steps % FILL == 0:
            for data in pools:
                data.fill()
        plates, vehicles = (data.take(args.batch * 4) for data in pools)
        reader.step(moved(as_input(plates["image"])), lambda made: plate_loss(made, plates["text"]))
        kinds.step(as_input(vehicles["image"]),
                   lambda made: label_loss(made, vehicles["label"].long()))
    print("plates", len(pools[0].order), "vehicles", len(pools[1].order), flush=True)
    write(reader.result(), args, "plates")
    write(kinds.result(), args, "vehicles")


def plate_loss(scores, text):
    """Return the CTC loss of a batch, and the part of letters that is right."""
    logs = scores.float().log_softmax(2).transpose(0, 1)
    count, places = len(text), logs.shape[0]
    wanted = text.long() + 1
    loss = F.ctc_loss(logs, wanted, torch.full((count,), places),
                      torch.full((count,), text.shape[1]), zero_infinity=True)
    return loss, {"loss": loss}


def label_loss(scores, labels):
    """Return the loss of colours and types, and the parts that are right."""
    loss = sum(F.cross_entropy(part.float(), labels[:, i], label_smoothing=0.02)
               for i, part in enumerate(scores))
    right = [(part.argmax(1) == labels[:, i]).float().mean() for i, part in enumerate(scores)]
    return loss, {"loss": loss, "colour": right[0], "type": right[1]}


def plan(args):
    """Return the stores, the processes that draw, and those that train, with their parts."""
    street, crossing = pool.detector_store(args.frames), pool.detector_store(args.frames // 3)
    crops = pool.crop_stores(args.frames * 2)
    workers = max(3, args.workers)
    some = max(1, workers // 5), max(1, workers // 6)
    draws = [((street, 1000, samples.street_samples), workers - sum(some)),
             ((crossing, 2_000_000, samples.crossing_samples), some[0]),
             ((crops, 3_000_000 + args.seed, None), some[1])]
    trains = [(train_street, street, 1.0), (train_crossing, crossing, 0.62),
              (train_crops, crops, 0.32)]
    return draws, [t for t in trains if t[0].__name__.removeprefix("train_") in args.only]


def run(args):
    """Draw and train until the time is over; or, in no time, only export weights."""
    if args.weights and not args.seconds:
        return export_only(args)
    begin, fork = time.monotonic(), multiprocessing.get_context("fork")
    draws, trains = plan(args)
    processes = []
    for task, count in draws:
        for worker in range(count):
            processes.append(fork.Process(target=pool.work, daemon=True,
                                          args=(task, worker, count, begin + args.seconds * 0.9)))
    for how, stores, part in trains:
        processes.append(fork.Process(target=how, args=(stores, args, begin + args.seconds * part)))
    for process in processes:
        process.start()
    for process in processes[-len(trains):]:
        process.join()
    for process in processes[:-len(trains)]:
        process.terminate()
    print(f"done in {time.monotonic() - begin:.0f} s", flush=True)
    return max(process.exitcode or 0 for process in processes[-len(trains):])
