# SPDX-License-Identifier: LGPL-2.1-or-later
"""Arrays of other packages: where their values are, for the C library, and new ones of the same
kind. None of the packages is imported here, except NumPy: who passes their arrays has imported
them."""
from __future__ import annotations

import ctypes
import functools
import sys
from ctypes import c_int, c_int32, c_int64, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from typing import Any, Protocol

import numpy as np

from ._clib import CUDA, HOST, MAX_DIMS, TYPES

HOST_DEVICE = -1
# Of DLPack: devices whose memory the CPU reads, CUDA's, and all of DLDataTypeCode that count here.
HOST_DEVICES, CUDA_DEVICES = (1, 3), (2, 13)
KINDS = {0: 'int', 1: 'uint', 2: 'float', 4: 'bfloat'}
LEGACY_STREAM = 1


class _Device(ctypes.Structure):
    """DLDevice."""
    _fields_ = [('type', c_int), ('id', c_int)]


class _Tensor(ctypes.Structure):
    """DLTensor."""
    _fields_ = [('data', c_void_p), ('device', _Device), ('rank', c_int32), ('kind', c_uint8),
                ('bits', c_uint8), ('lanes', c_uint16), ('shape', ctypes.POINTER(c_int64)),
                ('strides', ctypes.POINTER(c_int64)), ('offset', c_uint64)]


class _Versioned(ctypes.Structure):
    """DLManagedTensorVersioned; a DLManagedTensor begins with its DLTensor."""
    _fields_ = [('major', c_uint32), ('minor', c_uint32), ('context', c_void_p),
                ('deleter', c_void_p), ('flags', c_uint64), ('tensor', _Tensor)]


_is_capsule = ctypes.pythonapi.PyCapsule_IsValid
_is_capsule.argtypes, _is_capsule.restype = [ctypes.py_object, ctypes.c_char_p], c_int
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.argtypes, _pointer_in.restype = [ctypes.py_object, ctypes.c_char_p], c_void_p


class View:
    """The values of an array, where they are.

    Attributes:
        data: the address of the first one.
        kind: its shape, its strides in elements, its type and its memory, as the C library has the
            latter two. None instead of the strides: dense in row-major order.
        device: the number of the GPU, HOST_DEVICE in host memory.
        stream: of the GPU, on which the values are ready; 0 is the default one.
        owner: keeps the values in memory.
    """
    __slots__ = ('data', 'kind', 'device', 'stream', 'owner')

    def __init__(self, data: int, kind: tuple[Any, ...], device: int, stream: int,
                 owner: Any) -> None:
        self.data, self.kind, self.device = data, kind, device
        self.stream, self.owner = stream, owner


class Library(Protocol):
    """A package of arrays. Its dense arrays of a type are `wanted`: 'float32', 'int64'."""

    def dense(self, array: Any, wanted: str) -> Any:
        """Returns the values as a dense array of that type, which is the array itself if it is
        one."""

    def device_of(self, array: Any) -> int:
        """Returns the number of the GPU that has the array, HOST_DEVICE in host memory.

        Raises:
            ValueError: another kind of device.
        """

    def address_of(self, array: Any) -> int:
        """Returns where the values of an array begin."""

    def stream_of(self, device: int) -> int:
        """Returns the current stream of a GPU, 0 for its default one."""

    def empty(self, like: Any, wanted: str, *shape: int) -> Any:
        """Returns a new array on the device of another one."""

    def cut(self, array: Any, count: int) -> Any:
        """Returns the first items of an array that nobody else has."""

    def copied(self, array: Any, like: Any) -> Any:
        """Returns an array of NumPy on the device of another one."""

    def as_integers(self, array: Any) -> Any:
        """Returns a dense float32 array with its bits as int32."""

    def view_of(self, array: Any) -> View:
        """Returns where the values of an array are."""


