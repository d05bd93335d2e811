# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sequences to compare trackers on: generated crowds, and recorded scenes of the drawn town."""
import dataclasses
import json

import crowds

# Objects of the town that have to be followed: visible part, and longer side in pixels.
CLEAR, LARGE = 0.4, 24
CROWDS = 3    # of each kind
SIZES = {'street': (1280, 720), 'crossing': (1280, 720), 'square': (3840, 2160)}


@dataclasses.dataclass
class Frame:
    at: float
    truth: list      # (identity, box) of what has to be followed
    others: list     # boxes of what need not be
    boxes: list      # x1, y1, x2, y2, score, class


@dataclasses.dataclass
class Sequence:
    name: str
    rate: float
    size: tuple
    frames: list

    def given(self):
        """Returns what trackers get."""
        return {'rate': self.rate, 'width': self.size[0], 'height': self.size[1],
                'frames': [[frame.at, frame.boxes] for frame in self.frames]}


def of_crowds():
    """Returns several crowds of each kind, with the same name."""
    return [Sequence(scene.name, scene.fps, (crowds.WIDTH, crowds.HEIGHT),
                     [Frame(at, truth, [], boxes)
                      for at, truth, boxes in crowds.frames_of(scene, seed)])
            for scene in crowds.SCENES for seed in range(1, CROWDS + 1)]


def recorded(path):
    """Yields the frames of a file of town.py."""
    for line in path.read_text(encoding='utf-8').splitlines():
        frame = json.loads(line)
        truth, others = [], []
        for identity, x1, y1, x2, y2, visible, _ in frame['truth']:
            if visible > CLEAR and max(x2 - x1, y2 - y1) > LARGE:
                truth.append((identity, (x1, y1, x2, y2)))
            else:
                others.append((x1, y1, x2, y2))
        yield Frame(frame['at'], truth, others, frame['boxes'])


def of_town(folder):
    """Returns each scene at its own rate, at 5 frames per second, and with missing frames."""
    out = []
    for path in sorted(folder.glob('*.jsonl')):
        frames, size = list(recorded(path)), SIZES[path.stem]
        rate = round(1 / (frames[1].at - frames[0].at))
        out += [Sequence(f'{path.stem}, {rate}/s', rate, size, frames),
                Sequence(f'{path.stem}, 5/s', 5, size, frames[::round(rate / 5)]),
                Sequence(f'{path.stem}, 1 of 3 missing', rate, size,
                         [frame for i, frame in enumerate(frames) if i % 3 != 2])]
    return out
