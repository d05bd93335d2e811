# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names and values of properties and options as the elements and the C library read them."""
from __future__ import annotations

import difflib
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any

# Options of two numbers of pixels, WIDTHxHEIGHT.
SIZES = ('frame-size', 'max-size', 'min-size', 'model-size')
# Names that other packages have for options.
OTHER_NAMES = {'agnostic': 'class_agnostic', 'agnostic_nms': 'class_agnostic',
               'classes': 'include_classes', 'conf': 'score_threshold',
               'conf_thres': 'score_threshold', 'confidence': 'score_threshold',
               'device': 'device_id', 'frame_size': 'frame', 'image_size': 'size', 'imgsz': 'size',
               'iou': 'iou_threshold', 'iou_thres': 'iou_threshold', 'labels': 'label_file',
               'max_det': 'max_detections', 'method': 'nms_method', 'contract': 'nms_contract',
               'model_size': 'size', 'nc': 'num_classes', 'threshold': 'score_threshold'}


def dashed(name: str) -> str:
    """Returns GStreamer's name: score_threshold is score-threshold."""
    return name.replace('_', '-')


def closest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that is most like another, None if none is."""
    return next(iter(difflib.get_close_matches(name, sorted(known), 1)), None)


def as_text(value: object, between: str = ',') -> str:
    """Writes a value as elements read it: {'star': .9, 2: .6} is star:0.9,2:0.6.

    between: what separates the items of a list.
    """
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return ','.join(f'{key}:{as_text(each, between)}' for key, each in value.items())
    if getattr(value, 'ndim', None) == 0:  # of NumPy and others
        value = value.item()  # type: ignore[attr-defined]
    if isinstance(value, Iterable):
        return between.join(as_text(each, between) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def plain(value: object) -> Any:
    """Returns a value as one of JSON, which as_text() writes alike: of mappings, lists, texts,
    numbers, True, False and None."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if getattr(value, 'ndim', None) == 0:  # of NumPy and others
        return value.item()  # type: ignore[attr-defined]
    return [plain(each) for each in value] if isinstance(value, Iterable) else str(value)


def _value(name: str, value: object) -> str:
    """Writes the value of an option of the C library."""
    if name in SIZES:
        return as_text(value, 'x')
    if name == 'quantization':
        return as_text(value, ':')
    if name == 'regions' and not isinstance(value, str | os.PathLike):
        assert isinstance(value, Iterable)
        return ';'.join(map(as_text, value))
    return as_text(value)


def options_text(options: Mapping[str, object]) -> str:
    """Writes options, whose names may have _ for -, as the C library reads them; those that are
    None are left out.

    Raises:
        ValueError: a value that cannot be written: with a line break or a double quote.
    """
    words = []
    for name, value in options.items():
        if value is not None:
            text = _value(dashed(name), value)
            if re.search(r'["\n\r]', text):
                raise ValueError(f'{name} must have neither double quotes nor line breaks, not'
                                 f' {text!r}')
            words.append(f'{dashed(name)}="{text}"' if re.search(r'\s', text) or not text else
                         f'{dashed(name)}={text}')
    return ' '.join(words)


def check_names(given: Iterable[str], known: Iterable[str], of: str) -> None:
    """Raises TypeError for the first name that is not known."""
    known = {name.replace('-', '_') for name in known}
    for name in given:
        if name.replace('-', '_') not in known:
            meant = OTHER_NAMES.get(name) or closest(name, known)
            raise TypeError(f'{name} is not an option of {of}'
                            + (f': did you mean {meant}?' if meant else ''))
