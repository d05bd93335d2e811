# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the page of a scan shows: counts by input, class, time and score, and the best frames."""
from __future__ import annotations

import dataclasses
import os
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._scan import tables
from .._scan.inputs import PICTURES
from .._scan.manifest import ERROR, OK, PARTIAL, Row, read
from .._scan.settings import read as read_settings

# Limits of the slider; a box counts above a limit if its score is greater.
LIMITS = np.arange(101) / 100
COLUMNS = ['frame', 'time', 'picture', 'x1', 'y1', 'x2', 'y2', 'score', 'label']
ORDER = {ERROR: 0, PARTIAL: 1, OK: 2}
BEST = 3  # frames of an input that may be shown
# Divisions of a timeline, by the number of inputs up to which they are used.
DIVISIONS = ((60, 96), (400, 48), (1 << 30, 24))


@dataclasses.dataclass
class Best:
    """A frame that is shown. boxes: corners, score and number of the class of each."""
    path: str
    time: float | None
    caption: str
    score: float
    boxes: list[list[float]]


class Facts:
    """What is known of the results in a folder of settings."""

    def __init__(self, folder: str) -> None:
        self.folder, self.settings = folder, read_settings(folder)
        rows = sorted(read(folder).values(), key=lambda row: (ORDER[row['status']], row['input']))
        self.divisions = next(count for limit, count in DIVISIONS if len(rows) <= limit)
        self.classes: list[str] = []
        self.inputs: list[dict[str, Any]] = []
        self.best: list[tuple[int, Best]] = []  # with the number of their input
        for row in rows:
            self._add(row)

    def _class(self, name: str) -> int:
        """Returns the number of a class on the page."""
        if name not in self.classes:
            self.classes.append(name)
        return self.classes.index(name)

    def _add(self, row: Row) -> None:
        length = row['frames'] if row['kind'] == PICTURES else row['video_seconds']
        shown = {'name': row['input'], 'status': row['status'], 'error': row['error'],
                 'frames': row['frames'], 'boxes': row['boxes'], 'length': length or 0,
                 'pictures': row['kind'] == PICTURES, 'cells': [], 'best': [],
                 'divisions': max(min(self.divisions, row['frames']), 1)}
        self.inputs.append(shown)
        if row['status'] == ERROR:
            return
        path = os.path.join(self.folder, row['key'] + tables.SUFFIX)
        table = tables.arrow().parquet.read_table(path, columns=COLUMNS, partitioning=None)
        if not table.num_rows:
            return
        found = {name: table.column(name).to_numpy() for name in COLUMNS[:2] + COLUMNS[3:8]}
        labels = table.column('label').combine_chunks()
        numbers = np.array([self._class(name) for name in labels.dictionary.to_pylist()])
        classes = numbers[labels.indices.to_numpy()]
        at = found['frame'] + .5 if shown['pictures'] else found['time']
        shown['cells'] = _cells(at / (length or 1), found['score'], classes, shown['divisions'])
        pictures = table.column('picture').to_pylist()
        self.best += [(len(self.inputs) - 1, self._frame(row, found, classes, pictures, index))
                      for index in _best_of(found['frame'], found['score'], classes)]

    def _frame(self, row: Row, found: dict[str, NDArray[Any]], classes: NDArray[Any],
               pictures: list[str | None], index: int) -> Best:
        """Returns the frame of a box."""
        of_frame = np.flatnonzero(found['frame'] == found['frame'][index])
        corners = np.stack([found[name][of_frame] for name in ('x1', 'y1', 'x2', 'y2', 'score')], 1)
        boxes = [[*(round(float(each), 3) for each in values), int(number)]
                 for values, number in zip(corners, classes[of_frame])]
        picture = pictures[index]
        path = os.path.join(row['path'], picture) if picture else row['path']
        time = None if picture else float(found['time'][index])
        return Best(path, time, picture or f'{time:.2f} s', float(found['score'][index]), boxes)


def _cells(at: NDArray[Any], scores: NDArray[Any], classes: NDArray[Any],
           divisions: int) -> list[int]:
    """Returns class, division of the time, number of limits that the score exceeds, and count of
    boxes, one after the other. at: from 0 to 1."""
    column = np.clip((at * divisions + 1e-6).astype(int), 0, divisions - 1)
    level = np.searchsorted(LIMITS, scores.astype(float), 'left')
    cells, counts = np.unique(np.stack([classes, column, level], 1), axis=0, return_counts=True)
    return [int(each) for each in np.concatenate([cells, counts[:, None]], 1).ravel()]


def _best_of(frames: NDArray[Any], scores: NDArray[Any], classes: NDArray[Any]) -> list[int]:
    """Returns the best box of each class, of those with the most boxes, on frames that differ."""
    numbers, counts = np.unique(classes, return_counts=True)
    found: dict[int, int] = {}
    for number in numbers[np.argsort(-counts, kind='stable')]:
        of_class = np.flatnonzero(classes == number)
        best = int(of_class[np.argmax(scores[of_class])])
        if len(found) < BEST:
            found.setdefault(int(frames[best]), best)
    return list(found.values())
