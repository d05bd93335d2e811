# SPDX-License-Identifier: LGPL-2.1-or-later
"""Archives of videos and pictures: the boxes of each as a Parquet file, exactly once."""
from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from .._errors import Error
from . import inputs, tables
from .manifest import ERROR, Row
from .run import Options, Scan, State

if TYPE_CHECKING:
    import pandas
    import pyarrow

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]


@dataclasses.dataclass
class Scanned:
    """The result of a scan.

    Attributes:
        folder: where the files are: a folder in `out` for the model and its settings.
        rows: what the manifest tells of each input: key, input, status (ok, partial or error),
            error, frames, boxes, seconds and more.
        done: how many inputs this scan has looked at; the others were there.
    """
    folder: str
    rows: list[Row]
    done: int

    @property
    def errors(self) -> list[Row]:
        """The rows of inputs that failed."""
        return [row for row in self.rows if row['status'] == ERROR]

    def to_arrow(self) -> pyarrow.Table:
        """Returns the boxes of all inputs, with the columns of their files."""
        pa = tables.arrow()
        paths = [os.path.join(self.folder, row['key'] + tables.SUFFIX) for row in self.rows
                 if row['status'] != ERROR]
        read = [pa.parquet.read_table(path, partitioning=None) for path in paths]
        return pa.concat_tables(read) if read else tables.schema().empty_table()

    def to_pandas(self) -> pandas.DataFrame:
        """Returns the boxes of all inputs as a DataFrame. Needs pandas."""
        return self.to_arrow().to_pandas()


def default_workers(streams: int) -> int:
    """Returns how many processes there are by default: their streams use each processor once."""
    return max((len(os.sched_getaffinity(0)) or 1) // streams, 1)


def scan(source: Paths, *, model: str | os.PathLike[str], out: str | os.PathLike[str],
         workers: int | None = None, streams: int = 1, shard: tuple[int, int] | None = None,
         by_content: bool = False, max_errors: int | None = None, retry: bool = False,
         shown: Callable[[State], object] | None = None, **properties: Any) -> Scanned:
    """Looks at videos and pictures in worker processes, and writes the boxes of each as a Parquet
    file. What is there is skipped, so that a scan that was ended goes on where it was.

    Args:
        source: a file, a folder (with those in it) or a pattern, or several of them. The pictures
            of a folder are one input.
        model: the ONNX file.
        out: the folder of the results. Each model, with its settings, has one in it.
        workers: processes; None takes one for each processor.
        streams: inputs that a process looks at at a time, through one model.
        shard: (3, 16) looks at the third of 16 parts of the inputs, so that several machines share
            them.
        by_content: True knows inputs again by what they contain, also with another name's time;
            False by name, size and time of modification.
        max_errors: inputs that may fail before the scan ends as an error; None for any number.
        retry: True looks again at inputs that failed in an earlier scan.
        shown: takes how far the scan is, a few times per second.
        properties: arguments of keepbox.Detector, such as classes=['person'] or
            tracker='boxtrack'.

    Raises:
        Error: the model cannot be loaded, a file cannot be written, or too many inputs failed.
        FileNotFoundError: an input does not exist.
    """
    words = [source] if isinstance(source, str | os.PathLike) else source
    found = inputs.of_words([os.fspath(word) for word in words], by_content)
    options = Options(workers or default_workers(streams), streams, shard, max_errors, retry)
    arguments = {'model': os.path.abspath(os.fspath(model)), **properties}
    done = Scan(found, with_threads(arguments), os.fspath(out), options,
                lambda text: print(f'keepbox: {text}', file=sys.stderr, flush=True))

    def show(state: State) -> bool:
        if shown:
            shown(state)
        return True
    done.run(show)
    return Scanned(done.folder, done.found(), done.state.done)


def with_threads(arguments: dict[str, Any]) -> dict[str, Any]:
    """Returns the arguments of the workers' detectors: frames run alone, on one thread each, so
    that neither the number of workers nor their neighbours change a bit of what is found."""
    return {'threads': 1, 'batch_size': 1, **arguments}


__all__ = ['Error', 'Scanned', 'scan']
