# SPDX-License-Identifier: LGPL-2.1-or-later
"""The C library libkeepbox-decode: its structures, its objects and its errors. keepbox-decode.h
explains them."""
from __future__ import annotations

import ctypes
import functools
import os
import pathlib
import sys
from ctypes import c_char, c_float, c_int, c_int64, c_size_t, c_uint32, c_void_p
from typing import Any

from ._errors import Error

NAME = 'libkeepbox-decode.so.0'
VARIABLE = 'KEEPBOX_DECODE_LIBRARY'
HERE = pathlib.Path(__file__).resolve().parent
# Of a wheel: the libraries of its runtime, of which this one needs two.
BROUGHT = HERE / '_runtime/lib'
NEEDED = ('libhwy.so.1', 'libhwy_contrib.so.1')
# Of a checkout in which ./dev build has run.
BUILD = HERE.parents[1] / 'build'

MAX_DIMS = 8
HOST, CUDA = 0, 1
# KeepboxDecodeType by the name of NumPy's type.
TYPES = {'float32': 0, 'float16': 1, 'bfloat16': 2, 'float64': 3, 'int8': 4, 'int16': 5, 'int32': 6,
         'int64': 7, 'uint8': 8, 'uint16': 9, 'uint32': 10, 'uint64': 11}
# KeepboxDecodeStatus
INVALID, MISMATCH, TRUNCATED, NO_RESOURCE, UNSUPPORTED = range(1, 6)


class DecodeError(ctypes.Structure):
    """KeepboxDecodeError."""
    _fields_ = [('status', c_int), ('message', c_char * 1020)]


class _Sized(ctypes.Structure):
    """A structure that begins with its size."""

    def __init__(self, **values: Any) -> None:
        super().__init__(size=ctypes.sizeof(self), **values)


class Tensor(_Sized):
    """KeepboxDecodeTensor."""
    _fields_ = [('size', c_size_t), ('data', c_void_p), ('type', c_int), ('memory', c_int),
                ('rank', c_uint32), ('dims', c_int64 * MAX_DIMS), ('strides', c_int64 * MAX_DIMS),
                ('id', ctypes.c_char_p), ('scale', c_float), ('zero_point', c_float),
                ('stream', c_void_p)]


class Frame(_Sized):
    """KeepboxDecodeFrame."""
    _fields_ = [('size', c_size_t), ('width', c_uint32), ('height', c_uint32),
                ('scale_x', c_float), ('scale_y', c_float), ('pad_x', c_float), ('pad_y', c_float)]


class Mask(ctypes.Structure):
    """KeepboxDecodeMask."""
    _fields_ = [('bits', c_void_p), ('stride', c_uint32), ('first', c_uint32), ('width', c_uint32),
                ('height', c_uint32), ('x1', c_float), ('y1', c_float), ('x2', c_float),
                ('y2', c_float)]


class Funnel(ctypes.Structure):
    """KeepboxDecodeFunnel."""
    _fields_ = [(name, c_uint32) for name in (
        'anchors', 'above_threshold', 'not_finite', 'after_class_filter', 'after_top_k', 'kept',
        'clipped_away', 'filtered_out')]


class Image(ctypes.Structure):
    """KeepboxDecodeImage."""
    _fields_ = [('n_boxes', c_uint32), ('n_points', c_uint32), ('n_values', c_uint32),
                ('boxes', c_void_p), ('points', c_void_p), ('masks', ctypes.POINTER(Mask)),
                ('values', c_void_p), ('funnel', Funnel)]


class Result(_Sized):
    """KeepboxDecodeResult."""
    _fields_ = [('size', c_size_t), ('n_images', c_uint32), ('image_size', c_size_t),
                ('images', c_void_p), ('remark', ctypes.c_char_p), ('warnings', ctypes.c_char_p)]


class Output(_Sized):
    """KeepboxDecodeOutput."""
    _fields_ = [('size', c_size_t), ('boxes', c_void_p), ('counts', c_void_p),
                ('funnels', c_void_p), ('capacity', c_uint32)]


