# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the files of a scan with its manifest and with the inputs."""
from __future__ import annotations

import glob
import os
from collections.abc import Iterator, Sequence

from .._errors import Error
from . import tables
from .inputs import Input
from .manifest import ERROR, Row, read
from .settings import folders_in

SAME = ('input', 'status', 'error', 'frames', 'skipped', 'boxes')


def check(out: str, sources: Sequence[Input] | None) -> Iterator[tuple[str, list[str]]]:
    """Yields, for each folder of settings, a summary and what is wrong.

    sources: what should have been looked at; None does not compare it.

    Raises:
        Error: there is no such folder.
    """
    tables.arrow()
    for folder in folders_in(out):
        rows = read(folder)
        problems = [*_files(folder, rows), *_parts(folder)]
        missing = [each for each in sources or [] if each.key not in rows]
        problems += [f'{each.path}: not looked at, or it changed since: scan again'
                     for each in missing]
        failed = sum(row['status'] == ERROR for row in rows.values())
        yield (f'{folder}: {len(rows)} inputs, {failed} of them failed, {len(problems)} problems',
               problems)


def _files(folder: str, rows: dict[str, Row]) -> Iterator[str]:
    """Yields what differs between files and manifest."""
    place = os.path.join(glob.escape(folder), f'*{tables.SUFFIX}')
    there = {os.path.basename(path).removesuffix(tables.SUFFIX): path
             for path in sorted(glob.glob(place))}
    for key, row in rows.items():
        if (key in there) == (row['status'] == ERROR):
            file = os.path.join(folder, key + tables.SUFFIX)
            yield (f'{row["input"]}: it failed by the manifest, but {file} is there: remove it'
                   if key in there else f'{row["input"]}: {file} is missing: scan again')
    for key, path in there.items():
        try:
            about = tables.about_of(path)
        except Error as error:
            yield str(error)
            continue
        name = about['input']
        if key not in rows:
            yield f'{name}: {path} is not in the manifest: scan again'
        elif about['key'] != key or any(about[each] != rows[key][each] for each in SAME):
            yield f'{name}: {path} is not what the manifest tells: remove it, and scan again'


def _parts(folder: str) -> Iterator[str]:
    for path in tables.parts_of(folder):
        yield f'{path} is of a scan that runs, or that was killed: scan again'
