# SPDX-License-Identifier: LGPL-2.1-or-later
"""Samples in memory that processes share: some draw, others train meanwhile."""
import mmap
import time

import cv2
import numpy as np

from . import samples

FRAMES = 12      # samples per scene: a new scene costs as much as some samples


class Store:
    """Arrays with a row per sample, shared by processes that are forked later."""

    def __init__(self, count, fields):
        """Create a store; fields: shape and type of a sample's parts by name."""
        self.count, self.arrays = count, {}
        for name, (shape, kind) in {**fields, "ready": ((), np.uint8)}.items():
            kind = np.dtype(kind)
            size = int(count * np.prod(shape, dtype=np.int64) * kind.itemsize)
            memory = mmap.mmap(-1, size)
            self.arrays[name] = np.frombuffer(memory, kind).reshape(count, *shape)

    def put(self, place, **parts):
        """Write a sample."""
        for name, part in parts.items():
            self.arrays[name][place] = part
        self.arrays["ready"][place] = 1

    def ready(self):
        """Return the number of samples."""
        return int(np.count_nonzero(self.arrays["ready"]))


def detector_store(count):
    """Return a store of samples of a detector."""
    wide, high = samples.SIZE
    cell = samples.CELL
    return Store(count, {"image": ((high, wide, 3), np.uint8),
                         "ignored": ((samples.IGNORED, 4), np.float32),
                         "rows": ((samples.MOST, samples.ROW), np.float32),
                         "cells": ((high // cell, wide // cell), np.uint8)})


def crop_stores(count):
    """Return stores of crops of plates and vehicles."""
    wide, high = samples.PLATE_SIZE
    return (Store(count, {"image": ((high, wide, 3), np.uint8),
                          "text": ((samples.PLATE_LENGTH,), np.uint8)}),
            Store(count, {"image": ((samples.CROP, samples.CROP, 3), np.uint8),
                          "label": ((2,), np.uint8)}))


def padded(rows, count):
    """Return a number of rows: the first ones, or rows of zeros after them."""
    out = np.zeros((count, rows.shape[1]), np.float32)
    out[:len(rows)] = rows[:count]
    return out


def draw_detector(store, make, first_seed, worker, workers, deadline):
    """Fill every workers-th row of a store, from a row on, until a time.

    make(seed, count): the samples of a scene.
    """
    place, seed = worker, first_seed + worker
    while place < store.count and time.monotonic() < deadline:
        for sample in make(seed, FRAMES):
            store.put(place, image=sample.image, rows=padded(sample.rows, samples.MOST),
                      ignored=padded(sample.ignored, samples.IGNORED), cells=sample.cells)
            place += workers
            if place >= store.count or time.monotonic() > deadline:
                return
        seed += workers


def draw_crops(stores, seed, worker, workers, deadline):
    """Fill every workers-th row of the stores of plates and vehicles until a time."""
    plates, vehicles = stores
    rng, at = np.random.default_rng([seed, 21, worker]), [worker, worker]
    while min(at) < plates.count and time.monotonic() < deadline:
        made = samples.portrait(rng)
        if made.plate is not None and at[0] < plates.count:
            plates.put(at[0], image=made.plate, text=made.text)
            at[0] += workers
        if made.vehicle is not None and at[1] < vehicles.count:
            vehicles.put(at[1], image=made.vehicle, label=(made.colour, made.kind))
            at[1] += workers


def work(task, worker, workers, deadline):
    """Run one process that draws; task: stores, seed, and what fills them."""
    cv2.setNumThreads(0)
    stores, seed, make = task
    if isinstance(stores, tuple):
        draw_crops(stores, seed, worker, workers, deadline)
    else:
        draw_detector(stores, make, seed, worker, workers, deadline)
