# SPDX-License-Identifier: LGPL-2.1-or-later
"""Output of a model to boxes as a function."""
from __future__ import annotations

import contextlib
import ctypes
import functools
import os
import re
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import _clib
from ._arrays import HOST_DEVICE, NUMPY, View, library_of
from ._boxes import ROW, UNTRACKED, Boxes, Layout, Mask, Values, boxes_of_rows
from ._errors import warn
from ._options import check_names, options_text

# KeepboxDecodeBox
BOX = np.dtype([('xyxy', 'f4', 4), ('score', 'f4'), ('angle', 'f4'), ('class', 'i4'),
                ('anchor', 'i4')])
FUNNEL = [field[0] for field in _clib.Funnel._fields_]
MOST_DETECTIONS = 300  # unless max_detections is set
ALIASES = {'size': 'model-size', 'frame': 'frame-size'}
# Width and height of a frame in pixels, and optionally scale_x, scale_y, pad_x and pad_y.
FrameSize = Sequence[float]


class DeviceBoxes:
    """Boxes of B images on a GPU, as arrays of the package whose arrays were decoded. They are
    ready on the stream that was current then: work that the package enqueues on it comes after.

    Each image has room for M boxes, the best first; of image b, the first counts[b] are boxes, and
    the others have no meaning.
    """

    def __init__(self, library: Any, memory: Any, images: int, room: int) -> None:
        """memory: float32 (B * M * 8 + B,)."""
        self._library, self._memory = library, memory
        self._shape, self._end = (images, room, 8), images * room * 8

    @functools.cached_property
    def rows(self) -> Any:
        """float32 (B, M, 8): x1, y1, x2, y2, score, angle, and the bits of class and anchor."""
        return self._memory[:self._end].reshape(self._shape)

    @functools.cached_property
    def _integers(self) -> Any:
        return self._library.as_integers(self._memory)

    @property
    def counts(self) -> Any:
        """int32 (B,): how many boxes each image has."""
        return self._integers[self._end:]

    @property
    def xyxy(self) -> Any:
        """float32 (B, M, 4): left, top, right, bottom, in pixels of the frame; of oriented boxes
        before their rotation."""
        return self.rows[..., :4]

    @property
    def conf(self) -> Any:
        """float32 (B, M): scores, from 0 to 1."""
        return self.rows[..., 4]

    @property
    def angles(self) -> Any:
        """float32 (B, M): rotation about the centre in radians, clockwise; 0 for upright boxes."""
        return self.rows[..., 5]

    @property
    def cls(self) -> Any:
        """int32 (B, M): class numbers from 0."""
        return self._integers[:self._end].reshape(self._shape)[..., 6]

    @property
    def anchors(self) -> Any:
        """int32 (B, M): the row or cell of the output that each box comes from."""
        return self._integers[:self._end].reshape(self._shape)[..., 7]


