# SPDX-License-Identifier: LGPL-2.1-or-later
"""The worker processes of a scan: gives them inputs, and starts another where one was killed."""
from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import pathlib
import selectors
import signal
import subprocess
import sys
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from .._errors import Error
from . import looking, tables
from .inputs import Input
from .manifest import Row

ATTEMPTS = 3  # of an input whose worker is killed each time
PACKAGE = str(pathlib.Path(__file__).resolve().parents[2])


@dataclasses.dataclass
class Task:
    """An input, and how many workers were killed while they had it."""
    source: Input
    killed: int = 0


class Worker:
    """A process.

    detector: arguments of keepbox.Detector.
    streams: inputs at a time.
    """

    def __init__(self, detector: dict[str, Any], streams: int) -> None:
        out, pipe = os.pipe()
        path = os.pathsep.join([PACKAGE, *filter(None, [os.environ.get('PYTHONPATH')])])
        # A session of its own, so that Ctrl-C reaches the scan alone.
        self.process = subprocess.Popen(
            [sys.executable, '-m', 'keepbox._scan.worker', str(pipe)], stdin=subprocess.PIPE,
            pass_fds=[pipe], env={**os.environ, 'PYTHONPATH': path}, start_new_session=True)
        os.close(pipe)
        os.set_blocking(out, False)
        self.out, self._half, self.streams = out, b'', streams
        self.tasks: dict[str, Task] = {}
        self.ready = False
        self.send({'detector': detector, 'streams': streams})

    def send(self, message: dict[str, Any]) -> None:
        """Writes to it; one that has ended is found by its pipe."""
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.write(json.dumps(message).encode() + b'\n')
            self.process.stdin.flush()

    def messages(self) -> Iterable[dict[str, Any]] | None:
        """Returns what it wrote; None if it has ended."""
        try:
            block = os.read(self.out, 1 << 20)
        except BlockingIOError:
            return []
        if not block:
            return None
        *lines, self._half = (self._half + block).split(b'\n')
        return map(json.loads, lines)

    def end(self) -> None:
        """Kills it."""
        with contextlib.suppress(OSError):
            self.process.kill()
        self.close()

    def close(self) -> int:
        """Waits for its end; returns its status."""
        assert self.process.stdin
        with contextlib.suppress(OSError):
            self.process.stdin.close()
        status = self.process.wait()
        os.close(self.out)
        return status


class Pool:
    """Workers that look at inputs.

    detector: arguments of keepbox.Detector, of each worker.
    said: takes texts for the user.
    """

    def __init__(self, detectors: list[dict[str, Any]], streams: int,
                 said: Callable[[str], None]) -> None:
        self._detectors, self._streams, self._said = detectors, streams, said
        self._selector = selectors.DefaultSelector()
        self._workers: list[tuple[Worker, dict[str, Any]]] = []
        self._waiting: deque[Task] = deque()
        self._folder = self._settings = ''
        self.at: dict[str, tuple[int, float]] = {}  # frames and seconds of inputs in work
        self.hello: dict[str, str] | None = None
        self._start(detectors[0])

    def _start(self, detector: dict[str, Any]) -> None:
        worker = Worker(detector, self._streams)
        self._workers.append((worker, detector))
        self._selector.register(worker.out, selectors.EVENT_READ, worker)

    def await_model(self) -> dict[str, str]:
        """Returns what the first worker tells of its model: its runtime and its provider.

        Raises:
            Error: it cannot be loaded.
        """
        while self.hello is None:
            self.step(1)
        return self.hello

    def begin(self, sources: Iterable[Input], folder: str, settings: str) -> None:
        """Gives inputs to the workers, whose tables go to a folder."""
        self._waiting.extend(map(Task, sources))
        self._folder, self._settings = folder, settings
        for detector in self._detectors[1:len(self._waiting)]:
            self._start(detector)
        self._give()

    def _give(self) -> None:
        """Gives each worker as many inputs as it looks at, first those with the fewest; an input
        whose worker was killed gets one of its own."""
        while self._waiting:
            free = [worker for worker, _ in self._workers if len(worker.tasks) < worker.streams
                    and not any(task.killed for task in worker.tasks.values())]
            if self._waiting[0].killed:
                free = [worker for worker in free if not worker.tasks]
            if not free:
                return
            worker, task = min(free, key=lambda each: len(each.tasks)), self._waiting.popleft()
            worker.tasks[task.source.key] = task
            worker.send({'look': task.source.as_json(), 'folder': self._folder,
                         'settings': self._settings, 'attempt': task.killed + 1})

    @property
    def is_done(self) -> bool:
        """True if all inputs have a row."""
        return not self._waiting and not any(worker.tasks for worker, _ in self._workers)

    def step(self, seconds: float) -> list[Row]:
        """Waits that long for something to happen; returns the rows of inputs that are done.

        Raises:
            Error: the scan cannot go on.
        """
        rows: list[Row] = []
        for key, _ in self._selector.select(seconds):
            worker = key.data
            found = worker.messages()
            if found is None:
                rows += self._ended(worker)
                continue
            for message in found:
                self._take(worker, message, rows)
        self._give()
        return rows

    def _take(self, worker: Worker, message: dict[str, Any], rows: list[Row]) -> None:
        if 'fatal' in message:
            raise Error(message['fatal'])
        if 'hello' in message:
            worker.ready, self.hello = True, message['hello']
        elif 'say' in message:
            self._said(message['say'])
        elif 'at' in message:
            self.at |= {key: tuple(each) for key, each in message['at'].items()
                        if key in worker.tasks}
        elif 'row' in message:
            row = message['row']
            del worker.tasks[row['key']]
            self.at.pop(row['key'], None)
            rows.append(row)

    def _ended(self, worker: Worker) -> list[Row]:
        """Starts another worker for one that was killed; returns the rows of inputs that are
        given up."""
        self._selector.unregister(worker.out)
        detector = next(each for one, each in self._workers if one is worker)
        self._workers = [each for each in self._workers if each[0] is not worker]
        status = worker.close()
        how = f'signal {signal.Signals(-status).name}' if status < 0 else f'status {status}'
        if not worker.ready:
            raise Error(f'the process of the model ended with {how} before it was loaded: the'
                        ' memory may be too small for that many --workers')
        rows = []
        self._remove_parts(worker)
        for task in worker.tasks.values():
            task.killed += 1
            self.at.pop(task.source.key, None)
            if task.killed < ATTEMPTS:
                self._waiting.appendleft(task)
                continue
            rows.append(looking.failed(task.source, f'the process that read it ended with {how},'
                                       f' {ATTEMPTS} times', ATTEMPTS, self._settings))
        self._start(detector)
        return rows

    def close(self) -> None:
        """Ends all workers, and removes what they had not completed."""
        for worker, _ in self._workers:
            worker.end()
            self._remove_parts(worker)
        self._selector.close()

    def _remove_parts(self, worker: Worker) -> None:
        """Removes what a worker that has ended did not complete."""
        tables.remove([tables.part_of(self._folder, key, worker.process.pid)
                       for key in worker.tasks])