class Problems(_Sized):
    """KeepboxNmsProblems."""
    _fields_ = [('size', c_size_t), ('memory', c_int), ('stream', c_void_p), ('boxes', c_void_p),
                ('scores', c_void_p), ('classes', c_void_p), ('n_boxes', c_uint32),
                ('starts', c_void_p), ('n_problems', c_uint32), ('oriented', c_int),
                ('indices', c_void_p), ('counts', c_void_p), ('counts_memory', c_int)]


def _candidates() -> list[str]:
    """Returns where the library is looked for, in order."""
    if VARIABLE in os.environ:
        return [os.environ[VARIABLE]]
    near = [BROUGHT / NAME, BUILD / 'decode' / NAME]  # in a wheel, in a checkout
    return [*(str(path) for path in near if path.exists()), NAME]


@functools.cache
def functions() -> ctypes.CDLL:
    """Loads the library.

    Raises:
        ImportError: it is missing, or cannot be loaded.
    """
    name, *_ = _candidates()
    try:
        if pathlib.Path(name).parent == BROUGHT:
            for each in NEEDED:
                ctypes.CDLL(str(BROUGHT / each))
        found = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(f'the library {NAME} cannot be loaded ({error}): on Debian run apt'
                          f' install libkeepbox-decode0, in a checkout ./dev build, or set'
                          f' {VARIABLE} to its path') from error
    for function in (found.keepbox_decoder_new, found.keepbox_nms_new):
        function.argtypes, function.restype = [ctypes.c_char_p, c_void_p], c_void_p
    for function in (found.keepbox_decoder_free, found.keepbox_nms_free):
        function.argtypes, function.restype = [c_void_p], None
    found.keepbox_decoder_options.restype = ctypes.c_char_p
    found.keepbox_decoder_class_name.argtypes = [c_void_p, c_uint32]
    found.keepbox_decoder_class_name.restype = ctypes.c_char_p
    call: Any = [c_void_p, c_void_p, c_size_t, c_void_p, c_size_t]
    found.keepbox_decoder_run.argtypes = [*call, c_void_p, c_void_p]
    found.keepbox_decoder_enqueue.argtypes = [*call, c_void_p, c_void_p, c_void_p]
    found.keepbox_nms_run.argtypes = [c_void_p, c_void_p, c_void_p]
    found.keepbox_decoder_set.argtypes = [c_void_p, ctypes.c_char_p, c_void_p]
    return found


# Counts the forks that made this process. A child makes objects of its own: those of its parent may
# have threads and a GPU, which it does not have.
forks = 0


def _after_fork() -> None:
    global forks
    forks += 1


os.register_at_fork(after_in_child=_after_fork)


class Owned:
    """An object of the C library, used by one thread at a time, with the error of its last call.

    Attributes:
        pointer: the object, as an argument of calls.
        error: a reference to the error, as an argument of calls.
        is_current: False in a child that was forked after the object was made.
    """

    def __init__(self, kind: str, options: str) -> None:
        """kind: decoder or nms.

        Raises:
            ValueError, Error: see raise_error().
        """
        self._error, self._forks = DecodeError(), forks
        self.error = ctypes.byref(self._error)
        self._free = getattr(functions(), f'keepbox_{kind}_free')
        made = getattr(functions(), f'keepbox_{kind}_new')(options.encode(), self.error)
        self.pointer = c_void_p(made)
        if made is None:
            self.raise_error()

    def __del__(self) -> None:
        # At the end of the process a GPU's driver may be gone.
        if getattr(self, 'pointer', None) and self.is_current and not sys.is_finalizing():
            self._free(self.pointer)

    @property
    def is_current(self) -> bool:
        """True unless this process was forked since."""
        return self._forks == forks

    @property
    def status(self) -> int:
        """The KeepboxDecodeStatus of the last call that failed."""
        return int(self._error.status)

    def raise_error(self) -> None:
        """Raises the error of the last call.

        Raises:
            ValueError: an argument or an option is wrong, or the arrays do not fit.
            Error: no memory, no GPU, an error of the GPU, or what this function cannot do.
        """
        message = self._error.message.decode(errors='replace')
        if self.status in (INVALID, MISMATCH, TRUNCATED):
            raise ValueError(message)
        raise Error(message)
