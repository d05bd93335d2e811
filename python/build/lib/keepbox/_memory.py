# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pixels between NumPy and GStreamer's buffers. PyGObject would copy them two or three times, so
GStreamer's own functions are called."""
from __future__ import annotations

import ctypes
from typing import Any

import numpy as np

from ._errors import Error
from ._gi import Gst, GstVideo
from ._given import Pixels


class _MapInfo(ctypes.Structure):
    """GstMapInfo."""
    _fields_ = [('memory', ctypes.c_void_p), ('flags', ctypes.c_int), ('data', ctypes.c_void_p),
                ('size', ctypes.c_size_t), ('maxsize', ctypes.c_size_t),
                ('user_data', ctypes.c_void_p * 4), ('reserved', ctypes.c_void_p * 4)]


_library = ctypes.CDLL('libgstreamer-1.0.so.0')
_map = _library.gst_buffer_map
_map.argtypes = [ctypes.c_void_p, ctypes.POINTER(_MapInfo), ctypes.c_int]
_unmap = _library.gst_buffer_unmap
_unmap.argtypes = [ctypes.c_void_p, ctypes.POINTER(_MapInfo)]
_unmap.restype = None


class _Mapped:
    """The bytes of a buffer, mapped as long as an array uses them."""

    def __init__(self, buffer: Any) -> None:
        self._buffer, self._info = buffer, _MapInfo()
        self._address = hash(buffer)  # PyGObject's hash of a boxed value is its address
        if not _map(self._address, ctypes.byref(self._info), int(Gst.MapFlags.READ)):
            raise Error('the memory of a frame cannot be read: download it to system memory')
        self.__array_interface__ = {'version': 3, 'typestr': '|u1', 'shape': (self._info.size,),
                                    'data': (self._info.data, False)}

    def __del__(self) -> None:
        if self._info.data:
            _unmap(self._address, ctypes.byref(self._info))


def pixels_of(sample: Any) -> Pixels:
    """Returns the pixels of a packed format as an array (height, width, bytes per pixel), without a
    copy; the array keeps the buffer."""
    buffer = sample.get_buffer()
    info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
    meta = GstVideo.buffer_get_video_meta(buffer)
    stride, offset = (meta.stride[0], meta.offset[0]) if meta else (info.stride[0], info.offset[0])
    depth = info.finfo.pixel_stride[0]
    flat = np.asarray(_Mapped(buffer))
    return np.ndarray((info.height, info.width, depth), np.uint8, flat, offset, (stride, depth, 1))


def buffer_of(pixels: Pixels) -> Any:
    """Returns a new buffer with rows of GStreamer's default stride, a multiple of 4 bytes. It is
    the only copy."""
    height, row = pixels.shape[0], pixels[0].size
    stride = row + -row % 4
    buffer = Gst.Buffer.new_allocate(None, height * stride, None)
    info, address = _MapInfo(), hash(buffer)
    if not _map(address, ctypes.byref(info), int(Gst.MapFlags.WRITE)):
        raise Error('not enough memory for a frame')
    try:
        memory = (ctypes.c_uint8 * (height * stride)).from_address(info.data)
        np.ndarray((height, stride), np.uint8, memory)[:, row:] = 0
        steps = (stride, *np.empty((1, *pixels.shape[1:]), np.uint8).strides[1:])
        np.ndarray(pixels.shape, np.uint8, memory, 0, steps)[...] = pixels
    finally:
        _unmap(address, ctypes.byref(info))
    return buffer
