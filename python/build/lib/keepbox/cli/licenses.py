# SPDX-License-Identifier: LGPL-2.1-or-later
"""keepbox licenses: the licences of what the package contains."""
from __future__ import annotations

from .. import __version__, _runtime
from . import Failure, Parser

ABOUT = """\
Prints what the package contains, with versions, and where the licence of each is; with a name, the
text of that licence. The sources are those of Debian 13 under these names and versions."""
EXAMPLE = """\
  keepbox licenses libopenh264-8"""
OWN = f'keepbox {__version__} is under the LGPL, version 2.1 or later.'
PLACE = _runtime.BROUGHT / 'licenses'


def text_of(name: str) -> str:
    """Returns the licence of a part; raises Failure if there is no such part."""
    path = PLACE / name
    if '/' in name or not path.is_file():
        raise Failure(f'{name} is no part of this package: keepbox licenses lists them')
    return path.read_text(errors='replace')


def run(command: str, words: list[str]) -> int:
    """Prints licences."""
    parser = Parser(command, '[NAME]', ABOUT, EXAMPLE)
    parser.add_argument('name', nargs='?', metavar='NAME')
    name = parser.read(words).name
    if name is not None:
        print(text_of(name), end='')
    elif not PLACE.is_dir():
        print(f'{OWN}\nGStreamer and libraries are those of this system.')
    else:
        print(f'{OWN}\nIt contains these packages of Debian 13; their licences are in {PLACE}:\n')
        print((PLACE / 'versions').read_text(), end='')
    return 0
