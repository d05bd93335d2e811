# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs one line of keepbox: a picture through a model, and the boxes that it writes."""
import json
import pathlib
import re
import subprocess
import tempfile

import numpy as np

TOLD = re.compile(r'\bINFO\s+(?:tensorinfer|boxdecode)\s+\S+?:(?:prepare|announce):\S*\s+(.*)$')
SPOKEN = re.compile(r'(?:WARNING|ERROR): from element \S+: (.*)$')
ASIDE = ("pipeline doesn't want to preroll", 'Internal data stream error')  # what follows an error


class Failed(Exception):
    """The error of gst-launch-1.0 for a line that does not run."""


def launch(dev, folder, *line):
    """Runs the line in the folder. Returns its status, its log about model and family, and its
    warnings and errors, each once."""
    command = [str(dev), 'run', 'gst-launch-1.0', '--gst-debug=tensorinfer:4,boxdecode:4',
               '--gst-debug-no-color', *(str(word) for word in line)]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, errors='replace',
                          timeout=300, check=False)
    lines = (done.stderr + '\n' + done.stdout).splitlines()
    logged = [found.group(1) for found in map(TOLD.search, lines) if found]
    spoken = [found.group(1) for found in map(SPOKEN.match, lines) if found]
    spoken = [text for text in dict.fromkeys(spoken) if not text.startswith(ASIDE)]
    spoken += [line for line in lines if '-CRITICAL **' in line or '-WARNING **' in line]
    return done.returncode, logged, spoken or ([done.stderr[-500:]] if done.returncode else [])


def boxes_of(dev, folder, model, picture, threshold, more=()):
    """Returns the line's objects as written by boxsink, its log, and its warnings."""
    with tempfile.TemporaryDirectory(dir=folder) as made:
        out = pathlib.Path(made) / 'boxes.jsonl'
        status, logged, spoken = launch(
            dev, folder, 'filesrc', f'location={picture}', '!', 'pngdec', '!', 'videoconvert', '!',
            'tensorinfer', f'model-file={model}', '!', 'boxdecode', f'score-threshold={threshold}',
            *more, '!', 'boxsink', f'location={out}')
        if status:
            raise Failed('; '.join(spoken))
        return json.loads(out.read_text()).get('objects') or [], logged, spoken


def runs_of(text):
    """Returns run lengths from COCO's text."""
    lengths, at = [], 0
    while at < len(text):
        value, shift, more = 0, 0, True
        while more:
            digit = ord(text[at]) - 48
            value |= (digit & 0x1f) << shift
            more, at, shift = bool(digit & 0x20), at + 1, shift + 5
        if digit & 0x10:
            value -= 1 << shift
        lengths.append(value + lengths[-2] if len(lengths) > 2 else value)
    return lengths


def mask_of(mask):
    """Returns a mask in its own pixels, height x width."""
    lengths = runs_of(mask['rle'])
    pixels = np.repeat(np.arange(len(lengths)) % 2 == 1, lengths)
    return pixels.reshape(mask['width'], mask['height']).T


def covers(mask):
    """Returns the number of frame pixels that the mask covers."""
    return int(mask_of(mask).sum()) * mask['w'] * mask['h'] / (mask['width'] * mask['height'])


def place(mask, width, height):
    """Returns the mask at the pixels of a frame of that size, by nearest neighbour."""
    own = mask_of(mask)
    x = (np.arange(width) + 0.5 - mask['x']) / mask['w'] * own.shape[1]
    y = (np.arange(height) + 0.5 - mask['y']) / mask['h'] * own.shape[0]
    inside = ((x >= 0) & (x < own.shape[1]))[None] & ((y >= 0) & (y < own.shape[0]))[:, None]
    at_x = np.clip(x.astype(int), 0, own.shape[1] - 1)
    at_y = np.clip(y.astype(int), 0, own.shape[0] - 1)
    return own[at_y][:, at_x] & inside
