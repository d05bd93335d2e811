#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares boxes of tensorinfer and boxdecode on photos with an independent resize, ONNX Runtime,
decoding and suppression; and what a start of tensorinfer prints."""
import csv
import io
import os

import numpy as np

import yolox
from tap import DATA, PIPELINES, Skip, main, need, need_inference, run

MODEL = DATA / 'yolox/yolox_nano.onnx'
THRESHOLD, LIMIT = 0.25, 0.45
NEAR = 0.02  # of the threshold: may be on either side of it


def photos():
    found = sorted((DATA / 'yolox').glob('*.jpg'))
    if not found:
        raise Skip('no photos on this machine')
    need('tensorinfer')
    return found


def caught(photo, encoder, folder):
    path = folder / 'frame'
    run('gst-launch-1.0', '-q', 'filesrc', f'location={photo}', '!', 'jpegdec', '!',
        *encoder.split(), '!', 'filesink', f'location={path}')
    return path.read_bytes()


def rgb_of(photo, folder):
    """Returns planes R, G, B."""
    picture = caught(photo, 'videoconvert ! video/x-raw,format=RGB ! pnmenc', folder)
    _, size, _, data = picture.split(b'\n', 3)
    width, height = map(int, size.split())
    return list(np.frombuffer(data, np.uint8).reshape(height, width, 3).transpose(2, 0, 1))


def yuv_of(photo, folder):
    """Returns planes Y, U, V; chroma is subsampled by two in both axes."""
    head, _, data = caught(photo, 'video/x-raw,format=I420 ! y4menc', folder).split(b'\n', 2)
    width, height = (int(word[1:]) for word in head.split() if word[:1] in (b'W', b'H'))
    half = (height + 1) // 2, (width + 1) // 2
    flat, planes = np.frombuffer(data, np.uint8), []
    for size in ((height, width), half, half):
        planes.append(flat[:size[0] * size[1]].reshape(size))
        flat = flat[size[0] * size[1]:]
    return planes


def resized(plane, frame, size):
    """Interpolates between two samples per axis, with half-pixel centres; samples may be shared."""
    def taps(many, whole, few):
        shared = round(whole / many)
        at = np.clip((np.arange(few) + 0.5) * whole / few / shared - 0.5, 0, many - 1)
        first = np.floor(at).astype(int)
        return first, np.minimum(first + 1, many - 1), at - first
    left, right, part = taps(plane.shape[1], frame[0], size[0])
    lines = plane[:, left] * (1 - part) + plane[:, right] * part
    top, bottom, part = taps(plane.shape[0], frame[1], size[1])
    return lines[top] * (1 - part)[:, None] + lines[bottom] * part[:, None]


def converted(y, cb, cr):
    """Converts JPEG's Y, Cb, Cr to R, G, B."""
    rgb = (y + 1.402 * (cr - 128), y - 0.344136 * (cb - 128) - 0.714136 * (cr - 128),
           y + 1.772 * (cb - 128))
    return [np.clip(plane, 0, 255) for plane in rgb]


def expected(planes, order, mode, folder, yuv=False):
    """Returns the same as boxes_in(), for the photo fitted in that way."""
    frame = np.array(planes[0].shape[::-1])
    scaled = frame * yolox.SIDE / frame.max()
    centred = mode == 'letterbox-center'
    # YOLOX truncates the picture's sides to integers, Ultralytics rounds them.
    picture = (np.round(scaled) if centred else scaled).astype(int)
    border = (yolox.SIDE - picture) // 2 if centred else np.zeros(2, int)
    small = [resized(plane.astype(float), frame, picture) for plane in planes]
    whole = np.full((yolox.SIDE, yolox.SIDE, 3), 114.0)
    (x, y), (width, height) = border, picture
    whole[y:y + height, x:x + width] = np.stack(converted(*small) if yuv else small, -1)
    rows = yolox.infer(MODEL, whole[:, :, ::-1] if order == 'bgr' else whole, folder)
    return yolox.boxes_in(rows, picture, border, frame, THRESHOLD, LIMIT)


def found(photo, props, before='jpegdec'):
    table, _ = run('gst-launch-1.0', '-q', 'filesrc', f'location={photo}', '!', *before.split(),
                   '!', 'tensorinfer', f'model-file={MODEL}', *props, '!', 'boxdecode',
                   f'score-threshold={THRESHOLD}', f'iou-threshold={LIMIT}', '!', 'boxsink',
                   'format=csv')
    return [(int(row['class_id']), float(row['score']),
             [float(row[side]) for side in ('x1', 'y1', 'x2', 'y2')])
            for row in csv.DictReader(io.StringIO(table))]


def partner(box, others):
    return any(box[0] == other[0] and abs(box[1] - other[1]) < 0.02 and
               np.abs(np.subtract(box[2], other[2])).max() < 1 for other in others)


def compare(mine, theirs, what):
    """Checks that every box has a counterpart, except those near the threshold."""
    assert theirs, f'{what}: a photo without boxes tests nothing'
    for one, other, whose in ((mine, theirs, 'too much'), (theirs, mine, 'missing')):
        for box in one:
            assert box[1] < THRESHOLD + NEAR or partner(box, other), f'{what}: {whose}: {box}'


def test_photos_in_both_channel_orders(folder):
    for photo in photos():
        planes = yuv_of(photo, folder)
        for order in ('bgr', 'rgb'):
            for mode in ('letterbox-topleft', 'letterbox-center'):
                mine = found(photo, (f'channel-order={order}', f'resize-mode={mode}'))
                compare(mine, expected(planes, order, mode, folder, yuv=True),
                        f'{photo.name} {order} {mode}')


def test_photos_with_no_property(folder):
    for photo in photos():
        mine = found(photo, (), 'jpegdec ! videoconvert ! video/x-raw,format=RGB')
        theirs = expected(rgb_of(photo, folder), 'bgr', 'letterbox-topleft', folder)
        compare(mine, theirs, photo.name)


def test_a_start_prints_nothing(folder):
    need_inference()
    model = PIPELINES / 'models/shapes.onnx'
    printed = run('gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=2', '!', 'tensorinfer',
                  f'model-file={model}', 'provider=cpu', '!', 'fakesink', cwd=folder)
    assert printed == ('', ''), printed


def test_threads_follow_the_affinity(folder):
    need_inference()
    model, allowed = PIPELINES / 'models/shapes.onnx', min(os.sched_getaffinity(0))
    _, messages = run('gst-launch-1.0', '-q', 'videotestsrc', 'num-buffers=2', '!', 'tensorinfer',
                      f'model-file={model}', 'provider=cpu', '!', 'fakesink', cwd=folder,
                      preexec_fn=lambda: os.sched_setaffinity(0, {allowed}),
                      env={**os.environ, 'GST_DEBUG': 'tensorinfer:4', 'GST_DEBUG_NO_COLOR': '1'})
    threads = 0 if os.cpu_count() == 1 else 1
    assert f'threads {threads} (0: chosen by the runtime), processors 1 of' in messages, messages


if __name__ == '__main__':
    main(globals())
