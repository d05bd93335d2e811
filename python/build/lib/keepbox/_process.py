# SPDX-License-Identifier: LGPL-2.1-or-later
"""Forked processes. Threads exist only in the process that started them, and pipelines consist of
threads: in a child they can neither play nor stop."""
from __future__ import annotations

import ctypes
import os
import weakref
from typing import Any

from ._errors import Error

_forked = False
_pipelines: weakref.WeakSet[Any] = weakref.WeakSet()
_used = False


def _after_fork() -> None:
    global _forked
    _forked = _used
    for each in list(_pipelines):
        # Its last reference would wait for its threads, so that the child keeps one for ever.
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(each))


os.register_at_fork(after_in_child=_after_fork)


def is_usable() -> bool:
    """True unless this process was forked from one that had used keepbox."""
    return not _forked


def check() -> None:
    """Raises Error in a process in which nothing can play."""
    if _forked:
        raise Error('keepbox was used before this process was forked, and its threads are only in'
                    " the parent: start processes with multiprocessing.get_context('spawn'), or"
                    ' use keepbox in the children alone')


def use() -> None:
    """Notes that this process has threads or connections that a child does not have."""
    global _used
    _used = True


def _stop(pipeline: Any) -> None:
    from ._gi import Gst  # a process that leaves pipelines to another one does not have it
    if not _forked:
        pipeline.set_state(Gst.State.NULL)


def owned(holder: Any, pipeline: Any) -> weakref.finalize[[Any], Any]:
    """Returns a finalizer, which stops the pipeline when its holder is collected or at exit, unless
    that is in a forked child."""
    use()
    _pipelines.add(pipeline)
    return weakref.finalize(holder, _stop, pipeline)
