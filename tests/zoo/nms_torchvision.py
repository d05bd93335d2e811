#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares keepbox.nms with torchvision's compiled operator on random cases, index by index: boxes
with equal scores, overlaps that equal the threshold, copies, and boxes without area or with corners
in the wrong order.

This program is not part of the build's tests, because it requires PyTorch and torchvision, and ten
million cases take an hour of two cores. --device=cuda compares with the operator of the GPU.

    PYTHONPATH=python ~/zoo-venv/bin/python tests/zoo/nms_torchvision.py --cases 10000000

The output is a table of the cases; the exit status is 1 if an index differs.
"""
import argparse
import concurrent.futures
import importlib.util
import multiprocessing
import os
import sys
import time

MISSING = [name for name in ('numpy', 'torch', 'torchvision')
           if importlib.util.find_spec(name) is None]
if MISSING and {'-h', '--help'} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()
if MISSING:
    sys.exit(f'SKIP: no {", ".join(MISSING)} for Python; {sys.argv[0]} requires them')

import numpy as np
import torch
import torchvision

import keepbox

THRESHOLDS = (.1, .3, .45, .5, .6, .7, .9, 0, 1)
MOST_BOXES = 40
PART = 2000  # cases that are drawn at once


def real(rng, count):
    """Boxes and scores that are hardly ever equal."""
    corners = rng.random((count, 2, 2), 'f4') * 100
    return corners[:, 0], corners[:, 0] + corners[:, 1] / 2, rng.random(count, 'f4')


def grid(rng, count):
    """Small integers: overlaps that equal the threshold, and equal scores."""
    low = rng.integers(0, 8, (count, 2)).astype('f4')
    return low, low + rng.integers(1, 12, (count, 2)).astype('f4'), tenths(rng, count)


def tenths(rng, count):
    return (rng.integers(0, 11, count) / 10).astype('f4')


def copies(rng, count):
    """A few boxes many times, some moved by a bit."""
    low = (rng.integers(0, 3, (count, 2)) * 30).astype('f4')
    high = low + 30
    moved = rng.random(count) < .3
    high[moved] = rng.permutation(high.view('i4')[moved] + 1).view('f4')
    return low, high, tenths(rng, count)


def odd(rng, count):
    """Boxes without area, with corners in the wrong order, and tiny and huge ones."""
    low, high, scores = real(rng, count)
    kind = rng.integers(0, 6, count)
    high[kind == 0] = low[kind == 0]
    high[kind == 1, 0] = low[kind == 1, 0]
    swapped = kind == 2
    low[swapped], high[swapped] = high[swapped], low[swapped].copy()
    scale = np.ones(count, 'f4')
    scale[kind == 3], scale[kind == 4] = 1e-20, 1e15
    return low * scale[:, None], high * scale[:, None], np.where(kind == 5, -scores, scores)


KINDS = (real, grid, copies, odd)


def cases_of(kind, seed):
    """Yields boxes, scores, classes and a threshold."""
    rng = np.random.default_rng([seed, KINDS.index(kind)])
    sizes = rng.integers(1, MOST_BOXES + 1, PART)
    with np.errstate(all='ignore'):
        low, high, scores = kind(rng, int(sizes.sum()))
    boxes = torch.from_numpy(np.concatenate([low, high], 1, dtype='f4'))
    scores = torch.from_numpy(scores.astype('f4'))
    classes = torch.from_numpy(rng.integers(0, 4, len(scores)))
    thresholds = rng.choice([*THRESHOLDS, *rng.random(3)], PART)  # a new one takes time to prepare
    parts = (each.split(sizes.tolist()) for each in (boxes, scores, classes))
    yield from zip(*parts, thresholds.tolist())


def compare(job):
    """Returns the kind, numbers of cases, of boxes and of boxes kept, and the first difference."""
    number, seed, batched, device = job
    torch.set_num_threads(1)
    kind = KINDS[number]
    boxes_seen = kept = count = 0
    for boxes, scores, classes, threshold in cases_of(kind, seed):
        boxes, scores, classes = boxes.to(device), scores.to(device), classes.to(device)
        if batched:
            wanted = by_class(boxes, scores, classes, threshold)
            found = keepbox.nms(boxes, scores, classes, threshold)
        else:
            wanted = torchvision.ops.nms(boxes, scores, threshold)
            found = keepbox.nms(boxes, scores, iou=threshold)
        if not torch.equal(wanted, found):
            return number, count, boxes_seen, kept, (
                f'{kind.__name__}, seed {seed}, case {count}, threshold {threshold!r}, by class:'
                f' {batched}\nboxes {boxes.tolist()}\nscores {scores.tolist()}\nclasses'
                f' {classes.tolist()}\ntorchvision {wanted.tolist()}\nkeepbox {found.tolist()}')
        count, boxes_seen, kept = count + 1, boxes_seen + len(boxes), kept + len(found)
    return number, count, boxes_seen, kept, ''


def by_class(boxes, scores, classes, threshold):
    """Returns what batched_nms returns class by class, the first of equal scores first."""
    kept = [torch.nonzero(classes == each)[:, 0] for each in classes.unique()]
    kept = torch.cat([index[torchvision.ops.nms(boxes[index], scores[index], threshold)]
                      for index in kept]).sort().values
    return kept[scores[kept].argsort(descending=True, stable=True)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--cases', type=int, default=100_000)
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--device', default='cpu')
    parser.add_argument('--processes', type=int, default=len(os.sched_getaffinity(0)))
    given = parser.parse_args()
    print(f'torchvision {torchvision.__version__}, PyTorch {torch.__version__}, keepbox'
          f' {keepbox.__version__}, {given.device}')
    jobs = [(part % len(KINDS), given.seed * 1_000_000 + part, part // len(KINDS) % 4 == 3,
             given.device) for part in range(-(-given.cases // PART))]
    begin, rows, wrong = time.monotonic(), [[0, 0, 0, 0] for _ in KINDS], []
    with concurrent.futures.ProcessPoolExecutor(
            given.processes, multiprocessing.get_context('spawn')) as pool:
        for number, *counts, difference in pool.map(compare, jobs):
            rows[number] = [a + b for a, b in zip(rows[number], (*counts, bool(difference)))]
            wrong += [difference] if difference else []
    print(f'{"boxes":<8}{"cases":>12}{"boxes":>14}{"kept":>14}{"different":>12}')
    for kind, row in zip(KINDS, rows):
        print(f'{kind.__name__:<8}{row[0]:>12}{row[1]:>14}{row[2]:>14}{row[3]:>12}')
    total = sum(row[0] for row in rows)
    print(f'{total} cases in {time.monotonic() - begin:.0f} s; {len(wrong)} parts with a'
          ' difference')
    print(*wrong[:3], sep='\n')
    return 1 if wrong else 0


if __name__ == '__main__':
    sys.exit(main())
