# SPDX-License-Identifier: LGPL-2.1-or-later
"""keepbox detect: boxes of files, folders, cameras and streams."""
from __future__ import annotations

import argparse
import collections
import dataclasses
import sys
import time

from . import FAILED, Parser, Usage, options, outputs, sources
from .options import Settings, settings_of
from .outputs import STDOUT, Outputs
from .progress import Progress
from .sources import Pictures, Source

USAGE = 'SOURCE... --model FILE [OPTIONS]'
ABOUT = """\
Finds the objects in videos, pictures, cameras and streams. Prints a table of what was found, and
writes the boxes or the video with its boxes drawn. Videos are played one after the other by the
line that `keepbox line` prints. Videos and pictures are turned upright by their orientation tag."""
EXAMPLE = """\
  keepbox detect street.mp4 --model yolov8n.onnx --track -o boxes.mp4 --boxes boxes.jsonl
  keepbox detect photos/ --model yolov8n.onnx -o drawn/ --boxes boxes.jsonl
  keepbox detect 0 --model yolov8n.onnx --show"""
WAIT = 50  # milliseconds between two looks at the lines


@dataclasses.dataclass
class Job:
    """A source with its settings and its outputs."""
    source: Source
    settings: Settings
    outputs: Outputs


def parser_of(command: str, usage: str, about: str, example: str) -> Parser:
    """Returns the parser of detect and line, which take the same words."""
    parser = Parser(command, usage, about, example)
    sources.add_to(parser)
    options.add_to(parser)
    outputs.add_to(parser)
    return parser


def read(parser: Parser, words: list[str]) -> tuple[argparse.Namespace, list[Job]]:
    """Returns the arguments, and what they ask for. Raises Usage."""
    arguments = parser.read(outputs.with_sink(options.with_method(words)))
    if arguments.sources and not arguments.model:
        raise Usage(options.NO_MODEL)
    found = sources.sources_of(arguments.sources)
    lives = [not isinstance(each, Pictures) and each.live for each in found]
    if any(lives) and len(found) > max(arguments.streams, 1) and True in lives[:-1]:
        raise Usage(f'{len(found)} sources are read one after the other, but a camera or stream has'
                    f' no end: read them at a time by --streams {len(found)}')
    draws = arguments.output is not None or arguments.show is not None
    settings = {live: settings_of(arguments, live, draws) for live in set(lives)}
    return arguments, [Job(source, settings[live], out) for source, live, out in
                       zip(found, lives, outputs.outputs_of(arguments, found))]


def say(text: str) -> None:
    """Writes a row to stderr."""
    print(f'keepbox detect: {" ".join(text.split())}', file=sys.stderr, flush=True)


