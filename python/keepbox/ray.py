# SPDX-License-Identifier: LGPL-2.1-or-later
"""Archives on a cluster of Ray: one task per file, and only rows about files pass between
processes.

    import ray
    import keepbox.ray

    files = ray.data.from_items(keepbox.ray.rows('videos/'))
    done = files.map_batches(keepbox.ray.Detect, batch_size=1, concurrency=8, num_gpus=1,
                             fn_constructor_kwargs={'model': 'yolov8n.onnx', 'out': 'boxes/'})
    print(done.to_pandas())

Boxes are Parquet files in the folder `out`, which all machines share, as those of keepbox.scan().
"""
from __future__ import annotations

import os
import socket
from collections.abc import Sequence
from typing import Any

from ._errors import Error
from ._scan import Paths, Scanned, inputs, settings, tables, with_threads
from ._scan.looking import Looker, row_of
from ._scan.manifest import ERROR, Manifest, Row, read

COLUMNS = ('key', 'input', 'path', 'status', 'error', 'frames', 'skipped', 'boxes',
           'video_seconds', 'seconds', 'attempts', 'bytes', 'settings')


def rows(source: Paths) -> list[dict[str, str]]:
    """Returns a row per input of files, folders and patterns: its path, and its name in results."""
    words = [source] if isinstance(source, str | os.PathLike) else source
    found = inputs.of_words([os.fspath(word) for word in words])
    return [{'path': os.path.join(each.path, each.files[0]) if os.path.isfile(
        os.path.join(each.path, *each.files[:1])) and len(each.files) == 1 else each.path,
        'name': each.name} for each in found]


class Detect:
    """A callable for map_batches(): takes rows with a column `path`, and `name` if results are to
    have another one; writes the boxes of each file, and returns the rows of the manifest.

    Args:
        model: the ONNX file.
        out: the folder of the results, which all machines share.
        retry: True looks again at inputs that failed before.
        properties: arguments of keepbox.Detector.
    """

    def __init__(self, *, model: str, out: str, retry: bool = False, **properties: Any) -> None:
        arguments = with_threads({'model': os.path.abspath(model), **properties})
        self._looker = Looker(arguments)
        about = settings.settings_of(arguments, self._looker.runtime, self._looker.provider)
        self.folder = settings.make_folder(out, about)
        self._known = read(self.folder)
        self._manifest = Manifest(self.folder, owner=f'{socket.gethostname()}-{os.getpid()}')
        self._retry = retry

    def look(self, path: str, name: str = '') -> Row:
        """Returns the row of a file. One that is done is not looked at again."""
        source = inputs.of_path(path, name or os.path.basename(path))
        place = os.path.basename(self.folder)
        known = self._known.get(source.key)
        file = os.path.join(self.folder, source.key + tables.SUFFIX)
        if known and (os.path.exists(file) or known['status'] == ERROR and not self._retry):
            return known
        if os.path.exists(file):
            about = tables.about_of(file)
            row = row_of(source, about, about['boxes'], place, None, None)
        else:
            row = self._looker.look(source, self.folder, place)
        self._manifest.add(row)
        return row

    def __call__(self, batch: dict[str, Sequence[Any]]) -> dict[str, list[Any]]:
        """Returns the rows of a batch of files, by column."""
        names = batch.get('name', [''] * len(batch['path']))
        found = [self.look(str(path), str(name)) for path, name in zip(batch['path'], names)]
        return {column: [row[column] for row in found] for column in COLUMNS}


def scan(source: Paths, *, model: str, out: str, actors: int = 1, num_cpus: float = 1,
         num_gpus: float = 0, retry: bool = False, **properties: Any) -> Scanned:
    """Looks at files, folders and patterns in the actors of a cluster, which ray.init() has
    connected; as keepbox.scan().

    Raises:
        Error: the model cannot be loaded, a file cannot be written, or Ray gives up.
    """
    import ray
    wanted = rows(source)
    options = {'model': model, 'out': out, 'retry': retry, **properties}
    try:
        files = ray.data.from_items(wanted, override_num_blocks=len(wanted))
        found = files.map_batches(
            Detect, batch_size=1, concurrency=min(actors, len(wanted)), num_cpus=num_cpus,
            num_gpus=num_gpus, fn_constructor_kwargs=options).take_all()
    except (ray.exceptions.RayError, ConnectionError, RuntimeError) as error:
        text = str(getattr(error, 'cause', None) or error).strip().splitlines()
        raise Error(f'the cluster of Ray has ended the scan: {text[-1] if text else error!r}; the'
                    ' same scan goes on where it ended') from error
    folders = {row['settings'] for row in found}
    order = {each['name']: number for number, each in enumerate(wanted)}
    found.sort(key=lambda row: order.get(row['input'], 0))
    return Scanned(os.path.join(out, *folders), found,
                   sum(row['seconds'] is not None for row in found))
