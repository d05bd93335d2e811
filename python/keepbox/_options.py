# SPDX-License-Identifier: LGPL-2.1-or-later
"""Names and values of properties as the elements read them."""
from __future__ import annotations

import difflib
import os
from collections.abc import Iterable, Mapping


def dashed(name: str) -> str:
    """Returns GStreamer's name: score_threshold is score-threshold."""
    return name.replace('_', '-')


def closest(name: str, known: Iterable[str]) -> str | None:
    """Returns the known name that is most like another, None if none is."""
    return next(iter(difflib.get_close_matches(name, sorted(known), 1)), None)


def as_text(value: object) -> str:
    """Writes a value as elements read it: {'star': .9, 2: .6} is star:0.9,2:0.6."""
    if isinstance(value, str | os.PathLike):
        return os.fspath(value)
    if isinstance(value, Mapping):
        return ','.join(f'{key}:{as_text(each)}' for key, each in value.items())
    if isinstance(value, Iterable):
        return ','.join(as_text(each) for each in value)
    return str(value).lower() if isinstance(value, bool) else str(value)
