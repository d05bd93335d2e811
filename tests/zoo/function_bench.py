#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Measures keepbox.nms, keepbox.Decoder and their peers from Python: torchvision's nms and
batched_nms, OpenCV's NMSBoxes on the CPU, and Ultralytics' non_max_suppression, or the same steps
in plain PyTorch if it is not installed.

A time is that from the call to the end of all work on the device, the median of many calls one
after the other. "returns" is the time until the call itself returns, if it does not wait. The peers
that are found are printed first, tables for docs/function.md last.

    PYTHONPATH=python python3 tests/zoo/function_bench.py              # a GPU if there is one
    PYTHONPATH=python python3 tests/zoo/function_bench.py --device cpu
"""
import argparse
import importlib
import importlib.util
import statistics
import sys
import time

MISSING = [name for name in ('numpy', 'torch') if importlib.util.find_spec(name) is None]
if MISSING and {'-h', '--help'} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()
if MISSING:
    sys.exit(f'SKIP: no {", ".join(MISSING)} for Python; {sys.argv[0]} requires them')

import numpy as np
import torch

import keepbox
from keepbox import compat

COUNTS = (100, 300, 1000, 3000, 10_000, 30_000, 100_000)
IOU = .5
ANCHORS, CLASSES, SIDE = 8400, 80, 640
# Times are cut off if one call takes longer than these seconds in all.
MOST_SECONDS = 3.


def peer(name):
    """Returns a module, or None if it is not installed or cannot be loaded."""
    try:
        return importlib.import_module(name)
    except (ImportError, OSError, RuntimeError) as error:
        print(f'no {name}: {error}')
        return None


class Clock:
    """Measures calls on a device."""

    def __init__(self, device):
        self.device = torch.device(device)
        self._wait = torch.cuda.synchronize if self.device.type == 'cuda' else lambda: None

    def __call__(self, call, calls=200):
        """Returns the medians of the time until the device is done and of that until the call
        returns, in microseconds."""
        for _ in range(3):
            call()
        self._wait()
        done, returned, end = [], [], time.perf_counter() + MOST_SECONDS
        for _ in range(calls):
            begin = time.perf_counter()
            call()
            back = time.perf_counter()
            self._wait()
            done.append(time.perf_counter() - begin)
            returned.append(back - begin)
            if time.perf_counter() > end:
                break
        return statistics.median(done) * 1e6, statistics.median(returned) * 1e6


def crowd(count, classes, device):
    """Returns boxes of which some 25 cover each object, their scores and classes."""
    rng = np.random.default_rng(count)
    objects = max(count // 25, 1)
    middle, half = rng.random((objects, 2)) * 1000, rng.random((objects, 2)) * 30 + 10
    which = rng.integers(0, objects, count)
    middle = middle[which] + rng.normal(0, 2, (count, 2))
    half = half[which] * rng.normal(1, .05, (count, 2))
    boxes = np.concatenate([middle - half, middle + half], 1).astype(np.float32)
    numbers = rng.integers(0, classes, objects)[which]
    made = boxes, rng.random(count, 'f4'), numbers
    return tuple(torch.from_numpy(each).to(device) for each in made)


def time_nms(clock, torchvision, cv2):
    """Yields the rows of the table of suppression."""
    for classes in 1, CLASSES:
        for count in COUNTS:
            boxes, scores, numbers = crowd(count, classes, clock.device)
            given = None if classes == 1 else numbers
            found = keepbox.nms(boxes, scores, given, IOU)
            ours, _ = clock(lambda: keepbox.nms(boxes, scores, given, IOU))
            row = [f'{count:,}', str(classes), f'{len(found):,}', micro(ours)]
            if clock.device.type == 'cuda':
                row += map(micro, clock(
                    lambda: keepbox.nms(boxes, scores, given, IOU, wait=False)))
            if torchvision:
                ops = torchvision.ops
                call = ((lambda: ops.nms(boxes, scores, IOU)) if given is None else
                        (lambda: ops.batched_nms(boxes, scores, numbers, IOU)))
                theirs, _ = clock(call)
                wanted = call()
                row += [micro(theirs), f'{theirs / ours:.1f}', same(found, wanted)]
            if cv2 and clock.device.type == 'cpu' and given is None and count <= 10_000:
                corners = boxes.numpy()
                sides = np.concatenate([corners[:, :2], corners[:, 2:] - corners[:, :2]], 1)
                listed, values = sides.tolist(), scores.tolist()
                theirs, _ = clock(lambda: cv2.dnn.NMSBoxes(listed, values, 0., IOU))
                row += [micro(theirs)]
            yield row


def same(found, wanted):
    if torch.equal(found, wanted):
        return 'same'
    count = len(set(found.tolist()) ^ set(wanted.tolist()))
    return f'{count} differ' if count else 'same, equal scores in another order'


def output_of(batch, device):
    """Returns an output of YOLOv8, (B, 84, 8400): 100 objects with 25 boxes each of high scores,
    and background of scores around 0.001."""
    rng = np.random.default_rng(7)
    out = np.zeros((batch, 4 + CLASSES, ANCHORS), np.float32)
    for image in out:
        image[:2] = rng.random((2, ANCHORS)) * SIDE
        image[2:4] = rng.random((2, ANCHORS)) * 80 + 10
        image[4:] = 10 ** rng.uniform(-6, -2.9, (CLASSES, ANCHORS))
        near = rng.choice(ANCHORS, (100, 25), replace=False)
        for group in near:
            image[:2, group] = rng.random((2, 1)) * SIDE + rng.normal(0, 2, (2, 25))
            image[2:4, group] = (rng.random((2, 1)) * 80 + 20) * rng.normal(1, .05, (2, 25))
            image[4 + rng.integers(CLASSES), group] = rng.uniform(.1, .95, 25)
    return torch.from_numpy(out).to(device)


def plain_steps(torchvision):
    """Returns a function that does in PyTorch what Ultralytics' function does."""
    def run(output, conf_thres, iou_thres):
        found = []
        for columns in output:
            best = columns[4:].amax(0)
            rows = columns[:, best > conf_thres].T
            score, number = rows[:, 4:].max(1)
            middle, half = rows[:, :2], rows[:, 2:4] / 2
            boxes = torch.cat([middle - half, middle + half], 1)
            apart = boxes + number[:, None].float() * 7680
            kept = torchvision.ops.nms(apart, score, iou_thres)[:300]
            found.append(torch.cat([boxes, score[:, None], number[:, None].float()], 1)[kept])
        return found
    return run


