#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares keypoints, masks and oriented boxes of the demo's models with the drawn shapes and with
independent decoding, suppression and run lengths."""
import json
import math

import numpy as np

from tap import PIPELINES, main, need, need_inference, run

SIDE = 320                     # of the models' input
SCALE, BORDER = 4, 70          # clip pixels per input pixel; lines above the picture
SCORE, OVERLAP = 0.55, 0.3
CLASSES = (PIPELINES / 'models/shapes.labels').read_text().split()
WANTED = f'score-threshold={SCORE} iou-threshold={OVERLAP} class-agnostic=true'
FRAME = 110
# Shapes that were drawn there, as pipelines/media/README.md has it: centre, radius, degrees.
DRAWN = [('star', 193.1, 185.0, 32.7, -11.8), ('circle', 248.9, 140.3, 27.0, 0),
         ('cross', 68.4, 131.7, 28.9, 5.2), ('ring', 290.2, 229.7, 24.4, 0),
         ('triangle', 215.1, 114.7, 26.9, 10.9), ('square', 101.6, 197.2, 22.7, 3.0),
         ('ring', 148.8, 89.1, 19.3, 0), ('circle', 29.0, 164.2, 18.9, 0)]
TIPS = {'square': [(-1, -1), (1, -1), (1, 1), (-1, 1)], 'triangle': [(0, -1), (.9, .8), (-.9, .8)],
        'cross': [(0, -1), (1, 0), (0, 1), (-1, 0)], 'circle': [], 'ring': [],
        'star': [(math.sin(math.tau * i / 5), -math.cos(math.tau * i / 5)) for i in range(5)]}


def tips(shape):
    label, x, y, radius, degrees = shape
    cos, sin = math.cos(math.radians(degrees)), math.sin(math.radians(degrees))
    return [(x + radius * (a * cos - b * sin), y + radius * (a * sin + b * cos))
            for a, b in TIPS[label]]


def tensor(name, *shape):
    return np.fromfile(PIPELINES / f'media/shapes-{name}.f16.raw', np.float16).reshape(
        shape).astype(np.float32)


def replay(*tensors):
    """Returns elements that attach recorded tensors: pairs of name and dimensions."""
    return ' ! '.join(f'tensorreplay location={PIPELINES}/media/shapes-{name}.f16.raw dims={dims} '
                      f'type=float16 tensor-id={name_of}' for name, dims, name_of in tensors)


SEG = replay(('seg', '1,26,2100', 'yolo-v8-segmentation-out-detections'),
             ('seg-protos', '1,16,80,80', 'yolo-v8-segmentation-out-protos'))
OBB = replay(('obb', '1,11,2100', 'yolo-v8-obb-out'))
POSE = replay(('pose', '1,25,2100', 'yolo-v8-pose-out'))
DECODE = f'boxdecode label-file={PIPELINES}/models/shapes.labels {WANTED}'


def launch(line):
    return run('gst-launch-1.0', '-q', *line.split())[0]


def objects(line):
    return json.loads(launch(f'{line} ! boxsink'))['objects']


def overlap(a, b):
    """Returns the IoU of boxes x1 y1 x2 y2."""
    width, height = (min(a[i + 2], b[i + 2]) - max(a[i], b[i]) for i in (0, 1))
    both = max(width, 0) * max(height, 0)
    return both / sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)) / (
        1 - both / sum((c[2] - c[0]) * (c[3] - c[1]) for c in (a, b)))


def kept(output):
    """Returns the anchors of the kept upright boxes, best first, each with its corners."""
    scores, found = output[4:10].max(0), []
    for anchor in sorted(np.flatnonzero(scores > SCORE), key=lambda at: (-scores[at], at)):
        x, y, width, height = output[:4, anchor]
        box = [x - width / 2, y - height / 2, x + width / 2, y + height / 2]
        if all(overlap(box, other) <= OVERLAP for _, other in found):
            found.append((anchor, box))
    return found


def box_of(thing):
    return [thing['x'], thing['y'], thing['x'] + thing['w'], thing['y'] + thing['h']]


def paired(found, to_input=lambda x, y: (x, y)):
    """Returns pairs of detections and drawn shapes; each is in exactly one."""
    assert len(found) == len(DRAWN), [thing['roi_type'] for thing in found]
    pairs = []
    for shape in DRAWN:
        def apart(thing, shape=shape):
            x1, y1, x2, y2 = box_of(thing)
            return math.dist(to_input((x1 + x2) / 2, (y1 + y2) / 2), shape[1:3])
        best = min(found, key=apart)
        # The border crops one of them, and one hides a third.
        assert best['roi_type'] == shape[0] and apart(best) < 6, (shape, best)
        pairs.append((best, shape))
    return pairs


def check_points(found, to_input=lambda x, y: (x, y)):
    for thing, shape in paired(found, to_input):
        seen = [point for point in thing['keypoints']['points'] if point[2] > 0.5]
        assert len(seen) == len(tips(shape)), (shape, thing)
        for (x, y, _), tip in zip(seen, tips(shape)):
            assert math.dist(to_input(x, y), tip) < 5, (shape, seen)


def check_turns(found, to_input=lambda x, y: (x, y)):
    for thing, shape in paired(found, to_input):
        off = math.degrees(thing['rotation']) - shape[4]
        assert abs(off) < 3.5, (shape, thing)


def unpacked(text, height, width):
    """Decodes COCO's run lengths: five bits per letter, differences to the run before the last
    one."""
    runs, at = [], 0
    while at < len(text):
        value, shift, more = 0, 0, True
        while more:
            letter = ord(text[at]) - 48
            value |= (letter & 31) << shift
            more, shift, at = letter & 32, shift + 5, at + 1
            if not more and letter & 16:
                value -= 1 << shift
        runs.append(value + (runs[-2] if len(runs) > 2 else 0))
    assert sum(runs) == height * width, (sum(runs), height, width)
    inside = np.repeat(np.arange(len(runs)) % 2 == 1, runs)
    return inside.reshape(width, height).T


def iou(a, b):
    return (a & b).sum() / max((a | b).sum(), 1)


def bilinear(plane, side):
    """Enlarges a mask with half-pixel centres."""
    at = np.clip((np.arange(side) + .5) * len(plane) / side - .5, 0, len(plane) - 1)
    low = np.floor(at).astype(int)
    high, part = np.minimum(low + 1, len(plane) - 1), at - low
    rows = plane[low] * (1 - part)[:, None] + plane[high] * part[:, None]
    return rows[:, low] * (1 - part) + rows[:, high] * part


def masks():
    """Computes masks from the recorded tensors: at the input's resolution, cropped to their
    boxes."""
    output, prototypes = tensor('seg', 26, 2100), tensor('seg-protos', 16, 80, 80)
    across, down = np.meshgrid(np.arange(SIDE), np.arange(SIDE))
    for anchor, (x1, y1, x2, y2) in kept(output):
        large = bilinear(np.tensordot(output[10:, anchor], prototypes, 1), SIDE)
        yield (large > 0) & (across >= x1) & (across < x2) & (down >= y1) & (down < y2)


def coco_masks(line):
    parts = [row['segmentation'] for row in json.loads(launch(f'{line} ! boxsink format=coco'))]
    assert len(parts) == len(DRAWN), parts
    return [unpacked(part['counts'], *part['size']) for part in parts]


def beside(mask):
    """Returns a mask and its neighbourhood of one pixel."""
    wide = np.pad(mask, 1)
    height, width = mask.shape
    return np.any([wide[y:y + height, x:x + width] for y in range(3) for x in range(3)], 0)


def drawn_disc(mask):
    """Returns the circle that is neither hidden nor cropped; its mask is near the drawn one."""
    _, x, y, radius, _ = DRAWN[-1]
    lines, columns = np.mgrid[:SIDE, :SIDE] + .5
    return iou(mask, np.hypot(columns - x, lines - y) < radius)


def test_recorded_points(folder):
    del folder
    found = objects(f'{POSE} ! {DECODE}')
    check_points(found)
    output = tensor('pose', 25, 2100)
    for thing, (anchor, _) in zip(found, kept(output), strict=True):
        off = np.abs(thing['keypoints']['points'] - output[10:, anchor].reshape(5, 3))
        assert off.max() < 1e-3, (thing, off)


def test_recorded_oriented_boxes(folder):
    del folder
    found, output = objects(f'{OBB} ! {DECODE}'), tensor('obb', 11, 2100)
    check_turns(found)
    for thing in found:
        x1, y1, x2, y2 = box_of(thing)
        one = [(x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1, thing['rotation']]
        off = np.abs(one - output[[0, 1, 2, 3, 10], thing['anchor']])
        assert off.max() < 1e-3, (thing, off)


def test_recorded_masks(folder):
    del folder
    plain = list(masks())
    # Masks at the prototypes' resolution are cropped to their boxes in its pixels.
    for size, least in ('frame', 0.99), ('prototypes', 0.75):
        found = coco_masks(f'{SEG} ! {DECODE} mask-size={size}')
        for mask, expected in zip(found, plain, strict=True):
            assert iou(mask, expected) > least, (size, iou(mask, expected))
        best = max(drawn_disc(mask) for mask in found)
        assert best > least - 0.1, (size, best)


def test_recorded_masks_come_back_to_the_full_frame(folder):
    del folder
    camera = 'videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=1280,height=720'
    small = f'video/x-raw,width={SIDE},height={SIDE},pixel-aspect-ratio=1/1'
    direct = (f'{camera} ! {SEG} ! {DECODE} model-size={SIDE}x{SIDE} '
              'resize-mode=letterbox-scaler')
    through = (f'{camera} ! framesave ! videoscale add-borders=true ! {small} ! {SEG} ! {DECODE} '
               '! framerestore')
    for one, other in zip(objects(direct), objects(through), strict=True):
        mine, theirs = one['mask'], other['mask']
        if box_of(one)[3] == 720:  # a box of the full frame ends there, and its mask with it
            continue
        assert mine['rle'] == theirs['rle'], (mine, theirs)
        off = np.abs(np.subtract(box_of(mine), box_of(theirs)))
        assert off.max() < 1, (mine, theirs)
    for one, other in zip(coco_masks(direct), coco_masks(through), strict=True):
        assert one.shape == (720, 1280) and one.sum() > 2000
        assert not (one & ~beside(other)).any() and not (other & ~beside(one)).any()


def clip_of(task, folder, more=''):
    """Returns frames of the clip through a model, as written by boxsink."""
    need_inference()
    out = folder / f'{task}.jsonl'
    launch(f'filesrc location={PIPELINES}/media/shapes.webm ! decodebin ! videoconvert '
           f'! tensorinfer model-file={PIPELINES}/models/shapes-{task}.onnx ! boxdecode {WANTED} '
           f'{more} ! boxsink location={out}')
    frames = [json.loads(line) for line in out.read_text().splitlines()]
    right = sum(len(frame.get('objects', [])) == len(DRAWN) for frame in frames)
    assert len(frames) == 250 and right > 230, (len(frames), right)
    return frames


def in_input(x, y):
    return x / SCALE, y / SCALE + BORDER


def test_clip_with_points(folder):
    check_points(clip_of('pose', folder)[FRAME]['objects'], in_input)


def test_clip_with_oriented_boxes(folder):
    check_turns(clip_of('obb', folder)[FRAME]['objects'], in_input)


def test_clip_with_masks(folder):
    frame = clip_of('seg', folder, 'mask-size=frame')[FRAME]
    plain = sorted(masks(), key=lambda mask: -mask.sum())[:2]
    sums = []
    for thing, _ in paired(frame['objects'], in_input):
        mask = thing['mask']
        inside = unpacked(mask['rle'], mask['height'], mask['width'])
        assert (mask['w'], mask['h']) == (mask['width'], mask['height']), mask
        sums.append(inside.sum() / SCALE ** 2)
    expected = [mask.sum() for mask in plain]
    assert np.allclose(sorted(sums)[:-3:-1], expected, rtol=0.03), (sums, expected)


def test_picture(folder):
    need_inference()
    need('boxoverlay')
    run(PIPELINES / 'parts', folder / 'parts.png')
    assert (folder / 'parts.png').read_bytes().startswith(b'\x89PNG')
    assert 'one name is needed; 0' in run(PIPELINES / 'parts', status=2)[1]


def test_picture_of_counts(folder):
    need_inference()
    need('boxoverlay')
    need('boxcount')
    run(PIPELINES / 'count', folder / 'count.png')
    assert (folder / 'count.png').read_bytes().startswith(b'\x89PNG')
    assert 'one name is needed; 0' in run(PIPELINES / 'count', status=2)[1]


if __name__ == '__main__':
    main(globals())