class Run:
    """Plays jobs, and adds up what they found."""

    def __init__(self, jobs: list[Job], streams: int) -> None:
        from .play import Player
        from .signals import Signals
        from .tally import Tally
        self._waiting = collections.deque(jobs)
        # boxes on the same terminal would be mixed with it
        mixed = any(job.outputs.boxes == STDOUT for job in jobs) and sys.stdout.isatty()
        self._streams, self._progress, self._signals = streams, Progress(not mixed), Signals()
        self._active: list[Player] = []
        self._kept: list[Player] = []  # ended; the next line takes over their model
        self.tally, self.failed, self.status = Tally(), False, 0
        self.first = self.last = 0.  # when the first frame came, and the end

    def run(self) -> None:
        """Plays all of them, unless a signal comes."""
        with self._signals:
            try:
                while self._waiting or self._active:
                    self._begin()
                    self._look()
            finally:
                self._progress.clear()
                for player in [*self._active, *self._kept]:
                    player.close()
        self.status = self._signals.status

    def _say(self, text: str) -> None:
        self._progress.clear()
        say(text)

    def _begin(self) -> None:
        """Starts as many as may play at a time."""
        while self._waiting and len(self._active) < self._streams and not self._signals.status:
            job = self._waiting[0]
            if isinstance(job.source, Pictures):
                if not self._active:
                    self._look_at(self._waiting.popleft())
                return
            self._play(self._waiting.popleft())

    def _play(self, job: Job) -> None:
        from .lines import line_of
        from .play import Player
        assert not isinstance(job.source, Pictures)
        outputs.make_folders(job.outputs)
        player = Player(line_of(job.source, job.settings, job.outputs, on_gpu_of(job)), job.source,
                        self._say)
        self._active.append(player)
        player.start()

    def _look_at(self, job: Job) -> None:
        """Looks at the pictures of a job."""
        from .._errors import Error
        from .pictures import PictureRun
        assert isinstance(job.source, Pictures)
        outputs.make_folders(job.outputs)
        pictures = PictureRun(job.source, job.settings, job.outputs, self._say)
        count = len(job.source.paths)

        def shown(number: int) -> bool:
            now = time.monotonic()
            self.first = self.first or now
            took = now - self.first
            left = took / number * (count - number) if number else None
            self._progress.show(pictures.name, number, took, left)
            return not self._signals.status
        try:
            pictures.run(shown)
        except (Error, OSError, ValueError) as error:
            self._fail(str(error), isinstance(error, Error) and bool(error.source))
        self.failed |= pictures.left_out > 0
        self.tally.join(pictures.tally)
        self.last = time.monotonic()

    def _fail(self, text: str, goes_on: bool) -> None:
        """Tells of a failure; unless it is about one source, all end."""
        self._say(text)
        self.failed = True
        if not goes_on:
            self._waiting.clear()
            for player in self._active:
                player.end()

    def _look(self) -> None:
        """Looks after the lines that play."""
        if self._signals.status:
            self._waiting.clear()
            for player in self._active:
                player.end()
        for player in self._active:
            player.step(WAIT / len(self._active))
        if all(player.loaded for player in self._active):
            while self._kept:
                self._kept.pop().close()
        for player in [each for each in self._active if each.ended]:
            self._active.remove(player)
            self._kept.append(player)
            self.tally.join(player.tally)
            firsts = [each for each in (self.first, player.first) if each]
            self.first = min(firsts, default=0.)
            self.last = player.finished
            if player.failure:
                self._fail(player.failure, player.is_about_source)
        self._show()

    def _show(self) -> None:
        if not self._active:
            return
        player = self._active[0]
        frames = sum(each.tally.frames for each in self._active)
        name = player.name if len(self._active) == 1 else f'{len(self._active)} videos'
        lefts = [each.left() for each in self._active]
        left = max((each for each in lefts if each is not None), default=None)
        now = time.monotonic()
        self._progress.show(name, frames, now - player.first if player.first else 0, left)


def on_gpu_of(job: Job) -> list[str] | None:
    """Returns the elements that decode a file on a GPU, if the model may run there."""
    from . import gpu
    if isinstance(job.source, Pictures) or job.source.kind != 'file' or \
            job.settings.infer.get('provider') == 'cpu' or not gpu.is_possible():
        return None
    return gpu.decoders_of(job.source.text)


def report(done: Run, jobs: list[Job]) -> str:
    """Returns the table and what follows it."""
    tracked = any(job.settings.track is not None for job in jobs)
    pictures = all(isinstance(job.source, Pictures) for job in jobs)
    rows = [done.tally.table(tracked), '' if done.tally.rows else 'no boxes']
    rows.append(done.tally.summary('pictures' if pictures else 'frames', done.last - done.first
                                   if done.first else 0))
    return '\n'.join(row for row in rows if row)


def run(command: str, words: list[str]) -> int:
    """Runs the command."""
    arguments, jobs = read(parser_of(command, USAGE, ABOUT, EXAMPLE), words)
    done = Run(jobs, arguments.streams)
    done.run()
    if done.tally.frames:
        print(report(done, jobs), file=sys.stderr if arguments.boxes == STDOUT else sys.stdout)
    if done.status:
        return done.status
    return FAILED if done.failed else 0

