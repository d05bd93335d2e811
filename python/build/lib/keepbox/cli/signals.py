# SPDX-License-Identifier: LGPL-2.1-or-later
"""Signals that end a command: the first lets files be completed, a second one ends it at once."""
from __future__ import annotations

import os
import signal
import sys
from types import FrameType, TracebackType

ENDING = signal.SIGINT, signal.SIGTERM, signal.SIGHUP


class Signals:
    """Remembers the first signal, in `status` as an exit status; 0 as long as there is none.
    Signals that are ignored, as under nohup, stay so."""

    def __init__(self) -> None:
        self.status = 0
        self._before: dict[int, object] = {}

    def __enter__(self) -> Signals:
        for each in ENDING:
            if signal.getsignal(each) is not signal.SIG_IGN:
                self._before[each] = signal.signal(each, self._take)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        for each, before in self._before.items():
            signal.signal(each, before)  # type: ignore[arg-type]

    def _take(self, number: int, frame: FrameType | None) -> None:
        del frame
        if self.status:
            sys.stderr.write('\n' * sys.stderr.isatty())
            sys.stderr.flush()
            os._exit(128 + number)
        self.status = 128 + number