class Decoder:
    """Turns the output of a detector into boxes, on the CPU, or on a CUDA device if it is there.
    It needs neither GStreamer nor any other package than NumPy.

    Args:
        detector: the family of the model, such as 'yolov8', or a detector file; None recognises
            it. The page Families lists them.
        size: width and height of the model's input in pixels, such as (640, 640). None derives
            them.
        frame: width and height of the picture that boxes refer to, in pixels; None is the model's
            input.
        names: the names of classes by number, a list or a dict such as Ultralytics' model.names;
            label_file='coco.txt' reads them from a file. Without both they are class-0, class-1...
        options: the properties of the element boxdecode that describe the model and choose boxes,
            with _ for -: score_threshold=.3, iou_threshold=.5, max_detections=100,
            include_classes=['person'], class_thresholds={'person': .6}, nms_contract='ultralytics',
            resize_mode='letterbox-center', min_size=(16, 16), threads=4.
            keepbox.Decoder.options() describes all.

    Raises:
        TypeError: an option that does not exist.
        ValueError: a wrong value.
        Error: a file that cannot be read, or no memory.
        ImportError: libkeepbox-decode is not installed.

    What may be wrong with outputs or options, such as boxes outside of the model's input, is an
    ElementWarning.

    A decoder may be called by several threads: each has its own memory. Calls with outputs of the
    same shape as before allocate nothing but their result.

    Example:
        >>> decoder = keepbox.Decoder('yolov8', score_threshold=.3, size=(640, 640),
        ...                           frame=(1920, 1080))
        >>> boxes = decoder(session.run(None, {'images': picture})[0])
        >>> boxes.xyxy, boxes.conf, boxes.cls
    """

    def __init__(self, detector: str | os.PathLike[str] | None = None, *,
                 size: Sequence[int] | str | None = None,
                 frame: Sequence[int] | str | None = None,
                 names: Sequence[str] | Mapping[int, str] | None = None,
                 **options: Any) -> None:
        self._mine = threading.local()
        self._given: dict[str, Any] = {}
        self.set(detector=detector, size=size, frame=frame, names=names, **options)

    def __repr__(self) -> str:
        return f'Decoder({", ".join(f"{name}={value!r}" for name, value in self._given.items())})'

    def __call__(self, *outputs: Any,
                 frames: Sequence[FrameSize] | None = None) -> Boxes | list[Boxes]:
        """Decodes the output of one run of the model, and waits for the boxes.

        Args:
            outputs: the output arrays in any order, as arguments, as a list, or as a dict by the
                names of the model's outputs (see tensor_ids). They may be arrays of NumPy, PyTorch
                and CuPy, values of ONNX Runtime, and whatever has __dlpack__, of float, float16,
                bfloat16 or integers (see quantization), with any strides; all in host memory or
                all on one CUDA device, where they are decoded after the work that the package has
                enqueued on its current stream. Arrays that the family does not read are ignored.
                The first dimension may be a batch of B images.
            frames: the picture of each image of the batch, as width and height, or, if it was
                not fitted as resize_mode says, as (width, height, scale_x, scale_y, pad_x, pad_y):
                a pixel x of the model's input is (x - pad_x) * scale_x in the frame. None: all are
                as `frame` says.

        Returns:
            the boxes of one image; a list of those of B images, if B is more than 1 or frames are
            given.

        Raises:
            ValueError: outputs that do not fit the family or each other, with what was expected.
            Error: no memory, or an error of the GPU.
        """
        found = self.batch(*outputs, frames=frames)
        return found if frames is not None or len(found) != 1 else found[0]

    def batch(self, *outputs: Any, frames: Sequence[FrameSize] | None = None) -> list[Boxes]:
        """Decodes as a call does, and returns a list of the boxes of each image, also of one."""
        handle = self._run(outputs, frames)
        usual = _numbers(self._given.get('frame-size') or self._given.get('model-size'))
        sizes = [usual] * len(handle.images) if frames is None else [
            (int(each[0]), int(each[1])) if each[0] else usual for each in frames]
        return [self._boxes_of(handle, image, size) for image, size in zip(handle.images, sizes)]

    def enqueue(self, *outputs: Any, frames: Sequence[FrameSize] | None = None) -> DeviceBoxes:
        """Enqueues the decoding of arrays of PyTorch or CuPy on a CUDA device on the package's
        current stream, and returns at once: the boxes stay on the device. The first call, and the
        first with another shape, wait for the GPU. Keypoints, masks and other values are not
        written.

        Args and errors are as of a call; also:
            ValueError: arrays that are not on a CUDA device, or of another package.
            Error: an nms_method that needs the host in between.
        """
        views = _views_of(outputs)
        library = library_of(views[0][1].owner)
        if library is NUMPY or views[0][1].device == HOST_DEVICE:
            raise ValueError('enqueue() takes arrays of PyTorch or CuPy on a CUDA device: call the'
                             ' decoder itself')
        handle = self._filled(views)
        places = _frames(frames)
        if not handle.is_known:
            handle.run(places)
        first = views[0][1].owner
        images, room = len(handle.images), int(self._given.get('max-detections', MOST_DETECTIONS))
        memory = library.empty(first, 'float32', images * room * 8 + images)
        handle.enqueue(places, library.stream_of(views[0][1].device),
                       library.address_of(memory), images, room)
        return DeviceBoxes(library, memory, images, room)

    def set(self, **options: Any) -> None:
        """Changes options of later calls, with the names of the constructor; None takes the default
        again. If one of several values is wrong, none is changed.

        Raises:
            TypeError: an option that does not exist.
            ValueError: a wrong value.
        """
        known = {*_known_options(), *ALIASES, 'names'} - {*ALIASES.values()}
        check_names(options, known, 'Decoder')
        given = {ALIASES.get(name, name.replace('_', '-')): value
                 for name, value in options.items()}
        before = self._given
        self._given = {name: value for name, value in {**before, **given}.items()
                       if value is not None}
        try:
            self._handle(HOST_DEVICE)
        except Exception:
            self._given = before
            raise

    @property
    def funnel(self) -> dict[str, int] | list[dict[str, int]]:
        """Numbers of candidates at each stage of this thread's last call, which answer why there is
        no box: 'anchors', 'above_threshold', 'not_finite', 'after_class_filter', 'after_top_k',
        'kept', 'clipped_away', 'filtered_out'. A list for several images; empty before a call."""
        last: _Handle | None = getattr(self._mine, 'last', None)
        found = [{name: getattr(image.funnel, name) for name in FUNNEL}
                 for image in (last.images if last else [])]
        return found[0] if len(found) == 1 else found

    @property
    def remark(self) -> str:
        """What this thread's last call recognised and assumed, in English; '' before a call."""
        last: _Handle | None = getattr(self._mine, 'last', None)
        return last.remark.decode() if last else ''

    @staticmethod
    def options() -> str:
        """Returns a text that describes all options; in Python - is _, and model-size= and
        frame-size= are size and frame."""
        text: bytes = _clib.functions().keepbox_decoder_options()
        return text.decode()

    @contextlib.contextmanager
    def _text(self) -> Iterator[str]:
        """Returns the text of all options; names are in a file meanwhile."""
        given = dict(self._given)
        names = _by_number(given.pop('names', None))
        text = options_text(given)
        if not names:
            yield text
            return
        with tempfile.NamedTemporaryFile('w', suffix='.labels', encoding='utf-8') as file:
            file.writelines(f'{names.get(number, "")}\n' for number in range(max(names) + 1))
            file.flush()
            yield f'{text} {options_text({"label-file": file.name})}'

    def _handle(self, device: int) -> _Handle:
        """Returns this thread's decoder for a device, with the options of now."""
        handles: dict[int, _Handle] = self._mine.__dict__.setdefault('handles', {})
        found = handles.get(device)
        if found is not None and found.given is self._given and found.is_current:
            return found
        with self._text() as text:
            # Options that were taken back have their defaults in a new decoder alone.
            if found is not None and found.is_current and found.given.keys() <= self._given.keys():
                found.set(text)
            else:
                found = handles[device] = _Handle(text)
        found.given = self._given
        return found

    def _filled(self, views: list[tuple[str | None, View]]) -> _Handle:
        handle = self._handle(views[0][1].device)
        handle.fill(views)
        return handle

    def _run(self, outputs: tuple[Any, ...], frames: Sequence[FrameSize] | None) -> _Handle:
        """Returns the handle that has the results."""
        views = _views_of(outputs)
        handle = self._filled(views)
        handle.run(_frames(frames))
        self._mine.last = handle
        return handle

    def _boxes_of(self, handle: _Handle, image: _clib.Image,
                  size: tuple[int, int] | None) -> Boxes:
        found = rows_of(image)
        rows = np.zeros(len(found), ROW)
        corners, ltwh = found['xyxy'], rows['ltwh']
        ltwh[:, :2] = corners[:, :2]
        np.subtract(corners[:, 2:], corners[:, :2], out=ltwh[:, 2:])
        rows['angle'], rows['conf'], rows['cls'] = found['angle'], found['score'], found['class']
        rows['id'] = UNTRACKED
        handle.has_masks |= bool(image.masks)
        layout = Layout(keypoints=image.n_points, masks=handle.has_masks,
                        embedding=image.n_values or None)
        shape = None if size is None else (size[1], size[0])
        return boxes_of_rows(rows, self._values_of(handle, image, found), shape, layout)

    def _values_of(self, handle: _Handle, image: _clib.Image, found: NDArray[Any]) -> Values:
        """Returns what the boxes of an image have beside their rows, copied."""
        count, classes = len(found), _list(found['class'])
        names = handle.names_of(classes)
        points = _floats_at(image.points, (count, image.n_points, 3))
        values = _floats_at(image.values, (count, image.n_values))
        masks = [_mask_of(image.masks[index]) for index in range(count)] if image.masks else None
        return Values(range(count), {
            'label': lambda index: names[classes[index]], 'model': lambda index: '',
            'attributes': lambda index: {},
            'tensors': lambda index: {'': values[index]} if values.size else {},
            'mask': lambda index: masks[index] if masks else None,
            'points': lambda index: points[index]})


