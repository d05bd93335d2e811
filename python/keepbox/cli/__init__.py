# SPDX-License-Identifier: LGPL-2.1-or-later
"""The program keepbox: commands, each in a module of its own, and what they share.

A command is a function that takes the words behind its name and returns an exit status: 0, FAILED,
WRONG, or 128 and the number of the signal that ended it. It raises Usage for a wrong command line,
and Failure or keepbox.Error for what fails later; main() writes their texts.
"""
from __future__ import annotations

import argparse
import dataclasses
import importlib
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from .. import __version__, _runtime
from .._errors import Error
from .._options import closest

FAILED, WRONG = 1, 2
STATUSES = """exit status:
  0  all was done
  1  something failed: a source, a model, a file that cannot be written
  2  the command line is wrong, and nothing was done
  130, 143, 129  SIGINT, SIGTERM or SIGHUP ended it, and its files are complete up to there"""


class Usage(Exception):
    """A command line that is wrong: what is wrong, then what to do."""


class Failure(Exception):
    """A command that failed: what is wrong, then what to do. The text may have been written."""


@dataclasses.dataclass(frozen=True)
class Command:
    """A command: the module whose run() it is, and what it does.

    has_gstreamer: it uses GStreamer itself, so that it runs in the Python of a wheel's runtime;
        others have the packages of the user's Python.
    """
    module: str
    summary: str
    has_gstreamer: bool = True


COMMANDS = {
    'detect': Command('detect', 'find objects in files, folders, cameras and streams'),
    'watch': Command('watch', 'show a page in the browser with the picture and its boxes, live'),
    'line': Command('line', 'print the gst-launch-1.0 line that does what detect does'),
    'scan': Command('scan', 'find objects in archives: a Parquet file each, exactly once',
                    has_gstreamer=False),
    'report': Command('report', 'write a page about the results of scan', has_gstreamer=False),
    'doctor': Command('doctor', 'tell what is installed, what is used, and what is missing'),
    'detectors': Command('tools', 'list the model families'),
    'detector': Command('tools', 'print a model family as a file, or check such a file'),
    'keys': Command('tools', 'explain the keys of such files'),
    'licenses': Command('licenses', 'print the licences of what the package contains'),
    'gst-launch-1.0': Command('tools', "run GStreamer's tool with keepbox's elements"),
    'gst-inspect-1.0': Command('tools', "run GStreamer's tool with keepbox's elements"),
}
# Words of other programs for a command.
OTHER_NAMES = {'predict': 'detect', 'run': 'detect', 'infer': 'detect', 'track': 'detect --track',
               'view': 'watch', 'show': 'watch', 'live': 'watch',
               'pipeline': 'line', 'launch': 'gst-launch-1.0', 'inspect': 'gst-inspect-1.0',
               'info': 'doctor', 'check': 'doctor', 'checks': 'doctor', 'models': 'detectors',
               'families': 'detectors', 'version': '--version', 'help': '--help'}


class Parser(argparse.ArgumentParser):
    """Reads the words of a command. What is wrong is Usage, with the name that may be meant."""

    def __init__(self, command: str, usage: str, about: str, example: str) -> None:
        super().__init__(f'keepbox {command}', usage=f'keepbox {command} {usage}',
                         description=about, epilog=f'example:\n{example}\n\n{STATUSES}',
                         formatter_class=argparse.RawDescriptionHelpFormatter, allow_abbrev=False,
                         add_help=False)
        self.add_argument('-h', '--help', action='help', help='show this text')

    def error(self, message: str) -> NoReturn:
        """Raises Usage."""
        raise Usage(message.removeprefix('argument ').replace('expected one argument',
                                                              'it needs a value'))

    def read(self, words: Sequence[str]) -> argparse.Namespace:
        """Returns the arguments; names and options may be in any order."""
        known, rest = self.parse_known_intermixed_args(words)
        for word in rest:
            if word.startswith('-'):
                name = word.split('=')[0]
                meant = closest(name, self._option_string_actions)
                raise Usage(f'{name} is not an option'
                            + (f': did you mean {meant}?' if meant else ''))
        if rest:
            raise Usage(f'{rest[0]} is one word too many')
        return known


def usage() -> str:
    """Returns the text of --help."""
    rows = '\n'.join(f'  {name:16} {command.summary}' for name, command in COMMANDS.items())
    return f"""usage: keepbox COMMAND ...

Finds objects in videos and pictures by a model, and writes or draws their boxes.

{rows}

keepbox COMMAND --help explains a command. keepbox --version prints the version.

example:
  keepbox detect street.mp4 --model yolov8n.onnx -o boxes.mp4 --boxes boxes.jsonl

{STATUSES}"""


def _dispatch(words: list[str]) -> int:
    if not words:
        print(usage(), file=sys.stderr)
        return WRONG
    name, *rest = words
    if name in ('-h', '--help') and not rest:
        print(usage())
        return 0
    if name == '--version' and not rest:
        print(f'keepbox {__version__}')
        return 0
    if name not in COMMANDS:
        meant = OTHER_NAMES.get(name) or closest(name, COMMANDS)
        raise Usage(f'{name} is not a command: ' + (f'did you mean keepbox {meant}?' if meant else
                                                    'keepbox --help lists them'))
    if COMMANDS[name].has_gstreamer:
        _runtime.enter('keepbox.cli', words)
    module = importlib.import_module(f'.{COMMANDS[name].module}', __name__)
    return int(module.run(name, rest))


def _tell(words: list[str], text: str, kind: int) -> None:
    """Writes what is wrong as one row."""
    command = words[0] if words and words[0] in COMMANDS else ''
    name = f'keepbox {command}'.strip()
    hint = f' (see {name} --help)' if kind == WRONG else ''
    print(f'{name}: {" ".join(text.split())}{hint}', file=sys.stderr)


def main(words: list[str] | None = None) -> int:
    """Runs a command, and returns its exit status."""
    words = sys.argv[1:] if words is None else words
    try:
        status = _dispatch(words)
        sys.stdout.flush()
        return status
    except Usage as error:
        _tell(words, str(error), WRONG)
        return WRONG
    except BrokenPipeError:
        # the reader of stdout has gone; nothing is written at exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return FAILED
    except ModuleNotFoundError as error:
        _tell(words, f'this Python lacks the module {error.name}: install it, or run keepbox by'
                     ' another Python; keepbox doctor tells more', FAILED)
        return FAILED
    except (Failure, Error, ImportError, OSError) as error:
        if str(error):
            _tell(words, str(error), FAILED)
        return FAILED
    except KeyboardInterrupt:
        return 130
