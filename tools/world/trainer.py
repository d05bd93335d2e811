# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trains a network: steps that are recorded once as a CUDA graph, and a running mean of weights.

It needs torch.
"""
import copy
import math
import os
import time

import numpy as np
import torch
from torch import nn

MEAN, EACH = 0.9985, 4    # decay of the running mean of weights per step; steps between updates
RISE = 150                # steps until the highest learning rate is reached
WARM = 4                  # plain steps before a step is recorded
PATIENCE = 100            # seconds that a trial of recording may take


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


def learning_rate(most, step, part):
    """Return the rate after a part (0..1) of the training time: a short rise, then a cosine."""
    cosine = 0.5 + 0.5 * math.cos(math.pi * min(1, part))
    return most * min(1, (step + 1) / RISE) * cosine + 1e-5


class Trainer:
    """Steps of one network.

    compute(net, batch) returns the loss of a batch, a dictionary of tensors, and its parts.
    """

    def __init__(self, net, compute, args, deadline, name):
        device = args.device
        self.device, self.deadline, self.name, self.compute = device, deadline, name, compute
        self.net = net.to(device).train().to(memory_format=torch.channels_last)
        self.mean = copy.deepcopy(self.net).eval()
        on_gpu = device == "cuda"
        self.rate = torch.tensor(1e-5, device=device)
        self.optimizer = torch.optim.AdamW(self.net.parameters(), self.rate, weight_decay=2e-3,
                                           capturable=on_gpu, fused=True)
        self.most = args.rate
        self.graph, self.held, self.loss, self.parts = None, None, None, {}
        self.begin, self.steps = time.monotonic(), 0

    def part(self):
        """Return the part of the time that is over, 0..1."""
        return min(1.0, (time.monotonic() - self.begin) / (self.deadline - self.begin))

    def plain(self, batch):
        """Do what a graph records: one step."""
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast(self.device, torch.bfloat16, cache_enabled=False):
            loss, parts = self.compute(self.net, batch)
        loss.backward()
        nn.utils.clip_grad_norm_(self.net.parameters(), 10)
        self.optimizer.step()
        # What is kept must not hold the step's graph: a recorded step may not wait for its stream.
        self.loss, self.parts = loss.detach(), {name: part.detach() for name, part in parts.items()}

    def record(self, batch):
        """Record a step as a CUDA graph, after some plain ones."""
        self.held = {name: part.clone() for name, part in batch.items()}
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for _ in range(WARM):
                self.plain(self.held)
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        self.optimizer.zero_grad(set_to_none=True)
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            self.plain(self.held)
        self.graph = graph

    def step(self, batch):
        """Do a step."""
        self.rate.fill_(learning_rate(self.most, self.steps, self.part()))
        if self.graph:
            for name, part in batch.items():
                self.held[name].copy_(part)
            self.graph.replay()
        else:
            self.plain(batch)
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


def can_record(make, batch):
    """True if a step can be recorded here; it is tried in a process of its own.

    make(): a trainer. batch(): tensors by name, of any values.
    """
    child = os.fork()
    if child == 0:
        status = 1
        try:
            trainer, some = make(), batch()
            torch.backends.cudnn.benchmark = False
            trainer.record(some)
            for _ in range(3):
                trainer.step(some)
            torch.cuda.synchronize()
            status = 0 if math.isfinite(float(trainer.loss)) else 2
        except Exception as error:    # pylint: disable=broad-except
            print(f"cannot record steps: {error}"[:1500], flush=True)
        os._exit(status)
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return status == 0
        time.sleep(0.2)
    os.kill(child, 9)
    os.waitpid(child, 0)
    return False
