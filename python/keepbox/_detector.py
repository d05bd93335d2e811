# SPDX-License-Identifier: LGPL-2.1-or-later
"""A model and its settings."""
from __future__ import annotations

import os
import reprlib
from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol

from . import _process, _runtime
from ._counts import Shapes, with_counter
from ._errors import Error
from ._frame import Frame
from ._given import Given, Source, given_by
from ._options import closest
from ._streams import Stream

_runtime.check()

ALIASES = {'confidence': 'score-threshold', 'iou': 'iou-threshold', 'classes': 'include-classes',
           'labels': 'label-file', 'model': 'model-file'}
# Of the constructor alone.
FIXED = ('colors', 'tracker', 'lines', 'zones')
# Names that other packages have for arguments.
OTHER_NAMES = {'agnostic': 'class_agnostic', 'agnostic_nms': 'class_agnostic',
               'class_names': 'labels', 'conf': 'confidence', 'conf_thres': 'confidence',
               'conf_threshold': 'confidence', 'device': 'provider', 'iou_thres': 'iou',
               'max_det': 'max_detections', 'threshold': 'confidence', 'weights': 'model'}
# Names that other packages have for what the model decides.
SIZES = ('image_size', 'img_size', 'imgsz')


def meant(name: str, known: set[str]) -> str | None:
    """Returns what may have been meant by an unknown name of an argument."""
    if name in SIZES:
        return 'input_size, for a model that takes any size'
    return OTHER_NAMES.get(name) or closest(name, {*known, *ALIASES, *FIXED})


class Engine(Protocol):
    """What runs a model: elements of GStreamer in this process or in another one."""

    def set(self, properties: Mapping[str, object]) -> None:
        """Sets properties, by the names of Detector.set(); none if one is wrong."""

    def value(self, name: str) -> Any:
        """Returns what Detector's property of that name has."""

    def names(self) -> list[str]:
        """Returns the names in Python of the properties that may be set."""

    def open(self, given: Given, live: bool | None, timeout: float | None) -> Stream:
        """Starts to read a source."""

    def close(self) -> None:
        """Ends all streams and releases the model."""


