#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the drawn world's networks, with weights read from their exports, with these exports.

Their outputs must differ by rounding only, as must those with batch norms as training computes
them. Requires torch, onnx, onnxruntime, numpy, OpenCV and pycairo or cairocffi for Python:

    python3 -m venv ~/exports-venv
    ~/exports-venv/bin/pip install torch onnx onnxruntime numpy opencv-python-headless cairocffi
    ~/exports-venv/bin/python tests/zoo/exports.py
"""
import argparse
import importlib.util
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / 'tools'))
if {'-h', '--help'} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()
MISSING = [name for name in ('torch', 'onnx', 'onnxruntime', 'cv2')
           if importlib.util.find_spec(name) is None]
if MISSING:
    sys.exit(f'SKIP: no {", ".join(MISSING)} for Python; {sys.argv[0]} --help lists what it '
             'requires')

import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402
import torch  # noqa: E402

from world import resume, train  # noqa: E402
from world.net import Part  # noqa: E402

APART = 2e-3  # pixels


def outputs(made):
    return made if isinstance(made, tuple) else (made,)


def compare(name, task, image):
    """Returns the largest difference of a network's outputs for a task from those of its export.
    Keypoints are of a further training, so what all exports contain is read from theirs."""
    arguments = argparse.Namespace(weights=TOP / 'pipelines/models', prefix='world-')
    paths, net = train.earlier(arguments, name), train.networks()[name][0]
    path = paths[train.TASKS[name].index(task)]
    resume.load(net, [path, *paths] if task == 'pose' else paths)
    session = onnxruntime.InferenceSession(path, providers=['CPUExecutionProvider'])
    wanted, apart = session.run(None, {'images': image.numpy()}), 0.0
    for training in (False, True):
        if training:
            resume.settle(net, image)
        net.train(training)
        with torch.no_grad():
            made = outputs(Part(net, task)(image))
        apart = max([apart, *(float(np.abs(a.numpy() - b).max()) for a, b in zip(made, wanted))])
    return apart


def main():
    torch.manual_seed(1)
    image = torch.rand(2, 3, 544, 960)
    found = {(name, task): compare(name, task, image)
             for name, tasks in train.TASKS.items() for task in tasks}
    for (name, task), apart in found.items():
        print(f'{name}, {task}: at most {apart:.2g} apart')
    return int(max(found.values()) > APART)


sys.exit(main())
