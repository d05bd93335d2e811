# SPDX-License-Identifier: LGPL-2.1-or-later
"""A model and its settings."""
from __future__ import annotations

import contextlib
import os
import reprlib
import weakref
from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any

from . import _process
from ._errors import Error
from ._frame import Frame
from ._gi import Gst
from ._labels import label_file_of, names_in
from ._line import Pipeline, is_installed
from ._options import as_text, closest, dashed
from ._pictures import ItemsStream, PicturePipeline, PictureStream
from ._properties import names_of, names_of_enum, owner_of, set_all, set_property
from ._render import Renderer
from ._sources import UPRIGHT, Items, Source, Video, open_source
from ._streams import Stream, VideoStream

ALIASES = {'confidence': 'score-threshold', 'iou': 'iou-threshold', 'classes': 'include-classes',
           'labels': 'label-file', 'model': 'model-file'}
# Of the constructor alone.
FIXED = ('colors', 'tracker')
# Properties of tensorinfer that may change while it plays.
LIVE = ('interval', 'hold', 'qos')
# Names that other packages have for arguments.
OTHER_NAMES = {'agnostic': 'class_agnostic', 'agnostic_nms': 'class_agnostic',
               'class_names': 'labels', 'conf': 'confidence', 'conf_thres': 'confidence',
               'conf_threshold': 'confidence', 'device': 'provider', 'iou_thres': 'iou',
               'max_det': 'max_detections', 'threshold': 'confidence', 'weights': 'model'}
# Names that other packages have for what the model decides.
SIZES = ('image_size', 'img_size', 'imgsz')


def _meant(name: str, known: set[str]) -> str | None:
    """Returns what may have been meant by an unknown name of an argument."""
    if name in SIZES:
        return 'input_size, for a model that takes any size'
    return OTHER_NAMES.get(name) or closest(name, {*known, *ALIASES, *FIXED})


