# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trains a network, and keeps a running mean of its weights.

It needs torch.
"""
import copy
import math
import sys
import time

import numpy as np
import torch
from torch import nn

MEAN, EACH = 0.9985, 4    # decay of the running mean of weights per step; steps between updates
RISE = 150                # steps until the highest learning rate is reached


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

    def wait(self, min_length, deadline):
        """Wait until there are some samples; exit if there are not enough at a time."""
        while len(self.order) < min_length:
            if time.monotonic() > deadline:
                sys.exit(f"only {len(self.order)} samples were drawn; set --seconds higher")
            time.sleep(0.5)
            self.fill()

    def take(self, count):
        """Return random samples by name."""
        some = torch.tensor(np.random.choice(self.order, count), device=self.device)
        return {name: part[some] for name, part in self.parts.items()}


def learning_rate(max_rate, step, part):
    """Return the rate after a part (0..1) of the training time: a short rise, then a cosine."""
    cosine = 0.5 + 0.5 * math.cos(math.pi * min(1, part))
    return max_rate * min(1, (step + 1) / RISE) * cosine + 1e-5


class Trainer:
    """Steps of one network.

    compute(net, batch) returns the loss of a batch, a dictionary of tensors, and its parts.
    """

    def __init__(self, net, compute, args, deadline, name):
        device = args.device
        self.device, self.deadline, self.name, self.compute = device, deadline, name, compute
        self.net = net.to(device).train().to(memory_format=torch.channels_last)
        self.mean = copy.deepcopy(self.net).eval()
        self.rate = torch.tensor(1e-5, device=device)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), self.rate, weight_decay=2e-3,
                                           fused=True)
        self.max_rate, self.parts = args.rate, {}
        self.begin, self.steps = time.monotonic(), 0

    def part(self):
        """Return the part of the time that is over, 0..1."""
        return min(1.0, (time.monotonic() - self.begin) / (self.deadline - self.begin))

    def step(self, batch):
        """Do a step."""
        self.rate.fill_(learning_rate(self.max_rate, self.steps, self.part()))
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16):
            loss, parts = self.compute(self.net, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 10)
        self.optimizer.step()
        self.parts = {name: part.detach() for name, part in parts.items()}
        self.steps += 1
        if self.steps % EACH == 0:
            self.average()
        if self.steps % 400 == 0 or self.steps == 5:
            self.show()

    def show(self):
        """Print the parts of the loss."""
        shown = " ".join(f"{name} {float(value):.3f}" for name, value in self.parts.items())
        print(f"{self.name} step {self.steps} {time.monotonic() - self.begin:.0f} s: {shown}",
              flush=True)

    def average(self):
        """Move the mean of weights towards the net's."""
        decay = min(MEAN ** EACH, (1 + self.steps) / (40 + self.steps))
        with torch.no_grad():
            mine, others = self.mean.state_dict(), self.net.state_dict()
            floats = [name for name in mine if mine[name].dtype.is_floating_point]
            torch._foreach_lerp_([mine[n] for n in floats], [others[n] for n in floats], 1 - decay)

    def result(self):
        """Return the mean net on the CPU."""
        return copy.deepcopy(self.mean).cpu().float().eval()
