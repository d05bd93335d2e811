# SPDX-License-Identifier: LGPL-2.1-or-later
"""What a program gives as a source of frames, before any of it is opened."""
from __future__ import annotations

import os
import pathlib
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

Pixels = NDArray[np.uint8]
Source = int | str | os.PathLike[str] | np.ndarray[Any, Any] | Iterable[Any]

VIDEOS = {'.3gp', '.asf', '.avi', '.flv', '.m2ts', '.m4v', '.mkv', '.mov', '.mp4', '.mpeg', '.mpg',
          '.mts', '.mxf', '.ogg', '.ogv', '.ts', '.webm', '.wmv'}
PICTURES = {'.bmp', '.gif', '.jpeg', '.jpg', '.png', '.ppm', '.tif', '.tiff', '.webp'}
LONGEST_SIDE = 16384  # of a frame, in tensorinfer
# Pictures that the elements may have before their boxes are asked for, so that they do not wait.
AHEAD = 2


class Given(NamedTuple):
    """A source by its kind: the number of a camera ('number'), a text such as a name, a URI or
    elements ('text'), a file or folder ('path'), arrays ('arrays'), or an iterable of arrays and
    names of files ('items').

    ahead: how many of the arrays or items may be read before the boxes of the first are asked for.
    """
    kind: str
    value: Any
    ahead: int = AHEAD


def is_array(source: object) -> bool:
    """True for NumPy arrays and what NumPy takes for one: pictures of PIL, tensors of PyTorch."""
    return hasattr(source, '__array__') or hasattr(source, '__array_interface__')


def given_by(source: Source) -> Given:
    """Finds out of what kind a source is; raises TypeError if it is of none."""
    if isinstance(source, bool):
        raise TypeError('a bool is not a source of frames')
    if isinstance(source, int | np.integer):
        return Given('number', int(source))
    if isinstance(source, str):
        return Given('text', source)
    if isinstance(source, os.PathLike):
        return Given('path', os.fspath(source))
    if is_array(source):
        pixels = np.asarray(source)
        return Given('arrays', pixels if pixels.ndim == 4 else [pixels])
    if isinstance(source, Iterable):
        # Something that is not there yet, such as the next picture of a camera, is not waited for.
        return Given('items', source, AHEAD if isinstance(source, Sequence) else 0)
    raise TypeError(f'{type(source).__name__} is not a source of frames: pass a file, folder,'
                    ' pattern, URI, camera number or array, or a list of files or arrays')


def checked_item(item: object) -> str | Pixels:
    """Returns an item of a list as the name of a file or as an array; raises TypeError or
    ValueError if it is neither, or no picture."""
    if isinstance(item, str | os.PathLike):
        return os.fspath(item)
    if not is_array(item):
        raise TypeError(f'a list of pictures has {type(item).__name__}: pass arrays or names of'
                        ' files')
    return checked_pixels(np.asarray(item))


def checked_pixels(pixels: NDArray[Any]) -> Pixels:
    """Returns an array that is a picture; raises TypeError or ValueError if it is none."""
    depth = pixels.shape[2] if pixels.ndim == 3 else 1
    if pixels.ndim not in (2, 3) or depth not in (1, 3, 4) or not pixels.size:
        raise ValueError(f'an array of shape {pixels.shape} is not a picture: pass height x width'
                         ' x 3, x 4 or x 1, or height x width')
    if max(pixels.shape[:2]) > LONGEST_SIDE:
        raise ValueError(f'an array of shape {pixels.shape} is too large: pass pictures of at most'
                         f' {LONGEST_SIDE} pixels in width and height, such as parts of it')
    if pixels.dtype != np.uint8:
        raise TypeError(f'an array of {pixels.dtype} is not a picture: scale it to 0..255 and'
                        ' convert it with .astype(numpy.uint8)')
    return pixels


def suffix_of(path: str | os.PathLike[str]) -> str:
    """Returns the suffix of a file's name in small letters."""
    return pathlib.Path(path).suffix.lower()


def is_picture(path: str | os.PathLike[str]) -> bool:
    """True if a file's name is that of a picture."""
    return suffix_of(path) in PICTURES
