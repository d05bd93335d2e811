# SPDX-License-Identifier: LGPL-2.1-or-later
"""Class names in files, read as boxdecode reads them."""
from __future__ import annotations

import codecs
import os
import pathlib

from ._gi import GLib

BLANK = ' \t\r\n'


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
    """Returns the names in a label file, '' for an empty line.

    Raises:
        OSError, ValueError: it cannot be read, or is empty; the element tells why.
    """
    path = pathlib.Path(label_file)
    if not path.is_file():
        raise FileNotFoundError(label_file)
    text = path.read_bytes().decode('utf-8-sig').rstrip(BLANK)
    if not text:
        raise ValueError(label_file)
    return [line.strip(BLANK) for line in text.split('\n')]
