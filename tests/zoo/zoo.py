#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the boxes of one line of keepbox with those of the frameworks that models come from.

Models of Ultralytics, torchvision and transformers are made with random weights, exported to ONNX
and run on drawn pictures: by the framework's own prediction, and by

    filesrc ! pngdec ! videoconvert ! tensorinfer model-file=X ! boxdecode score-threshold=C !
      boxsink

with no other property. Some pictures have the size of the model's input, or need only bars, so that
the values must be equal; others are scaled. compare.py has the tolerances.

This program is not part of the build's tests, because it requires some gigabytes of Python packages
in a separate environment:

    python3 -m venv ~/zoo-venv
    ~/zoo-venv/bin/pip install torch torchvision 'ultralytics==8.4.*' transformers timm onnx \\
      onnxruntime onnxslim opencv-python-headless
    ~/zoo-venv/bin/python tests/zoo/zoo.py --work ~/zoo

A first run takes a quarter of an hour. Exports and expected boxes stay in the folder; --again makes
them again. Parts of models' names select some. The output is a table; the exit status is 1 if a
model differs.
"""
import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import sys
import tempfile
import traceback

MISSING = [name for name in ('numpy', 'cv2', 'torch', 'onnx', 'onnxruntime')
           if importlib.util.find_spec(name) is None]
if MISSING and {'-h', '--help'} & set(sys.argv[1:]):
    print(__doc__.strip())
    sys.exit()
if MISSING:
    sys.exit(f'SKIP: no {", ".join(MISSING)} for Python; {sys.argv[0]} lists what it requires')

import numpy as np

import pictures
from compare import HALF, SAME, SCALED, clipped, compare, from_line, has_area
from line import Failed, boxes_of, place

HERE = pathlib.Path(__file__).resolve().parent
FRAMEWORKS = {'yolo': 'ultralytics', 'vision': 'torchvision', 'detrs': 'transformers'}
SCALED_FRAMES = ((640, 480), (810, 1080))
LEAST_MASK = 30  # pixels; smaller masks are not compared
SAME_MASK = 0.99  # overlap of masks at the frame's pixels
MOST_BAD_MASKS = 0.1  # some have many edges
TOUCHY = ('half', 'd-fine')  # one rounding of the input changes scores, another scaler moves boxes
WIDEST = 38  # column of names


class Zoo:
    """Returns the folder of pictures, exports and expectations."""

    def __init__(self, folder, again, more):
        self.folder, self.again, self.more = folder, again, more
        for name in ('pictures', 'models', 'expected'):
            (folder / name).mkdir(parents=True, exist_ok=True)

    def picture(self, size):
        return pictures.write(self.folder / 'pictures', *size)

    def model(self, module, name):
        """Returns the path of the export, which is made if missing."""
        path = self.folder / 'models' / f'{name}.onnx'
        if self.again or not path.exists():
            seen = [self.picture(size) for size, _ in frames_of(module, name)]
            with tempfile.TemporaryDirectory(dir=self.folder) as made:
                made = pathlib.Path(made)
                quietly(self.folder / 'log', module.export, name, made / path.name, seen)
                shutil.copytree(made, path.parent, dirs_exist_ok=True)
        return path

    def expected(self, module, name, size):
        """Returns objects, and masks or None, of the framework."""
        path = self.folder / 'expected' / f'{name}.{size[0]}x{size[1]}.json'
        masks = path.with_suffix('.npz')
        if self.again or not path.exists():
            objects, made = quietly(self.folder / 'log', module.expect, name,
                                    self.folder / 'models' / f'{name}.onnx', self.picture(size))
            masks.unlink(missing_ok=True)
            if made is not None:
                np.savez_compressed(masks, masks=made)
            path.write_text(json.dumps(objects, indent=0))
        objects = json.loads(path.read_text())
        return objects, np.load(masks)['masks'] if masks.exists() else None


def frames_of(module, name):
    """Returns sizes of frames, and the tolerances for them."""
    own = module.unscaled(name)
    if any(part in name for part in TOUCHY):
        return [(size, HALF) for size in own]
    scaled = [] if module.ANY_SIZE else [size for size in SCALED_FRAMES if size not in own]
    return [(size, SAME) for size in own] + [(size, SCALED) for size in scaled]


def quietly(log, function, *arguments):
    """Redirects output of frameworks to a file."""
    with open(log, 'a', encoding='utf-8') as out, contextlib.redirect_stdout(out), \
            contextlib.redirect_stderr(out):
        return function(*arguments)


def masks_differ(pairs, found, masks, size, least):
    """Counts masks of matched boxes that overlap by less. A mask of keepbox has the pixels of the
    prototypes by default, four of the model's input each: their centres are compared."""
    bad, worst = 0, 1.0
    compared = np.s_[:, :] if least == SAME_MASK else np.s_[1::4, 1::4]
    if masks.shape[1:] != (size[1], size[0]):
        at_y, at_x = from_letterbox(size, *masks.shape[:0:-1])
        masks = masks[:, at_y][:, :, at_x]
    for i, j in pairs:
        ours = np.zeros(masks.shape[1:], bool)
        if 'mask' in found[j]:
            ours = place(found[j]['mask'], *size)
        ours, theirs = ours[compared], masks[i][compared]
        union = int((ours | theirs).sum())
        overlap = int((ours & theirs).sum()) / union if union >= LEAST_MASK else 1.0
        bad, worst = bad + (overlap < least), min(worst, overlap)
    if bad <= (0 if least == SAME_MASK else max(1, MOST_BAD_MASKS * len(pairs))):
        return []
    return [f'{bad} of {len(pairs)} masks overlap by less than {least}, one by {worst:.3f}']


