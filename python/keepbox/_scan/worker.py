# SPDX-License-Identifier: LGPL-2.1-or-later
"""A process that looks at inputs: it has the model and the pipelines, and writes the tables. It
reads tasks from stdin and writes what it did to a pipe, both as lines of JSON. It ends, with
nothing half left, when either is closed.

    python3 -m keepbox._scan.worker PIPE
"""
from __future__ import annotations

import json
import os
import queue
import sys
import threading
import time
import warnings
from typing import Any, NoReturn, TextIO

INTERVAL = .5  # seconds between two messages about progress


class Process:
    """The process. out: where messages go."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._lock = out, threading.Lock()
        self._tasks: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        self._at: dict[str, tuple[int, float]] = {}  # frames and seconds of inputs in work
        self._name = threading.local()
        self._said: set[str] = set()
        self._parts: set[str] = set()
        self.looker: Any = None

    def tell(self, **message: Any) -> None:
        """Writes a message."""
        with self._lock:
            try:
                self._out.write(json.dumps(message) + '\n')
                self._out.flush()
            except OSError:
                os._exit(1)  # nobody waits for it any more

    def open(self, detector: dict[str, Any]) -> None:
        """Loads the model."""
        from .looking import Looker
        warnings.simplefilter('always')
        warnings.showwarning = self._warn  # type: ignore[assignment]
        self.looker = Looker(detector)
        self.tell(hello={'runtime': self.looker.runtime, 'provider': self.looker.provider})

    def _warn(self, message: Warning | str, *rest: object) -> None:
        text = str(message)
        if 'although it declares' not in text and text not in self._said:  # the row tells that
            self._said.add(text)
            self.tell(say=f'{getattr(self._name, "input", "")}: warning: {text}')

    def look(self) -> None:
        """Looks at inputs, one after the other."""
        from . import tables
        from .inputs import Input
        while task := self._tasks.get():
            source = Input.of_json(task['look'])
            self._name.input = source.name
            try:
                self._parts.add(tables.part_of(task['folder'], source.key, os.getpid()))
                row = self.looker.look(source, task['folder'], task['settings'],
                                       lambda *at: self._at.__setitem__(source.key, at),
                                       task['attempt'])
            except Exception as error:  # is told, and ends the scan
                self.tell(fatal=f'{type(error).__name__}: {error}'
                          if not str(error) or _is_bug(error) else str(error))
                return
            self._at.pop(source.key, None)
            self._parts.discard(tables.part_of(task['folder'], source.key, os.getpid()))
            self.tell(row=row)

    def progress(self) -> None:
        """Tells how far it is, again and again."""
        while True:
            time.sleep(INTERVAL)
            at = dict(self._at)
            if at:
                self.tell(at=at)

    def run(self, tasks: TextIO) -> None:
        """Serves until the tasks end."""
        first = json.loads(tasks.readline() or 'null')
        if first is None:
            return
        from .._errors import Error
        try:
            self.open(first['detector'])
        except (Error, ImportError, OSError, TypeError, ValueError) as error:
            self.tell(fatal=str(error))
            return
        for each in (self.progress, *[self.look] * first['streams']):
            threading.Thread(target=each, daemon=True).start()
        for line in tasks:
            self._tasks.put(json.loads(line))

    def leave(self) -> NoReturn:
        """Ends the process at once, without what is half done."""
        from . import tables
        tables.remove(list(self._parts))
        os._exit(0)


def _is_bug(error: Exception) -> bool:
    from .._errors import Error
    return not isinstance(error, Error | OSError)


def main() -> None:
    """Runs the process."""
    out = os.fdopen(int(sys.argv[1]), 'w')
    process = Process(out)
    process.run(sys.stdin)
    process.leave()


if __name__ == '__main__':
    main()