class _Handle(_clib.Owned):
    """A decoder of the C library, with the structures of its last call.

    Attributes:
        given: the options that it has.
        images: the results; what they point to is there until the next call.
        remark: what was recognised and assumed.
        has_masks: some result had masks.
        is_known: results of tensors of this kind were seen.
    """

    def __init__(self, options: str) -> None:
        super().__init__('decoder', options)
        library = _clib.functions()
        self._set, self._run = library.keepbox_decoder_set, library.keepbox_decoder_run
        self._enqueue = library.keepbox_decoder_enqueue
        self._found, self._output = _clib.Result(), _clib.Output()
        self._result, self._to = ctypes.byref(self._found), ctypes.byref(self._output)
        self._kinds: list[Any] | None = None
        self._tensors: Any = ()
        self._each, self._count = list[_clib.Tensor](), 0
        self._views: Any = ()
        self._name_of, self._names = library.keepbox_decoder_class_name, dict[int, str]()
        self.given: dict[str, Any] = {}
        self.images: list[_clib.Image] = []
        self.remark = self._warnings = b''
        self.has_masks = self.is_known = False

    def set(self, options: str) -> None:
        """Changes the options."""
        if self._set(self.pointer, options.encode(), self.error):
            self.raise_error()
        self.is_known, self._names = False, {}

    def names_of(self, classes: list[int]) -> dict[int, str]:
        """Returns the names of classes, and of others."""
        names = self._names
        for number in {*classes} - names.keys():
            names[number] = self._name_of(self.pointer, number).decode(errors='replace')
        return names

    def fill(self, views: list[tuple[str | None, View]]) -> None:
        """Takes the tensors of the next call."""
        kinds = [(name, view.kind) for name, view in views]
        if kinds != self._kinds:
            self._tensors = _tensors_of(views)
            self._each, self._count = list(self._tensors), len(views)
            self._kinds, self.is_known = kinds, False
        for tensor, (_, view) in zip(self._each, views):
            tensor.data, tensor.stream = view.data, view.stream
        self._views = views  # keeps their memory

    def run(self, frames: Any) -> None:
        """Decodes, and waits for the images."""
        if self._run(self.pointer, self._tensors, self._count, frames, len(frames or ()),
                     self._result, self.error):
            self.raise_error()
        result = self._found
        self.images = [_clib.Image.from_buffer_copy(ctypes.string_at(
            result.images + index * result.image_size, ctypes.sizeof(_clib.Image)))
            for index in range(result.n_images)]
        self.remark, self.is_known, self._views = result.remark or b'', True, ()
        if result.warnings != self._warnings:
            self._warnings = result.warnings or b''
            if self._warnings:
                warn(self._warnings.decode(errors='replace'))

    def enqueue(self, frames: Any, stream: int, memory: int, images: int, room: int) -> None:
        """Starts the decoding to memory on the device: boxes, then counts."""
        output = self._output
        output.boxes, output.capacity = memory, room
        output.counts = memory + images * room * BOX.itemsize
        if self._enqueue(self.pointer, self._tensors, self._count, frames, len(frames or ()),
                         stream, self._to, self.error):
            self.raise_error()
        self._views = ()  # their package frees memory in the order of the stream