def _check_tracker(tracker: str) -> None:
    """Raises Error if the tracker is a method of boxtrack instead of an element."""
    name, *_ = tracker.split() or ['']
    if is_installed(name) or not is_installed('boxtrack'):
        return
    default, *others = names_of_enum('boxtrack', 'method')
    if name == default:
        raise Error(f'{name} is not an element: did you mean boxtrack? {name} is its default'
                    ' method')
    if name in others:
        raise Error(f"{name} is not an element: did you mean 'boxtrack method={name}'?")


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
                 colors: str = 'RGB', tracker: str | None = None, **properties: object) -> None:
        _process.check()
        if colors not in ('RGB', 'BGR'):
            raise ValueError(f'colors must be RGB or BGR, not {colors}')
        if tracker:
            _check_tracker(tracker)
        self._colors, self._tracker = colors, tracker
        self._renderer = Renderer(colors)
        self._lines: weakref.WeakSet[Pipeline] = weakref.WeakSet()
        self._idle: list[PicturePipeline] = []
        self._retired: weakref.WeakSet[Pipeline] = weakref.WeakSet()  # end with their stream
        # Never play; they check values and hold them for streams to come.
        self._pattern = [Gst.ElementFactory.make(name) for name in ('tensorinfer', 'boxdecode')]
        self._set: dict[str, object] = {}
        self._names_in_file: list[str] = []
        self._labels: dict[str, str] = {}  # of all lines
        given = {'model': model, 'classes': classes, 'confidence': confidence, 'iou': iou,
                 'labels': labels, **properties}
        self.set(**{name: value for name, value in given.items() if value is not None})
        line = self._picture_pipeline()
        line.await_model()
        self._give_back(line)

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
        opened = open_source(source, self._colors)
        if isinstance(opened, Video):
            opened.endless = opened.live and live is not False
            opened.live = live if live is not None else opened.live
            opened.timeout = timeout if timeout is not None else opened.timeout
            return self._open_video(opened)
        return ItemsStream(opened, self._open_video, self._open_pictures)

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
        named = {}
        for name, value in properties.items():
            if name in FIXED:
                raise TypeError(f'{name} cannot be changed: make another Detector with it')
            name = ALIASES.get(name, dashed(name))
            named[name] = owner_of(name, self._pattern, _meant), value
        set_all(named)
        for name, (pattern, value) in named.items():
            self._set[name] = value
            if name in ('detector', 'label-file'):
                self._read_labels()
            for line in list(self._lines):
                set_property(owner_of(name, self._elements(line)), name, value)
            if pattern is self._pattern[0] and name not in LIVE:
                self._retire_lines()

    @property
    def confidence(self) -> float | None:
        """Boxes with higher scores are kept; None until it is set, for the family's threshold. May
        be set at any time."""
        return self._number('score-threshold')

    @confidence.setter
    def confidence(self, value: float) -> None:
        self.set(confidence=value)

    @property
    def iou(self) -> float | None:
        """Boxes that overlap a better one by more are suppressed; None until it is set, for the
        family's threshold. May be set at any time."""
        return self._number('iou-threshold')

    @iou.setter
    def iou(self, value: float) -> None:
        self.set(iou=value)

    @property
    def classes(self) -> list[str]:
        """Names or numbers of the classes that are kept, empty for all; may be set at any time."""
        text = as_text(self._pattern[1].get_property('include-classes') or '')
        return [each.strip() for each in text.split(',') if each.strip()]

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
        model = self._pattern[0].get_property('model-file')
        names = self._names_in_file or self._labels.get(model, '').split('\n')[:-1]
        return {number: name or f'class-{number}' for number, name in enumerate(names)}

    def close(self) -> None:
        """Ends all streams and releases the model."""
        if not _process.is_usable():
            return
        self._idle.clear()
        self._renderer.close()
        for line in list(self._lines):
            line.close()

    def __enter__(self) -> Detector:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self.close()

    def _no_attribute(self, name: str, value: object) -> str:
        """Tells what to do instead of setting an attribute that there is not."""
        text = f'{name} is not an attribute of Detector: '
        known = names_of(self._pattern)
        if name in FIXED:
            return f'{text}make another one with {name}={reprlib.repr(value)}'
        if name in known or name in ALIASES:
            return f'{text}call set({name}={reprlib.repr(value)})'
        meant = _meant(name, known)
        if meant is None:
            return f'{text}see help(keepbox.Detector) for those it has'
        settable = meant.isidentifier() and not hasattr(Detector, meant)
        return f'{text}did you mean {f"set({meant}=...)" if settable else meant}?'

    def _read_labels(self) -> None:
        """Reads the label file. One that cannot be read is an error of the elements, and running
        streams keep the one before."""
        label_file, detector = map(self._pattern[1].get_property, ('label-file', 'detector'))
        label_file = label_file or label_file_of(detector or '')
        with contextlib.suppress(OSError, ValueError):
            self._names_in_file = names_in(label_file) if label_file else []

    def _number(self, name: str) -> float | None:
        """Returns a setting, or None if it was not set; elements keep it as a float32."""
        return round(self._pattern[1].get_property(name), 6) if name in self._set else None

    def _elements(self, line: Pipeline) -> list[Any]:
        return [line.element('keepbox-infer'), line.element('keepbox-decode')]

    def _detection(self) -> str:
        line = 'video/x-raw ! tensorinfer name=keepbox-infer ! boxdecode name=keepbox-decode'
        return f'{line} ! {self._tracker}' if self._tracker else line

    def _start(self, line: Pipeline) -> None:
        for name, value in self._set.items():
            set_property(owner_of(name, self._elements(line)), name, value)
        line.labels = self._labels
        line.play()
        self._lines.add(line)

    def _picture_pipeline(self) -> PicturePipeline:
        line = PicturePipeline(f'videoconvert ! {self._detection()}')
        self._start(line)
        return line

    def _give_back(self, line: PicturePipeline) -> None:
        if line in self._retired:
            line.close()
        elif line.is_open:
            self._idle.append(line)

    def _retire_lines(self) -> None:
        """Lets later streams have new lines, because a model is loaded once for a line."""
        self._retired.update(self._lines)
        while self._idle:
            self._idle.pop().close()

    def _open_pictures(self, items: Items, first: int) -> PictureStream:
        line = self._idle.pop() if self._idle else self._picture_pipeline()
        return PictureStream(line, self._renderer, self._tracker or '', items, self._give_back,
                             first)

    def _open_video(self, video: Video) -> VideoStream:
        queue = 'queue name=keepbox-queue max-size-time=0 max-size-bytes=0 max-size-buffers='
        queue += '1 leaky=downstream' if video.live else '2'
        line = Pipeline(f'{video.text} ! {UPRIGHT} ! video/x-raw ! {queue} ! {self._detection()}',
                        'max-buffers=1 drop=true' if video.live else 'max-buffers=4', video.name,
                        video.timeout)
        for name, value in video.properties.items():
            line.element('keepbox-source').set_property(name, value)
        self._start(line)
        return VideoStream(line, self._renderer, self._tracker or '', video)
