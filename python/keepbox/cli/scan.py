# SPDX-License-Identifier: LGPL-2.1-or-later
"""keepbox scan: the boxes of archives as Parquet files, exactly once."""
from __future__ import annotations

import argparse
import os
import re
import shutil
import sys
import time
from typing import TextIO

from .. import _scan
from .._scan import checks, inputs
from .._scan.run import Options, Scan, State
from . import FAILED, Parser, Usage, options
from .progress import INTERVAL, clock
from .signals import Signals

USAGE = 'INPUT... --model FILE --out DIR [OPTIONS]'
ABOUT = """\
Finds the objects in archives of videos and pictures. Each input, a video or a folder of pictures,
gets a Parquet file with a row per box, and a line in a manifest; the folder DIR has a folder of
them for each model with its settings. What is there is skipped: after an end of any kind, the same
command does what is missing. An input that cannot be read is a line of the manifest, not the
end."""
EXAMPLE = """\
  keepbox scan videos/ --model yolov8n.onnx --out boxes/ --track
  keepbox scan --list files.txt --model yolov8n.onnx --out boxes/ --shard 3/16
  keepbox scan --check boxes/ videos/"""
LINE = 60.  # seconds between two lines of progress, where there is no terminal


def _parser() -> Parser:
    parser = Parser('scan', USAGE, ABOUT, EXAMPLE)
    add = parser.add_argument
    add('inputs', metavar='INPUT', nargs='*',
        help='videos, pictures, folders with those in them, and patterns')
    add('--list', metavar='FILE', help='a file with the name of an input in each line; - for stdin')
    add('--out', metavar='DIR', help='the folder of the results')
    add('--check', metavar='DIR', help='compare the results in DIR with its manifest, and with the'
        ' inputs that are named; look at none')
    options.add_to(parser)
    group = parser.add_argument_group('the work')
    add = group.add_argument
    add('--workers', metavar='N', type=options.count,
        help='processes (default: one per processor, or one with a GPU)')
    add('--streams', metavar='K', type=options.count, default=1,
        help='inputs that a process looks at at a time, through one model (default: 1)')
    add('--shard', metavar='I/N', type=_shard, help='look at part I of N of the inputs, such as'
        ' 3/16; machines that have a part each may share DIR')
    add('--hash', action='store_true', help='know inputs again by what they contain; otherwise by'
        ' name, size and time of modification')
    add('--max-errors', metavar='N', type=_number, help='end when more than N inputs have failed'
        ' (default: never)')
    add('--retry', action='store_true', help='look again at inputs that failed before')
    return parser


def _number(text: str) -> int:
    if not re.fullmatch('[0-9]{1,9}', text):
        raise argparse.ArgumentTypeError(f'it must be a number from 0, not {text}')
    return int(text)


def _shard(text: str) -> tuple[int, int]:
    found = re.fullmatch('([1-9][0-9]{0,5})/([1-9][0-9]{0,5})', text)
    if not found or int(found[1]) > int(found[2]):
        raise argparse.ArgumentTypeError('it must be one of the parts from 1/N to N/N, such as'
                                         f' 3/16, not {text}')
    return int(found[1]), int(found[2])