def _views_of(outputs: tuple[Any, ...]) -> list[tuple[str | None, View]]:
    """Returns the arrays of a call, with their names if it has such."""
    views: list[tuple[str | None, View]]
    given: Any = outputs[0] if len(outputs) == 1 else outputs
    if isinstance(given, dict):
        views = [(str(name), library_of(each).view_of(each)) for name, each in given.items()]
    elif isinstance(given, list | tuple):
        views = [(None, library_of(each).view_of(each)) for each in given]
    else:
        return [(None, library_of(given).view_of(given))]
    if not views:
        raise ValueError('no output of the model was given')
    for _, view in views:
        if view.device != views[0][1].device:
            raise ValueError('outputs are on different devices: move all to the host or to one'
                             ' CUDA device')
    return views


def _tensors_of(views: list[tuple[str | None, View]]) -> Any:
    """Returns the structures of tensors, without what changes with each call."""
    tensors = (_clib.Tensor * len(views))()
    for tensor, (name, view) in zip(tensors, views):
        shape, strides, number, memory = view.kind
        if len(shape) > _clib.MAX_DIMS:
            raise ValueError(f'an output has {len(shape)} dimensions: at most'
                             f' {_clib.MAX_DIMS} are possible')
        tensor.size = ctypes.sizeof(tensor)
        tensor.type, tensor.memory, tensor.rank = number, memory, len(shape)
        tensor.dims[:len(shape)] = shape
        if strides is not None:
            tensor.strides[:len(shape)] = strides
        tensor.id = None if name is None else name.encode()
    return tensors


