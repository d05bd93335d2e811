# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sources of frames: which elements read them, or which pictures and arrays they are."""
from __future__ import annotations

import dataclasses
import glob
import os
import pathlib
import re
from collections.abc import Iterator, Sequence
from typing import Any

from ._errors import DECODER, Error, without_password
from ._gi import Gst
from ._given import (AHEAD, VIDEOS, Given, Pixels, checked_item, checked_pixels, is_picture,
                     suffix_of)
from ._line import Pipeline
from ._memory import buffer_of

LIVE = ('rtmp://', 'rtp://', 'rtsp://', 'rtsps://', 'rtspt://', 'rtspu://', 'srt://', 'udp://',
        'v4l2://')
# Of a file, decodebin of GStreamer 1.26 often posts neither an error nor an end if it has no video.
# decodebin3 asks the file how it can be read when it is linked, so that is done by play().
FILE = f'filesrc name=keepbox-source decodebin3 name={DECODER}'
UPRIGHT = 'videoconvert ! videoflip video-direction=auto'
ELEMENTS = ("; for GStreamer elements pass a source element and put ' ! ' between elements, such as"
            " 'v4l2src device=/dev/video2 ! videoflip method=clockwise'")
# Seconds that the next frame of a URI is waited for by default.
TIMEOUT = 30.


@dataclasses.dataclass
class Video:
    """A video, camera or network stream: the elements that read it, of which the one named
    keepbox-source has these properties; its name in errors, '' if the elements tell enough.

    endless: its end is an error.
    timeout: seconds that its next frame is waited for; None for no limit.
    """
    text: str
    properties: dict[str, object]
    live: bool = False
    path: str | None = None
    name: str = ''
    endless: bool = False
    timeout: float | None = None


@dataclasses.dataclass
class Picture:
    """A picture as a sample; its file, or the array that it was made of."""
    sample: Any
    path: str | None = None
    image: Pixels | None = None


Item = Picture | Video | Exception


@dataclasses.dataclass
class Items:
    """Pictures and videos, of which `ahead` may be read before the boxes of the first are asked
    for. One that cannot be read is the exception that tells why."""
    each: Iterator[Item]
    ahead: int = AHEAD


def open_source(given: Given, colors: str) -> Video | Items:
    """Opens a source.

    Raises:
        FileNotFoundError: a file or folder that does not exist, or one without pictures and videos.
        TypeError, ValueError: nothing that frames can be read from.
    """
    if given.kind == 'number':
        device = f'/dev/video{given.value}'
        return Video('v4l2src name=keepbox-source', {'device': device}, live=True, name=device)
    if given.kind == 'text':
        return _open_text(given.value)
    if given.kind == 'path':
        return _open_path(given.value)
    if given.kind == 'arrays':
        return Items((picture_of(checked_pixels(item), colors) for item in given.value),
                     given.ahead)
    return Items((_opened(item, colors) for item in given.value), given.ahead)


def _open_text(text: str) -> Video | Items:
    if re.match(r'[A-Za-z][\w+.-]*://', text):
        return Video('uridecodebin name=keepbox-source', {'uri': text}, text.startswith(LIVE),
                     name=without_password(text), timeout=TIMEOUT)
    return Video(text, {}) if ' ! ' in text or is_element(text) else _open_path(text)


def is_element(text: str) -> bool:
    """True for an element that is a source, with its properties, if no file has that name."""
    name, *_ = text.split() or ['']
    factory = Gst.ElementFactory.find(name) if name and not os.path.exists(text) else None
    return factory is not None and 'Source' in factory.get_metadata('klass').split('/')


def _open_path(path: str) -> Video | Items:
    files = files_of(path)
    if files == [path]:
        return Items(iter([read_picture(path)])) if is_picture(path) else _video(path)
    return Items(map(_opened, files))


def files_of(path: str) -> list[str]:
    """Returns the files that a path is: itself, or the pictures and videos of a folder or pattern
    in the order of their names.

    Raises:
        FileNotFoundError: there is no such file, or no picture or video among them.
    """
    if os.path.isdir(path):
        return _files_among(sorted(map(str, pathlib.Path(path).iterdir())),
                            f'in the folder {path}')
    if os.path.exists(path):
        return [path]
    found = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
    if not found:
        hint = ELEMENTS if re.match(r'[a-z]\w*(\s|!|$)', path) else ''  # like that of an element
        raise FileNotFoundError(without_password(f'there is no file named {path}{hint}'))
    return _files_among(found, f'that match {path}')


def _files_among(paths: Sequence[str], place: str) -> list[str]:
    """Returns the pictures and videos among paths; raises FileNotFoundError if there are none."""
    found = [path for path in paths if is_picture(path) or suffix_of(path) in VIDEOS]
    if not found:
        names = [os.path.basename(path) + '/' * os.path.isdir(path) for path in paths]
        there = f'{len(names)} others, such as {names[0]}' if names else 'it is empty'
        raise FileNotFoundError(f'there are neither pictures nor videos {place}: {there}')
    return found


def _video(path: str) -> Video:
    return Video(FILE, {'location': path}, path=path, name=path)


def _opened(item: object, colors: str = 'RGB') -> Item:
    """Returns what an item of a list is, or the exception that tells why it is nothing."""
    try:
        if isinstance(item, Picture | Exception):  # of another process
            return item
        checked = checked_item(item)
        return open_file(checked) if isinstance(checked, str) else picture_of(checked, colors)
    except (Error, OSError, TypeError, ValueError) as error:
        return error


def open_file(path: str) -> Picture | Video:
    if is_picture(path):
        return read_picture(path)
    if not os.path.isfile(path):
        raise FileNotFoundError(f'there is no picture or video named {path}')
    return _video(path)


def read_picture(path: str) -> Picture:
    """Reads a picture, upright by its orientation tag.

    Raises:
        FileNotFoundError: there is no such file.
        Error: it cannot be decoded.
    """
    if not os.path.isfile(path):
        raise FileNotFoundError(f'there is no picture named {path}')
    line = Pipeline(f'{FILE} ! {UPRIGHT} ! video/x-raw', 'max-buffers=1', path)
    try:
        line.element('keepbox-source').set_property('location', path)
        line.play()
        sample = line.pull()
    finally:
        line.close()
    if sample is None:
        raise Error('it contains no picture', source=path)
    return Picture(sample, path)


def picture_of(pixels: Pixels, colors: str) -> Picture:
    """Makes a sample of an array that is a picture."""
    depth = pixels.shape[2] if pixels.ndim == 3 else 1
    form = {1: 'GRAY8', 3: colors, 4: f'{colors}A'}[depth]
    caps = (f'video/x-raw,format={form},width={pixels.shape[1]},height={pixels.shape[0]},'
            'framerate=0/1')
    sample = Gst.Sample.new(buffer_of(pixels), Gst.Caps.from_string(caps), None, None)
    return Picture(sample, image=pixels)
