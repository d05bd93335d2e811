# SPDX-License-Identifier: LGPL-2.1-or-later
"""Class names in files, read as boxdecode reads them."""
from __future__ import annotations

import codecs
import os
import pathlib
import re

from ._gi import GLib

BLANK = ' \t\r\n'
MOST = 65536  # classes


def label_file_of(detector: str) -> str:
    """Returns the label file that a detector file names; '' without one, and for a family."""
    if not os.path.isfile(detector):
        return ''
    file = GLib.KeyFile()
    try:
        text = pathlib.Path(detector).read_bytes().removeprefix(codecs.BOM_UTF8)
        file.load_from_data(text.decode(), len(text), GLib.KeyFileFlags.NONE)
        name = file.get_string('detector', 'label-file').strip(BLANK)
    except (GLib.Error, OSError, UnicodeDecodeError):
        return ''
    return os.path.join(os.path.dirname(detector), name)


def names_in(label_file: str) -> list[str]:
    """Returns the names in a label file by number, '' for an empty line and a missing number.

    Raises:
        OSError, ValueError: it cannot be read, or is empty; the element tells why.
    """
    path = pathlib.Path(label_file)
    if not path.is_file():
        raise FileNotFoundError(label_file)
    text = path.read_bytes().decode('utf-8-sig').rstrip(BLANK)
    if not text:
        raise ValueError(label_file)
    lines = [line.strip(BLANK) for line in text.split('\n')]
    return _numbered(lines) or lines


def _numbered(lines: list[str]) -> list[str]:
    """Returns the names of lines such as '2  car' by their numbers; none if other lines are there.
    The first number is 0, or two blanks or a tab follow each: '2 euro' is a name."""
    out: list[str] = []
    wide = True
    found = [re.fullmatch(r'([0-9]+)([ \t]+)(.+)', line) for line in lines if line]
    for match in found:
        if match is None or not len(out) <= int(match[1]) < MOST:
            return []
        out += [''] * (int(match[1]) - len(out)) + [match[3]]
        wide &= match[2] != ' '
    return out if wide or out[0] else []