def from_letterbox(size, width, height):
    """Returns the row and column of a centred letterbox for each of the frame's pixels."""
    gain = min(width / size[0], height / size[1])
    pad_x, pad_y = (width - size[0] * gain) / 2, (height - size[1] * gain) / 2
    at_x = ((np.arange(size[0]) + 0.5) * gain + pad_x).astype(int)
    at_y = ((np.arange(size[1]) + 0.5) * gain + pad_y).astype(int)
    return np.clip(at_y, 0, height - 1), np.clip(at_x, 0, width - 1)


def objects_of(zoo, dev, module, name, size, *more):
    """Returns the objects with an area of keepbox's line, its log, and its warnings."""
    found, logged, spoken = boxes_of(dev, zoo.folder, zoo.folder / 'models' / f'{name}.onnx',
                                     zoo.picture(size), module.THRESHOLD, (*zoo.more, *more))
    (zoo.folder / 'found').mkdir(exist_ok=True)
    (zoo.folder / 'found' / f'{name}.{size[0]}x{size[1]}.json').write_text(json.dumps(found))
    found = [clipped(from_line(each), *size) for each in found]
    return [each for each in found if has_area(each)], logged, spoken


def check(zoo, dev, module, name, size, limits):
    """Returns differences, log, and warnings for one picture. Masks of unscaled pictures are also
    compared at the frame's pixels, where they and the boxes with an empty mask are the same."""
    wanted, masks = zoo.expected(module, name, size)
    if masks is not None:
        wanted = [{**each, 'covers': int(mask.sum())} for each, mask in zip(wanted, masks)]
    wanted = [clipped(each, *size) for each in wanted]
    there = [i for i, each in enumerate(wanted) if has_area(each)]
    wanted = [wanted[i] for i in there]
    found, logged, spoken = objects_of(zoo, dev, module, name, size)
    differences, pairs = compare(wanted, found, module.THRESHOLD, limits)
    if masks is not None:
        differences += masks_differ(pairs, found, masks[there], size, limits['mask'])
    if masks is not None and limits is SAME:
        found = objects_of(zoo, dev, module, name, size, 'mask-size=frame')[0]
        for each in wanted + found:
            each.pop('covers', None)  # none may be missing
        more, pairs = compare(wanted, found, module.THRESHOLD, {**limits, 'share': 1})
        differences += more + masks_differ(pairs, found, masks[there], size, SAME_MASK)
    return differences, logged, spoken, len(wanted)


def recognised(logged):
    """Returns the family chosen by boxdecode, and the preparation of the input."""
    texts = [re.search(r' as (.+?): \d+ anchor', ' '.join(logged)),
             re.search(r'model input: (.+?): ', ' '.join(logged))]
    return '; '.join(found.group(1) for found in texts if found) or 'not recognised'


def report(name, size, result, logged, spoken):
    """Prints a row of the table, followed by the warnings of gst-launch-1.0."""
    print(f'{name:<{WIDEST}} {size[0]}x{size[1]:<5} {recognised(logged)} | {result}')
    for text in spoken:
        print(f'    {text}')
    sys.stdout.flush()


def run(zoo, dev, module, name):
    """Checks one model with all its pictures. Returns true if all are equal."""
    good, boxes = True, 0
    for size, limits in frames_of(module, name):
        logged, spoken, count = [], [], 1
        try:
            zoo.model(module, name)
            differences, logged, spoken, count = check(zoo, dev, module, name, size, limits)
            result = f'DIFFERS: {"; ".join(differences)}' if differences else f'same, {count} boxes'
        except Failed as failed:
            differences, result = [failed], f'FAILS: {failed}'
        except Exception as problem:  # of any framework
            traceback.print_exc(file=open(zoo.folder / 'log', 'a', encoding='utf-8'))
            differences, result = [problem], f'NOT MADE: {problem}'
        good, boxes = good and not differences, boxes + count
        report(name, size, result, logged, spoken)
    if not boxes:
        print(f'{name}: no picture has a box, which proves nothing')
    return good and boxes > 0


def frameworks():
    """Returns the modules that are installed."""
    for name, package in FRAMEWORKS.items():
        if importlib.util.find_spec(package):
            yield importlib.import_module(name)
        else:
            print(f'SKIP {package}: not installed')


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument('--dev', type=pathlib.Path, default=HERE.parent.parent / 'dev',
                        help="a checkout's ./dev, whose build is run (default: this one's)")
    parser.add_argument('--work', type=pathlib.Path, default=pathlib.Path('zoo'),
                        help='folder for models and results')
    parser.add_argument('--again', action='store_true', help='make exports and expectations again')
    parser.add_argument('--boxdecode', default='', metavar='PROPERTIES',
                        help='further properties of boxdecode, to find out why boxes differ')
    parser.add_argument('names', nargs='*', help='parts of model names (default: all models)')
    given = parser.parse_args()
    zoo = Zoo(given.work.resolve(), given.again, given.boxdecode.split())
    os.environ.setdefault('YOLO_CONFIG_DIR', str(zoo.folder / 'settings'))
    os.environ.setdefault('YOLO_OFFLINE', 'true')
    os.environ.setdefault('YOLO_AUTOINSTALL', 'false')
    results = {}
    for module in frameworks():
        for name in module.MODELS:
            if not given.names or any(part in name for part in given.names):
                results[name] = run(zoo, given.dev.resolve(), module, name)
    bad = [name for name, good in results.items() if not good]
    print(f'{len(results) - len(bad)} of {len(results)} models are the same' +
          (f'; not {", ".join(bad)}' if bad else ''))
    return 1 if bad or not results else 0


if __name__ == '__main__':
    sys.exit(main())