class Detector:
    """Finds objects by an ONNX model, on a GPU if there is one that ONNX Runtime can use.

    Args:
        model: the ONNX file. Class names, input and family are taken from the file where they are
            known; Ultralytics' exports need nothing else.
        classes: names or numbers of the classes to keep; None keeps all.
        confidence: keeps boxes with higher scores, from 0 to 1; None takes the family's threshold.
        iou: suppresses boxes that overlap a better one by more, from 0 to 1; None takes the
            family's threshold.
        labels: a file of class names, one per line, if the model has none.
        colors: 'RGB', or 'BGR' as in OpenCV: the order in arrays that you give and get.
        tracker: elements after the decoder that give objects their ids, such as 'boxtrack'.
        lines: lines at which objects are counted (boxcount), by name: x and y of both ends, and
            optionally the names of the directions in and out, such as
            {'gate': (.1, .5, .9, .5, 'enter', 'leave')}; or the text of boxcount's property.
            Coordinates are fractions of the frame if all of a line are at most 1, otherwise pixels.
            Seen from the first end to the second, in is from right to left. Without a tracker,
            boxtrack gives objects their ids.
        zones: zones in which objects are counted, by name: x and y of three or more corners,
            {'queue': [(.2, .5), (.4, .5), (.4, .9)]}. Frames have the counts in `counts`.
        properties: any other property of tensorinfer or boxdecode, with _ for -, such as
            provider='cpu', detector='yolox', nms_contract='ultralytics', max_detections=50,
            class_thresholds={'person': .6}. `gst-inspect-1.0 boxdecode` explains them.

    Raises:
        Error: the model cannot be loaded.
        TypeError, ValueError: a property that neither element has, or a wrong value.

    The model is loaded once, and kept until the detector is closed or collected. A detector may be
    called by several threads; each stream belongs to one of them.
    """

    def __init__(self, model: str | os.PathLike[str], *,
                 classes: Sequence[str | int] | str | None = None, confidence: float | None = None,
                 iou: float | None = None, labels: str | os.PathLike[str] | None = None,
                 colors: str = 'RGB', tracker: str | None = None, lines: Shapes | None = None,
                 zones: Shapes | None = None, **properties: object) -> None:
        _process.check()
        if colors not in ('RGB', 'BGR'):
            raise ValueError(f'colors must be RGB or BGR, not {colors}')
        after = with_counter(tracker or '', lines, zones)
        given = {'model': model, 'classes': classes, 'confidence': confidence, 'iou': iou,
                 'labels': labels, **properties}
        self._engine: Engine = _runtime.engine(
            colors, after, {name: value for name, value in given.items() if value is not None})

    if not TYPE_CHECKING:  # a type checker would take it for a class with any attribute
        def __setattr__(self, name: str, value: object) -> None:
            # A subclass may have attributes of its own.
            if type(self) is Detector and not name.startswith('_') and not hasattr(Detector, name):
                raise AttributeError(self._no_attribute(name, value), name=name, obj=self)
            super().__setattr__(name, value)

    def __call__(self, source: Source, *, live: bool | None = None,
                 timeout: float | None = None) -> Stream:
        """Starts to read frames.

        Args:
            source: a video or picture file; a folder or a pattern of files such as 'photos/*.jpg',
                whose pictures and videos are read in the order of their names; a URI, such as
                rtsp://...; the number of a camera; elements of GStreamer such as
                'videotestsrc ! timeoverlay', or one that is a source, such as 'v4l2src
                device=/dev/video2'; an array of uint8 (height, width, 3), with 4 or 1 channels or
                (height, width), or several in an array with one more dimension; or a list,
                generator or other iterable of arrays, pictures of PIL and names of files.
            live: True leaves frames out that come while the program or the model is busy, so that
                the newest is returned; None does so for cameras and for streams such as rtsp://,
                whose end is an Error, because they have none.
            timeout: seconds to wait for a frame from the source before an Error; None waits 30 s
                for a URI, and without limit for others. The time that the model takes does not
                count.

        Returns:
            an iterator of frames.

        Raises:
            Error: an element does not start.
            FileNotFoundError: no such file, folder or pattern.
            TypeError, ValueError: not a source, or an array of another type or shape.
        """
        _process.check()
        return self._engine.open(given_by(source), live, timeout)

    def detect(self, source: Source) -> Frame:
        """Returns the first frame of a source: that of a picture or of an array."""
        with self(source) as stream:
            for frame in stream:
                return frame
        raise Error('the source has no frame')

    def set(self, **properties: object) -> None:
        """Sets properties, with the names of the constructor; those of boxdecode, interval and hold
        count for running streams from their next frame on, all of them for later streams. A list
        of classes that the model does not have is a warning of running streams, which keep theirs,
        and an error of later ones. If one of several values is wrong, none is set.

        Raises:
            TypeError: a property that neither element has, or a value of another type.
            ValueError: a value that is out of range, or an unknown name.
        """
        _process.check()
        for name in properties:
            if name in FIXED:
                raise TypeError(f'{name} cannot be changed: make another Detector with it')
        self._engine.set(properties)

    @property
    def confidence(self) -> float | None:
        """Boxes with higher scores are kept; None until it is set, for the family's threshold. May
        be set at any time."""
        return self._engine.value('confidence')  # type: ignore[no-any-return]

    @confidence.setter
    def confidence(self, value: float) -> None:
        self.set(confidence=value)

    @property
    def iou(self) -> float | None:
        """Boxes that overlap a better one by more are suppressed; None until it is set, for the
        family's threshold. May be set at any time."""
        return self._engine.value('iou')  # type: ignore[no-any-return]

    @iou.setter
    def iou(self, value: float) -> None:
        self.set(iou=value)

    @property
    def classes(self) -> list[str]:
        """Names or numbers of the classes that are kept, empty for all; may be set at any time."""
        return list(self._engine.value('classes'))

    @classes.setter
    def classes(self, value: Sequence[str | int] | str | None) -> None:
        self.set(classes=value or '')

    @property
    def names(self) -> dict[int, str]:
        """Names of the classes by number, as Ultralytics' model.names, also before the first frame:
        those of labels or of the detector file's label-file, as they were when that was set,
        otherwise those in the metadata of the model. Empty if there are none; boxes are then called
        class-0, class-1 and so on. With a GPU that fails, so that the CPU follows, a model's names
        are known from the first frame on."""
        return dict(enumerate(self._engine.value('names')))

    def close(self) -> None:
        """Ends all streams and releases the model."""
        if _process.is_usable():
            self._engine.close()

    def __enter__(self) -> Detector:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _no_attribute(self, name: str, value: object) -> str:
        """Tells what to do instead of setting an attribute that there is not."""
        text = f'{name} is not an attribute of Detector: '
        known = {*self._engine.names()}
        if name in FIXED:
            return f'{text}make another one with {name}={reprlib.repr(value)}'
        if name in known or name in ALIASES:
            return f'{text}call set({name}={reprlib.repr(value)})'
        found = meant(name, known)
        if found is None:
            return f'{text}see help(keepbox.Detector) for those it has'
        settable = found.isidentifier() and not hasattr(Detector, found)
        return f'{text}did you mean {f"set({found}=...)" if settable else found}?'
