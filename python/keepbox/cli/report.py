# SPDX-License-Identifier: LGPL-2.1-or-later
"""keepbox report: a page about the results of keepbox scan."""
from __future__ import annotations

import os

from .. import _report
from .._scan import tables
from .._scan.settings import folders_in
from . import Parser, Usage, options

USAGE = 'DIR [-o FILE]'
ABOUT = """\
Writes a page about the results of keepbox scan: one HTML file that opens anywhere. It shows what
failed, the classes with their scores, and each input with its boxes over time and its best frames.
A slider sets the confidence, to find the one that suits: counts, timelines and frames follow
it."""
EXAMPLE = """\
  keepbox report boxes/ -o report.html"""


def run(command: str, words: list[str]) -> int:
    """Runs the command."""
    del command
    parser = Parser('report', USAGE, ABOUT, EXAMPLE)
    add = parser.add_argument
    add('folder', metavar='DIR', nargs='?', help='the folder that --out of keepbox scan named')
    add('-o', '--output', metavar='FILE', default='report.html',
        help='the page (default: report.html)')
    add('--frames', metavar='N', type=options.count, default=60,
        help='show N frames at most (default: 60)')
    arguments = parser.read(words)
    if arguments.folder is None:
        raise Usage('no folder was given: name the one that --out of keepbox scan named')
    tables.arrow()
    folders = folders_in(arguments.folder)
    if len(folders) > 1:
        raise Usage(f'{arguments.folder} has the results of {len(folders)} models or settings: name'
                    f' one of {", ".join(folders)}')
    if os.path.isdir(arguments.output):
        raise Usage(f'-o {arguments.output} is a folder: name a file, such as report.html')
    facts = _report.write(folders[0], arguments.output, arguments.frames)
    boxes = sum(each['boxes'] for each in facts.inputs)
    print(f'{arguments.output}: {len(facts.inputs)} inputs, {boxes} boxes')
    return 0
