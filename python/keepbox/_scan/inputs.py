# SPDX-License-Identifier: LGPL-2.1-or-later
"""The inputs of a scan: videos, and folders of pictures, each with a key by which its results are
found again."""
from __future__ import annotations

import dataclasses
import glob
import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from typing import Any, BinaryIO

from .._given import VIDEOS, is_picture, suffix_of

KEY_LENGTH = 16
VIDEO, PICTURES = 'video', 'pictures'
BLOCK = 1 << 20


@dataclasses.dataclass(frozen=True)
class Input:
    """A unit of work, of results and of retries.

    Attributes:
        key: a digest of its name and of its files.
        name: its path, relative to the argument that it was found by.
        path: where it is: a file, or a folder of pictures.
        kind: VIDEO or PICTURES.
        files: names of the pictures in the folder; empty for a video.
        state: size and time of modification of its files, as they were when it was found.
        size: bytes of all files.
    """
    key: str
    name: str
    path: str
    kind: str
    files: tuple[str, ...]
    state: tuple[tuple[int, int], ...]
    size: int

    def as_json(self) -> dict[str, Any]:
        """Returns what another process needs."""
        return dataclasses.asdict(self)

    @staticmethod
    def of_json(found: dict[str, Any]) -> Input:
        """Returns what as_json() wrote."""
        return Input(**{**found, 'files': tuple(found['files']),
                        'state': tuple((size, time) for size, time in found['state'])})

    @property
    def paths(self) -> list[str]:
        """Its files."""
        return [os.path.join(self.path, name) for name in self.files] or [self.path]

    def is_unchanged(self) -> bool:
        """True if its files are as they were when it was found."""
        return _state_of(self.paths) == self.state


def _state_of(paths: Iterable[str]) -> tuple[tuple[int, int], ...]:
    """Returns size and time of modification of each file, -1 for those that are not there."""
    found = []
    for path in paths:
        try:
            about = os.stat(path)
            found.append((about.st_size, about.st_mtime_ns))
        except OSError:
            found.append((-1, -1))
    return tuple(found)


def digest_of(file: BinaryIO) -> str:
    """Returns the SHA-256 of what a file contains."""
    found = hashlib.sha256()
    while block := file.read(BLOCK):
        found.update(block)
    return found.hexdigest()


def content_of(path: str) -> str:
    """Returns the SHA-256 of a file; '' if it cannot be read."""
    try:
        with open(path, 'rb') as file:
            return digest_of(file)
    except OSError:
        return ''


def _input(kind: str, name: str, path: str, files: tuple[str, ...], by_content: bool) -> Input:
    found = Input('', name, os.path.abspath(path), kind, files, (), 0)
    state = _state_of(found.paths)
    about = [content_of(each) for each in found.paths] if by_content else state
    text = json.dumps([kind, name, files, about])
    key = hashlib.sha256(text.encode('utf-8', 'surrogateescape')).hexdigest()[:KEY_LENGTH]
    return dataclasses.replace(found, key=key, state=state,
                               size=sum(max(size, 0) for size, _ in state))


def _of_folder(folder: str, by_content: bool) -> Iterator[Input]:
    """Yields the videos and the folders of pictures in a folder and in those below it."""
    for place, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith('.'))
        names = sorted(name for name in files if not name.startswith('.'))
        below = os.path.relpath(place, folder)
        pictures = tuple(name for name in names if is_picture(name))
        if pictures:
            name = os.path.basename(os.path.abspath(folder)) if below == '.' else below
            yield _input(PICTURES, name, place, pictures, by_content)
        for name in names:
            if suffix_of(name) in VIDEOS:
                yield _input(VIDEO, os.path.normpath(os.path.join(below, name)),
                             os.path.join(place, name), (), by_content)


def _of_file(name: str, path: str, by_content: bool) -> Input:
    if is_picture(path):
        folder, file = os.path.split(path)
        return _input(PICTURES, name, folder or '.', (file,), by_content)
    return _input(VIDEO, name, path, (), by_content)


def _of_pattern(pattern: str, by_content: bool) -> Iterator[Input]:
    """Yields what matches; the pictures of one folder are one input."""
    root = os.path.dirname(re.split(r'[*?[]', pattern)[0])
    pictures: dict[str, list[str]] = {}
    for path in sorted(glob.glob(pattern, recursive=True)):
        if is_picture(path):
            folder, file = os.path.split(path)
            pictures.setdefault(folder, []).append(file)
        elif suffix_of(path) in VIDEOS and not os.path.isdir(path):
            yield _of_file(os.path.relpath(path, root or '.'), path, by_content)
        elif os.path.isdir(path) and '**' not in pattern:
            yield from _of_folder(path, by_content)
    for folder, files in pictures.items():
        name = os.path.relpath(folder or '.', root or '.')
        name = os.path.basename(os.path.abspath(folder)) if name == '.' else name
        yield _input(PICTURES, name, folder or '.', tuple(files), by_content)


def _of_word(word: str, by_content: bool) -> Iterator[Input]:
    if re.match(r'[A-Za-z][\w+.-]*://', word):
        raise ValueError(f'{word} is no file: scan reads files and folders; detect reads streams')
    if os.path.isdir(word):
        yield from _of_folder(word, by_content)
    elif os.path.exists(word):
        yield _of_file(os.path.basename(word), word, by_content)
    elif glob.has_magic(word):
        yield from _of_pattern(word, by_content)
    else:
        raise FileNotFoundError(f'there is no file or folder named {word}')


def of_words(words: Iterable[str], by_content: bool = False) -> list[Input]:
    """Returns the inputs that files, folders and patterns stand for, each once.

    by_content: keys are digests of what files contain, not of their size and time.

    Raises:
        FileNotFoundError: there is nothing of that name, or nothing in it.
        ValueError: no name of a file.
    """
    found: dict[str, Input] = {}
    for word in words:
        inputs = list(_of_word(word, by_content))
        if not inputs:
            raise FileNotFoundError(f'there are neither videos nor pictures in {word}')
        for each in inputs:
            found.setdefault(each.key, each)
    return list(found.values())


def of_names(names: Iterable[str], by_content: bool = False) -> list[Input]:
    """Returns the inputs of a list of names; those that do not exist are inputs, too, which will
    be errors."""
    found: dict[str, Input] = {}
    for name in names:
        if not name.strip():
            continue
        each = list(_of_folder(name, by_content)) if os.path.isdir(name) else \
            [_of_file(os.path.normpath(name), name, by_content)]
        for one in each:
            found.setdefault(one.key, one)
    return list(found.values())


def of_path(path: str, name: str) -> Input:
    """Returns the input that a video, a picture or a folder of pictures is."""
    if not os.path.isdir(path):
        return _of_file(name, path, False)
    pictures = sorted(each for each in os.listdir(path)
                      if is_picture(each) and not each.startswith('.'))
    return _input(PICTURES, name, path, tuple(pictures), False)


def is_of_shard(key: str, shard: tuple[int, int] | None) -> bool:
    """True if an input belongs to a shard: number 1 to count of count."""
    return shard is None or int(key, 16) % shard[1] == shard[0] - 1
