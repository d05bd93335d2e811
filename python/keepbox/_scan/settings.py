# SPDX-License-Identifier: LGPL-2.1-or-later
"""What decides which boxes are found. Results of one way of looking have a folder of their own,
whose name is a digest of it."""
from __future__ import annotations

import glob
import hashlib
import json
import os
import re
from typing import Any

from .. import __version__
from .._detector import ALIASES
from .._errors import Error
from .._options import as_text, dashed
from . import inputs, tables

DIGEST_LENGTH = 12
FILE = 'settings.json'
# Properties that change how fast the model runs, not what it finds.
OF_SPEED = {'threads', 'batch-size', 'batch-timeout', 'lookahead', 'device-id'}
# Arguments of Detector whose value may be a file.
FILES = ('model-file', 'label-file', 'detector')


def _value_of(name: str, value: object) -> str:
    """Returns the text of a value; of a file, its digest."""
    text = as_text(value)
    if name not in FILES or not os.path.isfile(text):
        return text
    beside = [f'{text}.modelinfo', *sorted(glob.glob(f'{glob.escape(text)}[._]data'))]
    found = [inputs.content_of(path) for path in [text, *beside] if os.path.isfile(path)]
    return ' '.join(found)


def settings_of(detector: dict[str, Any], runtime: str, provider: str) -> dict[str, Any]:
    """Returns all that decides which boxes are found.

    detector: arguments of keepbox.Detector.
    runtime: name and version of what runs the model.
    """
    values = {ALIASES.get(name, dashed(name)): value for name, value in detector.items()
              if value is not None}
    return {'model': os.path.basename(os.fspath(detector['model'])), 'keepbox': __version__,
            'runtime': runtime, 'provider': provider, 'format': tables.FORMAT,
            'values': {name: _value_of(name, value) for name, value in sorted(values.items())
                       if name not in OF_SPEED}}


def name_of(settings: dict[str, Any]) -> str:
    """Returns the name of the folder: that of the model, and a digest."""
    stem = re.sub(r'[^\w.-]', '_', os.path.splitext(settings['model'])[0])
    text = json.dumps({name: value for name, value in settings.items() if name != 'model'},
                      sort_keys=True)
    return f'{stem}-{hashlib.sha256(text.encode()).hexdigest()[:DIGEST_LENGTH]}'


def make_folder(out: str, settings: dict[str, Any]) -> str:
    """Makes the folder of the settings, and the file in it that tells them; returns its path."""
    folder = os.path.join(out, name_of(settings))
    path = os.path.join(folder, FILE)
    part = f'{path}.part-{os.getpid()}'
    try:
        os.makedirs(folder, exist_ok=True)
        if not os.path.exists(path):
            with open(part, 'w', encoding='utf-8') as file:
                json.dump(settings, file, indent=1, sort_keys=True)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, path)
            tables.sync_folder(out)
    except OSError as error:
        tables.remove([part])
        raise Error(f'the folder {folder} cannot be written: {error.strerror}: make it, or name'
                    ' another one') from error
    return folder


def folders_in(out: str) -> list[str]:
    """Returns the folders of all settings in a folder, or itself if it is one.

    Raises:
        Error: there is none.
    """
    if os.path.isfile(os.path.join(out, FILE)):
        return [out]
    found = sorted(os.path.dirname(path)
                   for path in glob.glob(os.path.join(glob.escape(out), '*', FILE)))
    if not found:
        raise Error(f'{out} has no results of keepbox scan: name the folder that --out named')
    return found


def read(folder: str) -> dict[str, Any]:
    """Returns the settings of a folder."""
    with open(os.path.join(folder, FILE), encoding='utf-8') as file:
        return dict(json.load(file))
