# SPDX-License-Identifier: LGPL-2.1-or-later
"""The page about a scan: one HTML file that needs nothing else."""
from __future__ import annotations

import json
import os
import pathlib
from typing import Any

from .. import _runtime
from .._errors import Error
from .._scan import tables
from .facts import Best, Facts

PAGE = pathlib.Path(__file__).with_name('page.html')
MARK = '/*DATA*/null'


def data_of(facts: Facts, pictures: int) -> dict[str, Any]:
    """Returns what the page shows.

    pictures: number of frames at most.
    """
    inputs = [dict(each) for each in facts.inputs]
    for number, best in _chosen(facts, pictures):
        shown: dict[str, Any] = {'caption': best.caption, 'boxes': best.boxes}
        shown |= picture_of(best.path, best.time)
        inputs[number]['best'] = [*inputs[number]['best'], shown]
    values = facts.settings['values']
    return {'title': facts.settings['model'], 'settings': facts.settings,
            'confidence': float(values.get('score-threshold', 0)), 'classes': facts.classes,
            'inputs': inputs}


def picture_of(path: str, time: float | None) -> dict[str, Any]:
    """Returns the address and the size of the picture of a frame; nothing if it cannot be read."""
    if _runtime.folder() is not None:
        from .._remote import connection
        return dict(connection().call('thumbnail', 0, path, time))
    from .thumbnails import thumbnail_of
    found = thumbnail_of(path, time)
    return {'image': found.address, 'size': [found.width, found.height]} if found else {}


def _chosen(facts: Facts, pictures: int) -> list[tuple[int, Best]]:
    """Returns the frames that are shown, first one of each input."""
    turns: dict[int, int] = {}
    ranked = []
    for number, best in facts.best:
        turns[number] = turns.get(number, 0) + 1
        ranked.append((turns[number], -best.score, number, best))
    ranked.sort(key=lambda each: each[:3])
    return [(number, best) for _, _, number, best in ranked[:pictures]]


def write(folder: str, path: str, pictures: int) -> Facts:
    """Writes the page about a folder of settings, and returns what it shows.

    Raises:
        Error: the results are damaged, or the page cannot be written.
    """
    try:
        facts = Facts(folder)
    except (OSError, KeyError, ValueError, tables.arrow().ArrowException) as error:
        raise Error(f'{folder} cannot be read: {error}: keepbox scan --check {folder} tells more'
                    ) from error
    text = json.dumps(data_of(facts, pictures), separators=(',', ':'))
    page = PAGE.read_text(encoding='utf-8').replace(MARK, text.replace('<', '\\u003c'))
    part = f'{path}.part-{os.getpid()}'
    try:
        with open(part, 'w', encoding='utf-8', errors='replace') as file:
            file.write(page)
        os.replace(part, path)
    except OSError as error:
        tables.remove([part])
        raise Error(f'{path} cannot be written: {error.strerror}') from error
    return facts


__all__ = ['Facts', 'write']