class _NumPy:
    """Arrays in host memory. Those of packages that are not known here are read by DLPack, or as
    sequences."""

    def dense(self, array: Any, wanted: str) -> Any:
        return np.ascontiguousarray(_on_host(array), wanted)

    def device_of(self, array: Any) -> int:
        del array
        return HOST_DEVICE

    def address_of(self, array: Any) -> int:
        return int(array.__array_interface__['data'][0])

    def stream_of(self, device: int) -> int:
        del device
        return 0

    def empty(self, like: Any, wanted: str, *shape: int) -> Any:
        del like
        return np.empty(shape, wanted)

    def cut(self, array: Any, count: int) -> Any:
        return array[:count]

    def copied(self, array: Any, like: Any) -> Any:
        del like
        return np.ascontiguousarray(array)

    def as_integers(self, array: Any) -> Any:
        return array.view(np.int32)

    def view_of(self, array: Any) -> View:
        if not isinstance(array, np.ndarray):
            array = getattr(array, '_ortvalue', array)  # of ONNX Runtime
            if hasattr(array, '__dlpack__'):
                return _view_by_dlpack(array)
            array = np.asarray(array)
        if array.dtype == bool or array.dtype.name not in TYPES or not array.dtype.isnative:
            raise ValueError(f'{array.dtype} is not a type of tensors: they have one of'
                             f' {", ".join(TYPES)}, in the byte order of this machine')
        size = array.itemsize
        usable = array.ndim <= MAX_DIMS and all(
            step > 0 and step % size == 0 for step in array.strides)
        if not usable:  # views that go backwards, repeat elements or are parts of records
            array = np.ascontiguousarray(array)
        strides = None if array.flags.c_contiguous else tuple(
            step // size for step in array.strides)
        kind = array.shape, strides, TYPES[array.dtype.name], HOST
        return View(self.address_of(array), kind, HOST_DEVICE, 0, array)


class _Torch:
    """Tensors of PyTorch."""

    def __init__(self) -> None:
        self._torch = torch = sys.modules['torch']
        self._types = {getattr(torch, name): number for name, number in TYPES.items()
                       if hasattr(torch, name)}
        self._wanted = {name: getattr(torch, name) for name in ('float32', 'int64', 'int32')}
        fast = getattr(torch._C, '_cuda_getCurrentRawStream', None)
        self.stream_of = fast or (lambda device: torch.cuda.current_stream(device).cuda_stream)

    def dense(self, array: Any, wanted: str) -> Any:
        kind = self._wanted[wanted]
        if not isinstance(array, self._torch.Tensor):
            raise TypeError(f'expected tensors of PyTorch, as the first argument is one, found'
                            f' {type(array).__name__}')
        if array.dtype is kind and array.is_contiguous():
            return array
        return array.detach().to(kind).contiguous()

    def device_of(self, array: Any) -> int:
        if array.is_cuda:
            return int(array.get_device())
        if not array.is_cpu:
            raise ValueError(f'a tensor is on {array.device}: move it to the host or to a CUDA'
                             ' device')
        return HOST_DEVICE

    def address_of(self, array: Any) -> int:
        return int(array.data_ptr())

    def empty(self, like: Any, wanted: str, *shape: int) -> Any:
        return like.new_empty(*shape, dtype=self._wanted[wanted])

    def cut(self, array: Any, count: int) -> Any:
        return array.resize_(count)  # in half the time of a slice

    def copied(self, array: Any, like: Any) -> Any:
        return self._torch.from_numpy(np.array(array)).to(like.device)

    def as_integers(self, array: Any) -> Any:
        return array.view(self._torch.int32)

    def view_of(self, array: Any) -> View:
        device = self.device_of(array)
        number = self._types.get(array.dtype)
        if number is None:
            raise ValueError(f'{array.dtype} is not a type of tensors: they have one of'
                             f' {", ".join(TYPES)}')
        host = device == HOST_DEVICE
        strides = None
        if not array.is_contiguous():
            strides = array.stride()
            if not host or 0 in strides:  # those of a GPU have to be dense
                array, strides = array.contiguous(), None
        kind = array.shape, strides, number, HOST if host else CUDA
        return View(array.data_ptr(), kind, device, 0 if host else self.stream_of(device), array)


class _CuPy:
    """Arrays of CuPy."""

    def __init__(self) -> None:
        self._cupy = sys.modules['cupy']

    def dense(self, array: Any, wanted: str) -> Any:
        return self._cupy.ascontiguousarray(array, wanted)

    def device_of(self, array: Any) -> int:
        return int(array.device.id)

    def address_of(self, array: Any) -> int:
        return int(array.data.ptr)

    def stream_of(self, device: int) -> int:
        return int(self._cupy.cuda.get_current_stream(device).ptr)

    def empty(self, like: Any, wanted: str, *shape: int) -> Any:
        with like.device:
            return self._cupy.empty(shape, wanted)

    def cut(self, array: Any, count: int) -> Any:
        return array[:count]

    def copied(self, array: Any, like: Any) -> Any:
        with like.device:
            return self._cupy.asarray(array)

    def as_integers(self, array: Any) -> Any:
        return array.view('int32')

    def view_of(self, array: Any) -> View:
        if array.dtype.name not in TYPES:
            raise ValueError(f'{array.dtype} is not a type of tensors: they have one of'
                             f' {", ".join(TYPES)}')
        array, device = self._cupy.ascontiguousarray(array), self.device_of(array)
        kind = array.shape, None, TYPES[array.dtype.name], CUDA
        return View(self.address_of(array), kind, device, self.stream_of(device), array)


NUMPY: Library = _NumPy()


@functools.cache
def _torch() -> Library:
    return _Torch()


@functools.cache
def _cupy() -> Library:
    return _CuPy()


def library_of(array: Any) -> Library:
    """Returns the package that has made an array, NumPy for what is not known here."""
    torch = sys.modules.get('torch')
    if torch is not None and isinstance(array, torch.Tensor):
        return _torch()
    cupy = sys.modules.get('cupy')
    if cupy is not None and isinstance(array, cupy.ndarray):
        return _cupy()
    return NUMPY


def _on_host(array: Any) -> Any:
    """Returns an array or a sequence as NumPy reads it, a copy if it is on a GPU."""
    torch = sys.modules.get('torch')
    if torch is not None and isinstance(array, torch.Tensor):
        return array.detach().cpu().numpy()
    array = getattr(array, '_ortvalue', array)
    if hasattr(array, 'numpy') and not isinstance(array, np.ndarray):  # of ONNX Runtime
        return array.numpy()
    return np.asarray(array)


def _capsule_of(array: Any, stream: int | None) -> Any:
    """Returns a DLPack capsule, whose values are ready on a stream if it is on a GPU."""
    options = {} if stream is None else {'stream': stream}
    try:
        return array.__dlpack__(max_version=(1, 1), **options)
    except TypeError:  # of before DLPack 1.0
        return array.__dlpack__(**options)


def _tensor_in(capsule: Any) -> _Tensor:
    """Returns what a capsule has. It is not consumed: the values are in memory as long as it is."""
    for name in (b'dltensor_versioned', b'dltensor'):
        if _is_capsule(capsule, name):
            address = _pointer_in(capsule, name)
            if name == b'dltensor':
                return _Tensor.from_address(address)
            found = _Versioned.from_address(address)
            if found.major != 1:
                raise ValueError(f'DLPack {found.major}.{found.minor} is not known: pass an array'
                                 ' of NumPy')
            tensor: _Tensor = found.tensor
            return tensor
    raise ValueError('__dlpack__() has returned no tensor that has not been used')


def _view_by_dlpack(array: Any) -> View:
    device_type, device = array.__dlpack_device__()
    if device_type not in (*HOST_DEVICES, *CUDA_DEVICES):
        raise ValueError(f'the memory of DLPack device {int(device_type)} cannot be read: copy the'
                         ' array to the host or to a CUDA device')
    on_gpu = device_type in CUDA_DEVICES
    capsule = _capsule_of(array, LEGACY_STREAM if on_gpu else None)
    found = _tensor_in(capsule)
    name = f'{KINDS.get(found.kind, "?")}{found.bits}'
    if name not in TYPES or found.lanes != 1:
        raise ValueError(f'DLPack type {found.kind} of {found.bits} bits is not one of tensors:'
                         f' they have one of {", ".join(TYPES)}')
    rank = found.rank
    shape = tuple(found.shape[:rank])
    strides = tuple(found.strides[:rank]) if found.strides else None
    if strides == _dense(shape):
        strides = None
    if strides is not None and on_gpu:
        raise ValueError(f'an array with strides {strides} on a GPU is not dense: make it'
                         ' contiguous')
    if strides is not None and min(strides) <= 0:
        return NUMPY.view_of(np.ascontiguousarray(np.from_dlpack(array)))
    kind = shape, strides, TYPES[name], CUDA if on_gpu else HOST
    return View((found.data or 0) + found.offset, kind, device if on_gpu else HOST_DEVICE, 0,
                (capsule, array))


def _dense(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides of a dense array in row-major order."""
    strides = [1]
    for size in shape[:0:-1]:
        strides.append(strides[-1] * size)
    return tuple(strides[::-1])[-len(shape):] if shape else ()
