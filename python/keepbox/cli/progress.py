# SPDX-License-Identifier: LGPL-2.1-or-later
"""Progress on a terminal; nothing if the output goes elsewhere."""
from __future__ import annotations

import shutil
import sys
import time

INTERVAL = .2  # seconds between two updates


class Progress:
    """One row at the bottom of the terminal that stderr is, which is written again and again.

    wanted: False shows nothing.
    """

    def __init__(self, wanted: bool = True) -> None:
        self._stream = sys.stderr
        self._next = 0. if wanted and self._stream.isatty() else float('inf')
        self._shown = False

    def show(self, name: str, frames: int, seconds: float, left: float | None = None) -> None:
        """Shows how far it is, a few times per second at most.

        name: what is being read.
        seconds: since its first frame.
        left: seconds until its end; None if it has none, or if that is unknown.
        """
        now = time.monotonic()
        if now < self._next:
            return
        self._next, self._shown = now + INTERVAL, True
        parts = [f'{frames} frames']
        if seconds > 0 and frames:
            parts.append(f'{frames / seconds:.1f} frames/s')
        if left is not None:
            parts.append(f'{clock(left)} left')
        row = ', '.join(parts)
        columns = shutil.get_terminal_size().columns - 1
        name = name[-max(columns - len(row) - 2, 0):] if columns > len(row) + 2 else ''
        self._stream.write(f'\r\033[K{name}{": " if name else ""}{row}'[:columns + 4])
        self._stream.flush()

    def clear(self) -> None:
        """Removes the row, for other output."""
        if self._shown:
            self._shown, self._next = False, 0.
            self._stream.write('\r\033[K')
            self._stream.flush()


def clock(seconds: float) -> str:
    """Writes seconds as 1:05 or 2:00:05."""
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f'{hours}:{minutes:02}:{rest:02}' if hours else f'{minutes}:{rest:02}'
