# SPDX-License-Identifier: LGPL-2.1-or-later
"""Commands that other programs do: the families of models, and GStreamer's tools."""
from __future__ import annotations

import os
import pathlib
import shutil

from .. import _runtime
from .._clib import BUILD
from . import Failure

FAMILIES = 'keepbox-families'
HERE = pathlib.Path(__file__).resolve().parent.parent


def families_program() -> str:
    """Returns the program that knows the families: of the checkout, or installed with this package.

    Raises:
        Failure: it is missing.
    """
    if brought := _runtime.program(FAMILIES):
        return str(brought)
    places = [BUILD / 'gst/tool' / FAMILIES,
              *(folder / 'libexec/keepbox' / FAMILIES for folder in HERE.parents)]
    for place in places:
        if os.access(place, os.X_OK):
            return str(place)
    raise Failure(f'{FAMILIES} is missing: install gstreamer1.0-keepbox of the same version, or run'
                  ' ./dev build in a checkout')


def environment() -> dict[str, str]:
    """Returns the environment in which GStreamer's tools find the plugins of a checkout; installed
    ones are found without it."""
    plugins = BUILD / 'gst/plugins'
    if not (plugins / 'libgstkeepbox.so').exists():
        return dict(os.environ)
    paths = [str(plugins), *os.environ.get('GST_PLUGIN_PATH', '').split(':')]
    return {**os.environ, 'GST_PLUGIN_PATH': ':'.join(dict.fromkeys(filter(None, paths)))}


def run(command: str, words: list[str]) -> int:
    """Becomes the other program."""
    if not command.startswith('gst-'):
        program = families_program()
        os.execv(program, ['keepbox', command, *words])
    brought = _runtime.program(command)
    found = shutil.which(command) if brought is None else str(brought)
    if found is None:
        raise Failure(f'{command} is missing: install gstreamer1.0-tools')
    os.execve(found, [command, *words], environment())