def peer_decoder(torchvision):
    """Returns the function to compare the decoder with, and its name."""
    if torchvision and peer('ultralytics'):
        from ultralytics.utils.nms import non_max_suppression
        return non_max_suppression, "Ultralytics' non_max_suppression"
    return (plain_steps(torchvision), 'plain PyTorch') if torchvision else (None, '')


def time_decoder(clock, theirs):
    """Yields the rows of the table of decoding."""
    on_gpu = clock.device.type == 'cuda'
    for batch in 1, 32:
        output = output_of(batch, clock.device)
        for threshold in .25, .001:
            decoder = keepbox.Decoder('yolov8', score_threshold=threshold, iou_threshold=.7,
                                      size=(SIDE, SIDE), nms_contract='ultralytics')
            boxes = decoder.batch(output)
            funnel = decoder.funnel if batch == 1 else decoder.funnel[0]
            calls = 200 if batch == 1 else 50
            ours, _ = clock(lambda: decoder.batch(output), calls)
            row = [str(batch), f'{threshold}', f'{funnel["above_threshold"]:,}',
                   f'{len(boxes[0]):,}', micro(ours)]
            if on_gpu:
                queued, returns = clock(lambda: decoder.enqueue(output), calls)
                row += [micro(queued), micro(returns)]
            arguments = output, threshold, .7
            ready, _ = clock(lambda: compat.non_max_suppression(*arguments), calls)
            row += [micro(ready)]
            if theirs:
                other, _ = clock(lambda: theirs(*arguments), calls)
                wanted, found = theirs(*arguments), compat.non_max_suppression(*arguments)
                equal = all(torch.equal(a, b) for a, b in zip(wanted, found, strict=True))
                row += [micro(other), f'{other / (queued if on_gpu else ours):.1f}',
                        'same' if equal else 'differ']
            yield row


def micro(value):
    """Writes microseconds."""
    return f'{value:,.0f}' if value >= 100 else f'{value:.1f}'


def print_table(head, rows):
    print('\n| ' + ' | '.join(head) + ' |\n|' + ' ---: |' * len(head))
    for row in rows:
        print('| ' + ' | '.join([*row, *([''] * (len(head) - len(row)))]) + ' |')


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument('--device', default='cuda' if torch.cuda.is_available() else 'cpu')
    parser.add_argument('--only', choices=('nms', 'decoder'))
    given = parser.parse_args()
    clock = Clock(given.device)
    torchvision, cv2 = peer('torchvision'), peer('cv2')
    theirs, name = peer_decoder(torchvision)
    print(f'keepbox {keepbox.__version__}, PyTorch {torch.__version__}, torchvision'
          f' {torchvision.__version__ if torchvision else "missing"}, OpenCV'
          f' {cv2.__version__ if cv2 else "missing"}, decoder next to {name or "nothing"},',
          torch.cuda.get_device_name(clock.device) if clock.device.type == 'cuda' else
          f'CPU with {torch.get_num_threads()} threads')
    suppressed = list(time_nms(clock, torchvision, cv2)) if given.only != 'decoder' else []
    decoded = list(time_decoder(clock, theirs)) if given.only != 'nms' else []
    if suppressed:
        print_table(['boxes', 'classes', 'kept', 'keepbox.nms, µs',
                     *(['wait=False, µs', 'returns, µs'] if clock.device.type == 'cuda' else []),
                     *(['torchvision, µs', 'times', 'indices'] if torchvision else []),
                     *(['OpenCV, µs'] if cv2 and clock.device.type == 'cpu' else [])], suppressed)
    if decoded:
        print_table(['batch', 'score above', 'candidates', 'kept', 'Decoder, µs',
                     *(['enqueue(), µs', 'returns, µs'] if clock.device.type == 'cuda' else []),
                     'compat, µs', *([f'{name}, µs', 'times', 'boxes'] if theirs else [])],
                    decoded)
    return 0


if __name__ == '__main__':
    sys.exit(main())
