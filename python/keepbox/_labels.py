# SPDX-License-Identifier: LGPL-2.1-or-later
"""Class names in files, read as boxdecode reads them."""
from __future__ import annotations

import codecs
import os
import pathlib
import re

BLANK = ' \t\r\n'
MOST = 65536  # classes
ESCAPES = {'\\s': ' ', '\\n': '\n', '\\t': '\t', '\\r': '\r', '\\\\': '\\'}


def label_file_of(detector: str) -> str:
    """Returns the label file that a detector file names; '' without one, and for a family."""
    if not os.path.isfile(detector):
        return ''
    try:
        text = pathlib.Path(detector).read_bytes().removeprefix(codecs.BOM_UTF8).decode()
    except (OSError, UnicodeDecodeError):
        return ''
    group = re.search(r'^[ \t]*\[detector\](.*?)(?=^[ \t]*\[|\Z)', text, re.M | re.S)
    value = group and re.search(r'^[ \t]*label-file[ \t]*=(.*)$', group[1], re.M)
    if value is None:
        return ''
    name = re.sub(r'\\.', lambda escape: ESCAPES.get(escape[0], escape[0]), value[1].strip(BLANK))
    return os.path.join(os.path.dirname(detector), name.strip(BLANK))


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
