# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where GStreamer is: in this process, or in a worker process, of a runtime in the package."""
from __future__ import annotations

import functools
import importlib.util
import os
import pathlib
import sys
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._detector import Engine

VARIABLE = 'KEEPBOX_RUNTIME'
# Of a wheel.
BROUGHT = pathlib.Path(__file__).resolve().parent / '_runtime'
HOST, WHEEL = 'host', 'wheel'
START = pathlib.Path(__file__).with_name('_start.py')
# Of the elements and of the runtime.
ONNXRUNTIME, LIBRARIES = 'KEEPBOX_ONNXRUNTIME', 'KEEPBOX_LIBRARIES'


@functools.cache
def folder() -> pathlib.Path | None:
    """Returns the folder of the runtime that is used, which has the program `python`; None if this
    process itself uses GStreamer.

    Raises:
        ImportError: KEEPBOX_RUNTIME names no runtime.
    """
    named = os.environ.get(VARIABLE, '')
    if named == HOST:
        return None
    if named and named != WHEEL:
        return _checked(pathlib.Path(named).absolute())
    if named == WHEEL or is_brought() and not _host_has_this_version():
        return _checked(BROUGHT)
    return None


def is_brought() -> bool:
    """True if the package has a runtime of its own, as a wheel has."""
    return (BROUGHT / 'python').exists()


def _checked(place: pathlib.Path) -> pathlib.Path:
    if not (place / 'python').exists():
        raise ImportError(f'{VARIABLE} names {place}, where there is no runtime: unset it, set it'
                          f' to {HOST} for the GStreamer of this Python, or install keepbox by pip')
    return place


def _host_has_this_version() -> bool:
    """True if this Python has GStreamer with the elements of this version of keepbox."""
    try:
        import gi
        gi.require_version('Gst', '1.0')
        gi.require_version('Keepbox', '1.0')
        from gi.repository import Gst
    except (ImportError, ValueError):
        return False
    from . import __version__
    Gst.init(None)
    plugin = Gst.Registry.get().find_plugin('keepbox')
    return plugin is not None and plugin.get_version() == __version__


def program(name: str) -> pathlib.Path | None:
    """Returns a program of the runtime, if this process is of it."""
    found = BROUGHT / name
    inside = pathlib.Path(sys.executable).resolve().parent in (BROUGHT, BROUGHT / 'bin')
    return found if inside and found.exists() else None


def enter(module: str, words: Sequence[str]) -> None:
    """Becomes a module of this package in the runtime, if that is where GStreamer is."""
    place = folder()
    if place is not None:
        sys.stdout.flush()
        os.execve(place / 'python', [str(place / 'python'), str(START), module, *words],
                  environment())


def environment() -> dict[str, str]:
    """Returns the environment of programs of the runtime: they use GStreamer themselves, and the
    ONNX Runtime that is installed for this Python."""
    out = {**os.environ, VARIABLE: HOST}
    if library := onnxruntime():
        out.setdefault(ONNXRUNTIME, str(library))
    if folders := [*map(str, _folders_of_nvidia())]:
        out[LIBRARIES] = os.pathsep.join([*filter(None, [out.get(LIBRARIES)]), *folders])
    return out


def onnxruntime() -> pathlib.Path | None:
    """Returns the library of the package onnxruntime or onnxruntime-gpu, None without one."""
    found = importlib.util.find_spec('onnxruntime')
    if found is None or found.origin is None:
        return None
    folder = pathlib.Path(found.origin).parent / 'capi'
    return next(iter(sorted(folder.glob('libonnxruntime.so*'), reverse=True)), None)


def _folders_of_nvidia() -> list[pathlib.Path]:
    """Returns the folders with libraries of NVIDIA's packages, such as CUDA and cuDNN."""
    found = importlib.util.find_spec('nvidia')
    places = found.submodule_search_locations if found else None
    return [each for place in places or () for each in sorted(pathlib.Path(place).glob('*/lib'))]


def check() -> None:
    """Raises ImportError if neither this Python nor the package has GStreamer."""
    if folder() is None:
        from . import _gi
        del _gi


def engine(colors: str, tracker: str, properties: Mapping[str, object]) -> Engine:
    """Loads a model; raises what Detector raises."""
    made: Any
    if folder() is None:
        from ._engine import Engine as made
    else:
        from ._remote import Engine as made
    return made(colors, tracker, properties)  # type: ignore[no-any-return]
