#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests the package in several processes: forked ones, and results that pass between processes."""
import multiprocessing
import pickle
import subprocess
import sys

import numpy as np

from common import CLIP, MODEL, PIPELINES, fails, need_inference
from tap import main

import keepbox

# What a child does after a fork, and what it prints; the parent has used a detector.
BEGIN = f"""
import os, sys, warnings, numpy, keepbox, multiprocessing
warnings.simplefilter('ignore')
image = numpy.zeros((48, 64, 3), numpy.uint8)
model, clip = {str(MODEL)!r}, {str(CLIP)!r}

def child(work):
    try:
        print(work(), flush=True)
    except keepbox.Error as error:
        print('Error', error, flush=True)

def forked(work):
    process = multiprocessing.get_context('fork').Process(target=child, args=(work,))
    process.start()
    process.join()
    print('exit', process.exitcode, flush=True)
"""
USED = """
detector = keepbox.Detector(model)
stream = detector(clip)
frame = next(stream)
pictures = detector([image] * 5)
next(pictures)
"""


def output(program, seconds=60):
    """Returns what a program prints; fails if it hangs."""
    done = subprocess.run([sys.executable, '-c', program], capture_output=True, text=True,
                          timeout=seconds, check=False)
    assert done.returncode == 0 and 'CRITICAL' not in done.stderr, done.stderr[-2000:]
    return done.stdout.splitlines()


def test_a_forked_child_cannot_use_what_its_parent_made(folder):
    del folder
    need_inference()
    for work in ('detector.detect(image)', 'next(stream)', 'next(pictures)', 'detector(clip)',
                 'keepbox.Detector(model)', 'detector.set(confidence=.5)', 'frame.image',
                 'stream.stats()'):
        said, end, *rest = output(f'{BEGIN}{USED}forked(lambda: {work})\n'
                                  'print(len(detector.detect(image).boxes), len(list(stream)))')
        assert said.startswith('Error') and "get_context('spawn')" in said, (work, said)
        assert end == 'exit 0' and rest == ['0 249'], 'the parent goes on'


def test_a_forked_child_ends(folder):
    """Also one that ends as a program does, and one that has closed what it has of its parent."""
    del folder
    need_inference()
    for end in 'sys.exit(0)', 'stream.close(); pictures.close(); detector.close(); del frame', '':
        program = (f'{BEGIN}{USED}\nprocess = os.fork()\nif process == 0:\n    {end or "pass"}\n'
                   '    print("child", flush=True)\n    sys.exit(0)\n'
                   'print("ended with", os.waitpid(process, 0)[1], flush=True)')
        lines = output(program)
        assert lines[-1] == 'ended with 0', lines


def test_a_forked_child_ends_while_its_parent_loads_a_model(folder):
    del folder
    need_inference()
    program = f"""{BEGIN}
import threading, time
loads = threading.Thread(target=keepbox.Detector, args=(model,))
loads.start()
children, alive = [], 0
for _ in range(25):
    time.sleep(.004)
    child = os.fork()
    if child == 0:
        sys.exit(0)
    children.append(child)
    alive += loads.is_alive()
print(alive > 0, {{os.waitpid(child, 0)[1] for child in children}})
"""
    assert output(program) == ['True {0}'], 'a child that hangs, or none that had to wait'


def test_a_child_may_use_it_alone(folder):
    del folder
    need_inference()
    lines = output(f'{BEGIN}for _ in range(2):\n'
                   '    forked(lambda: len(keepbox.Detector(model).detect(image).boxes))')
    assert lines == ['0', 'exit 0'] * 2, lines
    lines = output(f'{BEGIN}{USED}forked(lambda: 7)')
    assert lines == ['7', 'exit 0'], 'a child that does not use it'


def found_in(path):
    """Runs in a worker: returns frames of a clip."""
    detector = keepbox.Detector(MODEL, confidence=.5, tracker='boxtrack')
    return [frame for frame, _ in zip(detector(path), range(5))]


def test_results_of_a_worker(folder):
    del folder
    need_inference()
    with multiprocessing.get_context('spawn').Pool(1) as pool:
        frames, = pool.map(found_in, [CLIP])
    for frame, here in zip(frames, found_in(CLIP), strict=True):
        assert (frame.index, frame.time, frame.path) == (here.index, here.time, here.path)
        assert frame.shape == here.shape and frame.skipped is here.skipped is False
        for name in 'xyxy', 'conf', 'cls', 'names', 'models', 'ids', 'parents', 'held', 'predicted':
            assert np.array_equal(getattr(frame.boxes, name), getattr(here.boxes, name)), name
        assert len(frame.boxes) > 5 and repr(frame) == repr(here)


def test_pickled_boxes(folder):
    del folder
    need_inference()
    for model in 'shapes-seg.onnx', 'shapes-pose.onnx', 'shapes-obb.onnx':
        frame = keepbox.Detector(PIPELINES / 'models' / model, confidence=.5).detect(CLIP)
        boxes, again = frame.boxes, pickle.loads(pickle.dumps(frame.boxes))
        assert np.array_equal(again.masks_in_frame(), boxes.masks_in_frame())
        assert np.array_equal(again.corners, boxes.corners)
        assert (again.keypoints is None) == (boxes.keypoints is None) == ('pose' not in model)
        if boxes.keypoints is not None:
            assert np.array_equal(again.keypoints, boxes.keypoints)
        part = again[again.names == 'ring']
        assert np.array_equal(part.xyxy, boxes[boxes.names == 'ring'].xyxy) and len(part)
        assert again.tensors == boxes.tensors and again.attributes == boxes.attributes


def test_pixels_of_pickled_frames(folder):
    del folder
    need_inference()
    frame = keepbox.Detector(MODEL).detect(CLIP)
    again = pickle.loads(pickle.dumps(frame))
    assert len(pickle.dumps(frame)) < 20000
    for use in again.draw, lambda: again.image:
        fails(keepbox.Error, 'pickled without its pixels', use)
    image = frame.image
    assert np.array_equal(pickle.loads(pickle.dumps(frame)).image, image), 'they were read before'


if __name__ == '__main__':
    main(globals())
