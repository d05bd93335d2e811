#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times 100 masks of 32x160x160 in NumPy on the CPU and in PyTorch, cropped to their boxes and
compared with 0 like Ultralytics' process_mask() without enlargement.

Prints the median time of a call in microseconds for each, without copies of boxes, coefficients and
masks; with PyTorch on a GPU also with a copy of the masks to the host.
"""
import argparse
import statistics
import time

import numpy as np

BOXES, MAPS, SIDE = 100, 32, 160


def made(side):
    """Returns coefficients, prototypes and corners in prototype pixels, for boxes of that side."""
    random = np.random.default_rng(7)
    left = random.uniform(0, SIDE - side, (BOXES, 2)) if side < SIDE else np.zeros((BOXES, 2))
    return (random.uniform(-1, 1, (BOXES, MAPS)).astype(np.float32),
            random.uniform(-1, 1, (MAPS, SIDE, SIDE)).astype(np.float32),
            np.concatenate([left, left + side], 1).astype(np.float32))


def median(call, wait=lambda: None):
    for _ in range(5):
        call()
    wait()
    took = []
    for _ in range(50):
        start = time.perf_counter()
        call()
        wait()
        took.append((time.perf_counter() - start) * 1e6)
    return statistics.median(took)


def by_numpy(factors, maps, corners):
    masks = (factors @ maps.reshape(MAPS, -1)).reshape(BOXES, SIDE, SIDE)
    for mask, (x1, y1, x2, y2) in zip(masks, np.ceil(corners).astype(int)):
        mask[:y1] = mask[y2:] = mask[:, :x1] = mask[:, x2:] = 0
    return (masks > 0).astype(np.uint8)


def by_torch(torch, factors, maps, corners):
    masks = (factors @ maps.reshape(MAPS, -1)).reshape(BOXES, SIDE, SIDE)
    x1, y1, x2, y2 = corners[:, :, None, None].unbind(1)
    columns = torch.arange(SIDE, device=masks.device)[None, None]
    rows = torch.arange(SIDE, device=masks.device)[None, :, None]
    inside = (columns >= x1) & (columns < x2) & (rows >= y1) & (rows < y2)
    return ((masks * inside) > 0).to(torch.uint8)


def main():
    argparse.ArgumentParser(description=__doc__).parse_args()
    try:
        import torch
    except ImportError:
        torch = None
    for side in (40, SIDE):
        numbers = made(side)
        time = median(lambda: by_numpy(*numbers))
        print(f"NumPy, boxes {side}x{side}: {time:.0f} us", flush=True)
        if torch is None or not torch.cuda.is_available():
            continue
        on_device = [torch.from_numpy(each).cuda() for each in numbers]
        same = np.array_equal(by_torch(torch, *on_device).cpu().numpy(), by_numpy(*numbers))
        device = median(lambda: by_torch(torch, *on_device), torch.cuda.synchronize)
        host = median(lambda: by_torch(torch, *on_device).cpu())
        print(f"PyTorch, boxes {side}x{side}: {device:.0f} us, on the host {host:.0f} us, "
              f"{'the same' if same else 'other'} masks as NumPy", flush=True)
    if torch is None:
        print("no PyTorch here")


if __name__ == "__main__":
    main()
