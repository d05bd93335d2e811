# SPDX-License-Identifier: LGPL-2.1-or-later
"""What was found, counted by class, and the table of it."""
from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import NamedTuple


class Found(NamedTuple):
    """A box: its class, its score, and its id or None."""
    name: str
    score: float
    number: int | None


@dataclasses.dataclass
class Row:
    """The boxes of a class."""
    boxes: int = 0
    frames: int = 0
    best: float = 0
    objects: set[tuple[int, int]] = dataclasses.field(default_factory=set)


class Tally:
    """Counts of all sources. Each frame is counted by one thread; several sources have a tally
    each, and are added up."""

    def __init__(self) -> None:
        self.rows: dict[str, Row] = {}
        self.frames = self.skipped = self.sources = 0

    def add(self, boxes: Iterable[Found], skipped: bool) -> None:
        """Counts a frame.

        skipped: no model looked at it.
        """
        self.frames += 1
        self.skipped += skipped
        seen = set()
        for box in boxes:
            row = self.rows.setdefault(box.name, Row())
            row.boxes += 1
            row.best = max(row.best, box.score)
            if box.number is not None:
                row.objects.add((self.sources, box.number))
            seen.add(box.name)
        for name in seen:
            self.rows[name].frames += 1

    def join(self, other: Tally) -> None:
        """Adds the counts of a source."""
        self.frames += other.frames
        self.skipped += other.skipped
        for name, row in other.rows.items():
            mine = self.rows.setdefault(name, Row())
            mine.boxes += row.boxes
            mine.frames += row.frames
            mine.best = max(mine.best, row.best)
            mine.objects |= {(self.sources, number) for _, number in row.objects}
        self.sources += 1

    def table(self, tracked: bool) -> str:
        """Returns the table, a row for each class, that with the most boxes first."""
        if not self.rows:
            return ''
        head = ['class', 'boxes', 'frames', *(['objects'] if tracked else []), 'best score']
        order = sorted(self.rows.items(), key=lambda item: (-item[1].boxes, item[0]))
        rows = [[name, f'{row.boxes}', f'{row.frames}',
                 *([f'{len(row.objects)}'] if tracked else []), f'{row.best:.2f}']
                for name, row in order]
        widths = [max(map(len, column)) for column in zip(head, *rows)]
        return '\n'.join('  '.join(word.rjust(width) if at else word.ljust(width)
                                   for at, (word, width) in enumerate(zip(row, widths)))
                         for row in [head, *rows])

    def summary(self, what: str, seconds: float) -> str:
        """Returns a row about all frames.

        what: frames or pictures.
        """
        looked = f', {self.frames - self.skipped} of them looked at' if self.skipped else ''
        speed = f' ({self.frames / seconds:.1f} per second)' if seconds > 0 and self.frames else ''
        what = what.removesuffix('s') if self.frames == 1 else what
        return f'{self.frames} {what}{looked} in {seconds:.1f} s{speed}'
