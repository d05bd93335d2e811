#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Times PyTorch and torchvision on the tensors that gpu-bench wrote.

usage: torch_peer.py DIR [--json FILE] [--device DEVICE]   after gpu-bench --dump DIR

Boxes are decoded on the device, suppressed there by torchvision and copied to the host, like in
Ultralytics' non_max_suppression with one class per box. Rows have the form of gpu-bench.
"""
import argparse
import json
import pathlib
import sys
import time

try:
    import torch
    import torchvision
except ImportError as error:
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(__doc__.strip())
        sys.exit(0)
    print(f'torch_peer: skipped: {error}', file=sys.stderr)
    sys.exit(77)

CALLS, FEWEST, WARM_UP, ENOUGH = 600, 8, 16, 1.0
SCRATCH = 256 << 20  # bytes, more than any L2 cache


def corners(boxes):
    centre, half = boxes[:, :2], boxes[:, 2:] / 2
    return torch.cat((centre - half, centre + half), 1)


def thin_out(boxes, scores, classes, entry):
    kept = torchvision.ops.batched_nms(corners(boxes), scores, classes, entry['iou_threshold'])
    kept = kept[:entry['max_detections']]
    found = torch.cat((corners(boxes[kept]), scores[kept, None], classes[kept, None].float()), 1)
    return found.cpu()


def from_rows(tensor, entry):
    """YOLOv5: cx cy w h, objectness, class scores; most rows end at their objectness."""
    rows = tensor[0]
    rows = rows[rows[:, 4] > entry['score_threshold']]
    scores, classes = (rows[:, 5:] * rows[:, 4:5]).max(1)
    passed = scores > entry['score_threshold']
    return thin_out(rows[passed, :4], scores[passed], classes[passed], entry)


def from_planes(tensor, entry):
    """YOLOv8: planes of cx cy w h and class scores."""
    scores, classes = tensor[0, 4:].max(0)
    passed = scores > entry['score_threshold']
    boxes = tensor[0, :4][:, passed].T.contiguous()
    return thin_out(boxes, scores[passed], classes[passed], entry)


def from_boxes(tensor, entry):
    """Decoded boxes of one class: x1 y1 x2 y2, score, class."""
    boxes, scores = tensor[0, :, :4], tensor[0, :, 4]
    kept = torchvision.ops.nms(boxes, scores, entry['iou_threshold'])
    return kept[:entry['max_detections']].cpu()


WORK = {'yolov5': (from_rows, 'PyTorch decode + torchvision batched_nms'),
        'yolov8': (from_planes, 'PyTorch decode + torchvision batched_nms'),
        'yolov10': (from_boxes, 'torchvision nms')}


def load(folder, entry, device):
    for name in entry['files']:
        data = bytearray((folder / name).read_bytes())
        yield torch.frombuffer(data, dtype=torch.float32).reshape(entry['shape']).to(device)


def timed(before, work, synchronise):
    """Returns the microseconds of work(0), work(1), ... after a warm-up."""
    started = time.perf_counter()
    for i in range(WARM_UP):
        work(i)
        if time.perf_counter() - started > ENOUGH / 4:
            break
    times, spent = [], 0.0
    while len(times) < CALLS and (spent < ENOUGH or len(times) < FEWEST):
        before(len(times))
        synchronise()
        start = time.perf_counter()
        work(len(times))
        times.append(time.perf_counter() - start)
        spent += times[-1]
    times.sort()
    return {'p50_us': 1e6 * times[len(times) // 2], 'p99_us': 1e6 * times[len(times) * 99 // 100],
            'calls': len(times)}


def measure(folder, entry, device, scratch):
    work, name = WORK[entry['detector']]
    tensors = list(load(folder, entry, device))
    count = len(tensors)
    found = [len(work(tensor, entry)) for tensor in tensors]
    same = sum(a == b for a, b in zip(found, entry['boxes']))
    synchronise = torch.cuda.synchronize if device.type == 'cuda' else lambda: None
    befores = {'in turn': lambda i: None}
    if entry['section'] == 'contents':
        befores['warm'] = lambda i: tensors[i % count].sum()
        befores['flushed'] = lambda i: scratch.zero_()
    for state, before in befores.items():
        times = timed(before, lambda i: work(tensors[i % count], entry), synchronise)
        yield {'section': entry['section'], 'input': entry['input'], 'contender': name,
               'state': state, 'check': f'equal numbers of boxes in {same} of {count} tensors',
               **times,
               'candidates': entry['candidates'][0], 'boxes': found[0]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('folder', type=pathlib.Path, help='folder written by gpu-bench --dump')
    parser.add_argument('--json', type=pathlib.Path, help='write the rows')
    parser.add_argument('--device', default='cuda')
    arguments = parser.parse_args()
    if arguments.device == 'cuda' and not torch.cuda.is_available():
        print('torch_peer: skipped: PyTorch finds no CUDA device', file=sys.stderr)
        sys.exit(77)
    device = torch.device(arguments.device)
    scratch = torch.empty(SCRATCH, dtype=torch.uint8, device=device)
    print(f'PyTorch {torch.__version__}, torchvision {torchvision.__version__}')
    rows = []
    with torch.inference_mode():
        for entry in json.loads((arguments.folder / 'manifest.json').read_text()):
            for row in measure(arguments.folder, entry, device, scratch):
                rows.append(row)
                print(f'{row["section"]}: {row["input"]:32} {row["contender"]:42} '
                      f'{row["state"]:8} {row["p50_us"]:10.1f} {row["p99_us"]:10.1f} '
                      f'{row["boxes"]:6}  {row["check"]}', flush=True)
    if arguments.json:
        arguments.json.write_text(json.dumps(rows, indent=1) + '\n')


main()
