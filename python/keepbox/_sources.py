# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sources of frames: which elements read them, or which pictures and arrays they are."""
from __future__ import annotations

import dataclasses
import glob
import os
import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from ._errors import Error, warn, without_password
from ._gi import Gst
from ._line import Pipeline
from ._memory import Pixels, buffer_of

Source = int | str | os.PathLike[str] | np.ndarray[Any, Any] | Iterable[Any]

PICTURES = {'.bmp', '.gif', '.jpeg', '.jpg', '.png', '.ppm', '.tif', '.tiff', '.webp'}
LIVE = ('rtmp://', 'rtp://', 'rtsp://', 'rtsps://', 'rtspt://', 'rtspu://', 'srt://', 'udp://',
        'v4l2://')
FILE = 'filesrc name=keepbox-source ! decodebin name=keepbox-decodebin'
UPRIGHT = 'videoconvert ! videoflip video-direction=auto'
ELEMENTS = ("; for GStreamer elements pass a source element and put ' ! ' between elements, such as"
            " 'v4l2src device=/dev/video2 ! videoflip method=clockwise'")
# Pictures that the elements may have before their boxes are asked for, so that they do not wait.
AHEAD = 2


@dataclasses.dataclass
class Video:
    """A video, camera or network stream: the elements that read it, of which the one named
    keepbox-source has these properties; its name in errors, '' if the elements tell enough."""
    text: str
    properties: dict[str, object]
    live: bool = False
    path: str | None = None
    name: str = ''


@dataclasses.dataclass
class Picture:
    """A picture as a sample; its file, or the array that it was made of."""
    sample: Any
    path: str | None = None
    image: Pixels | None = None


@dataclasses.dataclass
class Pictures:
    """Pictures, of which `ahead` may be read before the boxes of the first are asked for."""
    each: Iterator[Picture]
    ahead: int = AHEAD


def open_source(source: Source, colors: str) -> Video | Pictures:
    """Finds out what a source is.

    Raises:
        FileNotFoundError: a file or folder that does not exist, or a pattern without files.
        TypeError, ValueError: nothing that frames can be read from.
    """
    if isinstance(source, bool):
        raise TypeError('a bool is not a source of frames')
    if isinstance(source, int | np.integer):
        device = f'/dev/video{source}'
        return Video('v4l2src name=keepbox-source', {'device': device}, live=True, name=device)
    if isinstance(source, str) and re.match(r'[A-Za-z][\w+.-]*://', source):
        return Video('uridecodebin name=keepbox-source', {'uri': source}, source.startswith(LIVE),
                     name=without_password(source))
    if isinstance(source, str) and (' ! ' in source or _is_element(source)):
        return Video(source, {})
    if isinstance(source, str | os.PathLike):
        return _open_path(os.fspath(source))
    if is_array(source):
        pixels = np.asarray(source)
        each = pixels if pixels.ndim == 4 else [pixels]
        return Pictures(_picture_of(item, colors) for item in each)
    if isinstance(source, Iterable):
        # Something that is not there yet, such as the next picture of a camera, is not waited for.
        ahead = AHEAD if isinstance(source, Sequence) else 0
        return Pictures((_open_item(item, colors) for item in source), ahead)
    raise TypeError(f'{type(source).__name__} is not a source of frames: pass a file, folder,'
                    ' pattern, URI, camera number or array, or a list of files or arrays')


def is_array(source: object) -> bool:
    """True for NumPy arrays and what NumPy takes for one: pictures of PIL, tensors of PyTorch."""
    return hasattr(source, '__array__') or hasattr(source, '__array_interface__')


def _is_element(text: str) -> bool:
    """True for an element that is a source, with its properties, if no file has that name."""
    name, *_ = text.split() or ['']
    factory = Gst.ElementFactory.find(name) if name and not os.path.exists(text) else None
    return factory is not None and 'Source' in factory.get_metadata('klass').split('/')


def _open_path(path: str) -> Video | Pictures:
    if os.path.isdir(path):
        found = [str(each) for each in sorted(pathlib.Path(path).iterdir()) if is_picture(each)]
        if not found:
            raise FileNotFoundError(f'there are no pictures in the folder {path}')
        return Pictures(_pictures_in(found))
    if os.path.exists(path):
        if is_picture(path):
            return Pictures(iter([read_picture(path)]))
        return Video(FILE, {'location': path}, path=path, name=path)
    found = sorted(glob.glob(path, recursive=True)) if glob.has_magic(path) else []
    if not found:
        hint = ELEMENTS if re.match(r'[a-z]\w*(\s|!|$)', path) else ''  # like that of an element
        raise FileNotFoundError(without_password(f'there is no file named {path}{hint}'))
    others = [each for each in found if not is_picture(each)]
    if others:
        raise ValueError(f'the pattern matches {others[0]}, which is not a picture: call the'
                         ' detector for each video')
    return Pictures(_pictures_in(found))


def is_picture(path: str | os.PathLike[str]) -> bool:
    """True if a file's name is that of a picture."""
    return pathlib.Path(path).suffix.lower() in PICTURES


def _open_item(item: object, colors: str) -> Picture:
    if isinstance(item, str | os.PathLike):
        return read_picture(os.fspath(item))
    if not is_array(item):
        raise TypeError(f'a list of pictures has {type(item).__name__}: pass arrays or file names')
    return _picture_of(np.asarray(item), colors)


def _pictures_in(paths: Sequence[str]) -> Iterator[Picture]:
    """Reads pictures. One that cannot be read is skipped with a warning, so that the others are
    still read."""
    for path in paths:
        try:
            yield read_picture(path)
        except Error as error:
            warn(f'the picture {path} cannot be read and is skipped: {error.message}')


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
        raise Error(f'the file {path} contains no picture')
    return Picture(sample, path)


def _picture_of(pixels: Pixels, colors: str) -> Picture:
    depth = pixels.shape[2] if pixels.ndim == 3 else 1
    formats = {1: 'GRAY8', 3: colors, 4: f'{colors}A'}
    if pixels.ndim not in (2, 3) or depth not in formats or not pixels.size:
        raise ValueError(f'an array of shape {pixels.shape} is not a picture: pass height x width'
                         ' x 3, x 4 or x 1, or height x width')
    if pixels.dtype != np.uint8:
        raise TypeError(f'an array of {pixels.dtype} is not a picture: scale it to 0..255 and'
                        ' convert it with .astype(numpy.uint8)')
    caps = (f'video/x-raw,format={formats[depth]},width={pixels.shape[1]},height={pixels.shape[0]},'
            'framerate=0/1')
    sample = Gst.Sample.new(buffer_of(pixels), Gst.Caps.from_string(caps), None, None)
    return Picture(sample, image=pixels)
