# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of no package that keepbox knows, which have __dlpack__ alone."""
import ctypes

import numpy as np

KINDS = {'i': 0, 'u': 1, 'f': 2, 'b': 6, 'c': 5}
DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_new = ctypes.pythonapi.PyCapsule_New
_new.restype, _new.argtypes = ctypes.py_object, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Tensor(ctypes.Structure):
    """DLTensor."""
    _fields_ = [('data', ctypes.c_void_p), ('device_type', ctypes.c_int),
                ('device', ctypes.c_int), ('rank', ctypes.c_int), ('kind', ctypes.c_uint8),
                ('bits', ctypes.c_uint8), ('lanes', ctypes.c_uint16),
                ('shape', ctypes.POINTER(ctypes.c_int64)),
                ('strides', ctypes.POINTER(ctypes.c_int64)), ('offset', ctypes.c_uint64),
                ('context', ctypes.c_void_p), ('deleter', ctypes.c_void_p)]


class Exported:
    """An array of NumPy as another package would export it.

    Attributes:
        streams: those that capsules were asked for.
    """

    def __init__(self, array, device_type=1, offset=0, dense=False, kind=None):
        """offset: bytes before the first element that data points to; dense: without strides."""
        self._array = array
        self.streams = []
        self._shape = (ctypes.c_int64 * array.ndim)(*array.shape)
        self._strides = (ctypes.c_int64 * array.ndim)(*(step // array.itemsize
                                                        for step in array.strides))
        self._tensor = Tensor(
            data=array.__array_interface__['data'][0] - offset, device_type=device_type,
            rank=array.ndim, kind=KINDS[array.dtype.kind] if kind is None else kind,
            bits=8 * array.itemsize, lanes=1, shape=self._shape,
            strides=None if dense else self._strides, offset=offset)

    def __dlpack__(self, stream=None):
        self.streams.append(stream)
        return _new(ctypes.addressof(self._tensor), b'dltensor', None)

    def __dlpack_device__(self):
        return self._tensor.device_type, 0

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype, copy=copy)
