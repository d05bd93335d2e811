#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the first line of README.md on models that nothing describes, whose rows were once taken for
another family's. gst-launch-1.0 prints a warning or an error, or the boxes are right."""
import json
import random
import subprocess

from onnxrows import write_rows
from tap import PIPELINES, detect, first_line, main, need, run

SIDE = 640
CELLS = [(stride, x, y) for stride in (8, 16, 32)
         for y in range(SIDE // stride) for x in range(SIDE // stride)]
ASSUMED = 'assumed: RGB, 0..1, letterbox-center'  # tensorinfer's warning
OBJECTS = {1000: (200, 300, 80, 60), 5000: (450, 330, 50, 90)}  # by row: cx cy w h in the input


def rows_of(scores, more=lambda: ()):
    """Returns decoded rows of cx cy w h, then `scores(found)` of each row, then more numbers."""
    draw = random.Random(1)
    rows = []
    for number, (stride, x, y) in enumerate(CELLS):
        box = OBJECTS.get(number) or ((x + draw.random()) * stride, (y + draw.random()) * stride,
                                      stride * 3, stride * 3)
        rows.append((*box, *scores(number in OBJECTS), *more()))
    return rows


def classes(count):
    """Returns scores of which the first decide nothing."""
    return lambda found: [0.9 if found and i == count // 2 else 0.01 for i in range(count)]


def launch(folder, rows, output):
    """Runs the line. Returns its status, or None if it hangs, what it prints, and the boxes of the
    first frame."""
    need('tensorinfer')
    (folder / 'pipelines').symlink_to(PIPELINES)
    write_rows(folder / 'model.onnx', rows, output)
    line = first_line().replace('\\\n', ' ')
    model, = (word for word in line.split() if word.startswith('model-file='))
    line = line.replace(model, 'model-file=model.onnx')
    line = line.replace('! tensorinfer', '! identity eos-after=3 ! tensorinfer')
    done = subprocess.run(['timeout', '--kill-after=5', '30', 'bash', '-c', line], cwd=folder,
                          capture_output=True, text=True, check=False)
    status = None if done.returncode in (124, -9) else done.returncode
    boxes = folder / 'boxes.jsonl'
    frames = boxes.read_text().splitlines() if boxes.exists() else []
    found = json.loads(frames[0]).get('objects') or [] if frames else []
    return status, done.stdout + done.stderr, found


def right(found, size=(1280, 720)):
    """True if the boxes are those of OBJECTS on a letterboxed frame."""
    scale = max(size) / SIDE
    top = (SIDE - size[1] / scale) / 2
    wanted = sorted(((cx - w / 2) * scale, (cy - h / 2 - top) * scale, w * scale, h * scale)
                    for cx, cy, w, h in OBJECTS.values())
    boxes = sorted((box['x'], box['y'], box['w'], box['h']) for box in found)
    return len(boxes) == len(wanted) and all(
        abs(a - b) < 2 for box, want in zip(boxes, wanted) for a, b in zip(box, want))


def check(folder, rows, output, *words):
    hung = 0
    for number in range(5):
        place = folder / str(number)
        place.mkdir()
        status, messages, found = launch(place, rows, output)
        # gst-launch-1.0 of 1.26 sometimes misses an error before the first frame
        if status is None:
            hung += 1
            print(f'# the line hung: {messages!r}')
            assert hung < 2 and not found, messages
        # gst-launch-1.0 prints an error at once, and may end before it prints an earlier warning
        if status is not None and (
                ASSUMED in messages or 'ERROR: from element' not in messages):
            break
    assert status == 0 or 'ERROR: from element' in messages, messages
    assert status or 'WARNING: from element' in messages or right(found), \
        f'wrong without a word: {found}'
    for word in words:
        assert word in messages, f'{word} is not in {messages}'
    return status, messages, found


def test_rows_of_18_classes(folder):
    check(folder, rows_of(classes(18)), 'output0', 'yolov8 (18 classes)', ASSUMED)


def test_rows_with_an_angle(folder):
    draw = random.Random(2)
    check(folder, rows_of(classes(15), lambda: [draw.uniform(-0.7, 2.3)]), 'output0',
          'yolov8-obb (15 classes, an angle)', 'detector=', ASSUMED)


def test_rows_with_keypoints(folder):
    draw = random.Random(3)
    points = lambda: [draw.uniform(0, SIDE) if i % 3 < 2 else draw.random() for i in range(51)]
    check(folder, rows_of(classes(1), points), 'output0', 'yolov8-pose (1 class, 17 keypoints)',
          'detector=', ASSUMED)


def test_rows_of_yolov6_under_another_name(folder):
    scores = classes(20)
    rows = rows_of(lambda found: [1, *scores(found)])
    status, messages, found = check(folder, rows, 'detections')
    assert status == 0 and right(found), f'{found} {messages}'


def test_frames_on_stdout_leave_warnings_visible(folder):
    need('tensorinfer')
    write_rows(folder / 'model.onnx', [(0, 0, 10, 10, 0.01, 0)] * 300, 'output0')
    out, messages = detect('videotestsrc num-buffers=1', '--boxes', '-',
                           model=folder / 'model.onnx')
    frame, = out.splitlines()
    assert 'resolution' in json.loads(frame), frame
    assert 'No box on any of 1 frames' in messages, messages


def test_right_sees_wrong_boxes(folder):
    del folder
    boxes = [{'x': x, 'y': y, 'w': w, 'h': h}
             for x, y, w, h in ((320, 260, 160, 120), (850, 290, 100, 180))]
    assert right(boxes), 'the boxes in the middle of a letterbox of 280 rows'
    assert not right(boxes[:1])
    boxes[0]['y'] += 5
    assert not right(boxes)


if __name__ == '__main__':
    main(globals())