class Show:
    """Shows how far a scan is: a row on a terminal, elsewhere a line in each minute."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._terminal = self._stream.isatty()
        self._next = time.monotonic() + (0 if self._terminal else LINE)
        self._shown = False

    def show(self, state: State) -> None:
        """Shows it, if it is time."""
        now = time.monotonic()
        if now < self._next:
            return
        text = progress_of(state, now - state.began)
        if not self._terminal:
            self._next = now + LINE
            print(f'keepbox scan: {text}', file=self._stream, flush=True)
            return
        self._next, self._shown = now + INTERVAL, True
        self._stream.write(f'\r\033[K{text}'[:shutil.get_terminal_size().columns + 3])
        self._stream.flush()

    def say(self, text: str) -> None:
        """Writes a line about something else."""
        self.clear()
        print(f'keepbox scan: {" ".join(text.split())}', file=self._stream, flush=True)

    def clear(self) -> None:
        """Removes the row of a terminal."""
        if self._shown:
            self._shown, self._next = False, 0.
            self._stream.write('\r\033[K')
            self._stream.flush()


def _speed(state: State, took: float) -> list[str]:
    parts = []
    if state.frames and took > 0:
        parts.append(f'{state.frames / took:,.1f} frames/s')
    if state.seconds and took > 0:
        parts.append(f'{state.seconds / took:,.1f} h of video per hour')
    return parts


def progress_of(state: State, took: float) -> str:
    """Returns how far a scan is. took: seconds since its start."""
    parts = [f'{state.earlier + state.done} of {state.files} inputs', *_speed(state, took)]
    done = state.size - state.left
    if done and state.left:
        parts.append(f'{clock(took * state.left / done)} left')
    if state.errors:
        parts.append(f'{state.errors} failed')
    return ', '.join(parts)


def summary_of(state: State, folder: str, took: float) -> str:
    """Returns what a scan has done. took: seconds since its start."""
    counts = [f'{state.done - state.errors - state.partial} ok']
    counts += [f'{state.partial} partial'] * bool(state.partial)
    counts += [f'{state.errors} failed'] * bool(state.errors)
    parts = [f'{state.done} inputs looked at ({", ".join(counts)})' if state.done
             else 'no input looked at']
    if state.earlier:
        parts.append(f'{state.earlier} done before')
    text = ', '.join(parts)
    if state.frames:
        text += f'; {state.frames} frames in {took:.1f} s ({", ".join(_speed(state, took))})'
    return f'{text}\n{folder}'


def _inputs_of(arguments: argparse.Namespace) -> list[inputs.Input]:
    """Returns the inputs that the words name."""
    if not arguments.inputs and not arguments.list:
        raise Usage('no input was given: name videos, pictures, folders or patterns, or --list')
    try:
        found = inputs.of_words(arguments.inputs, arguments.hash)
        if arguments.list:
            found += inputs.of_names(_names_in(arguments.list), arguments.hash)
    except (FileNotFoundError, ValueError) as error:
        raise Usage(str(error)) from error
    return list({each.key: each for each in found}.values())


def _names_in(path: str) -> list[str]:
    try:
        with open(sys.stdin.fileno() if path == '-' else path, encoding='utf-8',
                  errors='surrogateescape') as file:
            return file.read().splitlines()
    except OSError as error:
        raise Usage(f'--list: {path} cannot be read: {error.strerror}') from error


def _check(arguments: argparse.Namespace) -> int:
    """Runs --check."""
    sources = _inputs_of(arguments) if arguments.inputs or arguments.list else None
    if sources and arguments.shard:
        sources = [each for each in sources if inputs.is_of_shard(each.key, arguments.shard)]
    wrong = 0
    for about, problems in checks.check(arguments.check, sources):
        for text in problems:
            print(text)
        print(about)
        wrong += len(problems)
    return FAILED if wrong else 0


def _workers_of(arguments: argparse.Namespace) -> int:
    if arguments.workers:
        return int(arguments.workers)
    if arguments.provider != 'cpu' and options.has_gpu():
        return 1
    return _scan.default_workers(arguments.streams)


def run(command: str, words: list[str]) -> int:
    """Runs the command."""
    del command
    arguments = _parser().read(options.with_method(words))
    if arguments.check:
        return _check(arguments)
    if not arguments.out:
        raise Usage('no folder for the results was given: add --out DIR')
    if os.path.exists(arguments.out) and not os.path.isdir(arguments.out):
        raise Usage(f'--out {arguments.out} is a file: name a folder')
    settings = options.settings_of(arguments)
    sources = _inputs_of(arguments)
    show, signals = Show(), Signals()
    scan = Scan(sources, _scan.with_threads(settings.for_detector()), arguments.out,
                Options(_workers_of(arguments), arguments.streams, arguments.shard,
                        arguments.max_errors, arguments.retry), show.say)

    def shown(state: State) -> bool:
        show.show(state)
        return not signals.status
    with signals:
        try:
            scan.run(shown)
        finally:
            show.clear()
    print(summary_of(scan.state, scan.folder, time.monotonic() - scan.state.began))
    if signals.status:
        left = scan.state.files - scan.state.earlier - scan.state.done
        show.say(f'ended with {left} inputs missing: the same command goes on')
        return signals.status
    return FAILED if scan.state.errors else 0
