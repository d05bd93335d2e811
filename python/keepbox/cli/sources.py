# SPDX-License-Identifier: LGPL-2.1-or-later
"""What the words for sources on a command line are: pictures, and videos, cameras and streams, of
which each has a line of its own."""
from __future__ import annotations

import argparse
import dataclasses
import os
import re
from collections.abc import Iterable, Sequence

from .._errors import without_password
from .._options import closest
from . import Usage
from .options import methods

HELP = ('video and picture files, folders, patterns, URIs such as rtsp://..., numbers of cameras,'
        " or elements such as 'v4l2src device=/dev/video2'")


@dataclasses.dataclass
class Pictures:
    """Picture files, which are looked at one after the other."""
    paths: list[str]

    @property
    def name(self) -> str:
        """What messages call it."""
        return self.paths[0] if len(self.paths) == 1 else f'{len(self.paths)} pictures'


@dataclasses.dataclass
class Moving:
    """A video, camera or stream; `text` is a path, a device, a URI, or elements.

    live: frames are left out while the model is busy, and its end is an error.
    """
    kind: str  # file, camera, uri or elements
    text: str
    live: bool = False

    @property
    def name(self) -> str:
        """What messages call it."""
        return without_password(self.text)


Source = Moving | Pictures


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the sources."""
    parser.add_argument('sources', metavar='SOURCE', nargs='*', help=HELP)


def sources_of(words: Sequence[str]) -> list[Source]:
    """Returns what is to be read, in order; all pictures are one source, where the first is.

    Raises:
        Usage: no word, or one that is nothing.
    """
    if not words:
        raise Usage('no source was given: name a video, a picture, a folder, a camera such as 0, or'
                    ' a stream')
    found: list[Source] = []
    pictures = Pictures([])
    for each in (each for word in words for each in _opened(word)):
        if isinstance(each, Moving):
            found.append(each)
            continue
        if not pictures.paths:
            found.append(pictures)
        pictures.paths.append(each)
    return found


def _opened(word: str) -> Iterable[Moving | str]:
    """Yields the videos and the names of pictures that a word stands for."""
    from .._given import is_picture
    from .._sources import LIVE, files_of, is_element
    if re.match(r'[A-Za-z][\w+.-]*://', word):
        yield Moving('uri', word, word.startswith(LIVE))
    elif re.fullmatch('[0-9]+', word) and not os.path.exists(word):
        yield Moving('camera', f'/dev/video{word}', True)
    elif not os.path.exists(word) and (' ! ' in word or is_element(word)):
        yield Moving('elements', word)
    else:
        try:
            paths = files_of(word)
        except FileNotFoundError as error:
            raise Usage(f'{error}{_method_meant(word)}') from error
        for path in paths:
            yield path if is_picture(path) else Moving('file', path)


def _method_meant(word: str) -> str:
    """Tells that a word may be meant for --track."""
    meant = closest(word, methods()) if re.fullmatch('[a-z-]+', word) else None
    return f'; did you mean --track {meant}?' if meant else ''