def _frames(frames: Sequence[FrameSize] | None) -> Any:
    """Returns the structures of frames, None without."""
    if frames is None:
        return None
    out = (_clib.Frame * len(frames))()
    for each, values in zip(out, frames):
        if len(values) not in (2, 6):
            raise ValueError('a frame must be (width, height) or (width, height, scale_x, scale_y,'
                             f' pad_x, pad_y), not {tuple(values)}')
        each.size = ctypes.sizeof(each)
        each.width, each.height = int(values[0]), int(values[1])
        if len(values) == 6:
            each.scale_x, each.scale_y, each.pad_x, each.pad_y = map(float, values[2:])
    return out


def rows_of(image: _clib.Image) -> NDArray[Any]:
    """Returns a copy of the boxes, of type BOX."""
    count = image.n_boxes
    return np.frombuffer(ctypes.string_at(image.boxes, count * BOX.itemsize) if count else b'', BOX)


def _floats_at(address: int | None, shape: tuple[int, ...]) -> NDArray[np.float32]:
    """Returns a copy of float32 values; none at address None."""
    if not address:
        return np.zeros((shape[0], 0, *shape[2:]), np.float32)
    size = int(np.prod(shape))
    return np.frombuffer(ctypes.string_at(address, size * 4), np.float32).reshape(shape).copy()


def _mask_of(mask: _clib.Mask) -> Mask | None:
    if not mask.bits:
        return None
    words = ctypes.string_at(mask.bits, 4 * mask.stride * mask.height)
    rows = np.frombuffer(words, np.uint8).reshape(mask.height, 4 * mask.stride)
    bits = np.unpackbits(rows, axis=1, bitorder='little')
    pixels = bits[:, mask.first:mask.first + mask.width].astype(bool)
    return Mask(pixels, (mask.x1, mask.y1, mask.x2 - mask.x1, mask.y2 - mask.y1))


def _list(numbers: Any) -> list[int]:
    return numbers.tolist()  # type: ignore[no-any-return]


def _by_number(names: Sequence[str] | Mapping[int, str] | None) -> dict[int, str]:
    """Returns the names of classes by number, none without names."""
    if names is None:
        return {}
    found = names.items() if isinstance(names, Mapping) else enumerate(names)
    return {int(number): str(name) for number, name in found}


def _numbers(size: Any) -> tuple[int, int] | None:
    """Returns width and height of an option such as (640, 480) or '640x480'."""
    found = re.findall(r'\d+', size) if isinstance(size, str) else list(size or ())
    return (int(found[0]), int(found[1])) if len(found) == 2 else None


@functools.cache
def _known_options() -> frozenset[str]:
    """Returns the names of all options."""
    text: bytes = _clib.functions().keepbox_decoder_options()
    return frozenset(re.findall(r'^([a-z][a-z0-9-]*)(?==|:|$)', text.decode(), re.M))
