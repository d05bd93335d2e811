# SPDX-License-Identifier: LGPL-2.1-or-later
"""Object detection by GStreamer and keepbox, with NumPy arrays as its result.

    detector = keepbox.Detector('model.onnx', classes=['person'], confidence=0.4)
    for frame in detector('video.mp4'):
        print(frame.boxes.xyxy, frame.boxes.conf)

A Detector has a model and its settings. Called with a source (a video, a camera, a stream, pictures
or arrays), it returns a Stream, an iterator of frames. A Frame has its pixels and its Boxes.
"""
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ._boxes import Boxes, Mask
    from ._detector import Detector
    from ._errors import ElementWarning, Error
    from ._frame import Frame
    from ._streams import Stream

__version__ = '0.2.0'
__all__ = ['Detector', 'Stream', 'Frame', 'Boxes', 'Mask', 'Error', 'ElementWarning', '__version__']

# Where names are, which are loaded when they are first used: only some need GStreamer.
_PLACES = {'Boxes': '_boxes', 'Detector': '_detector', 'ElementWarning': '_errors',
           'Error': '_errors', 'Frame': '_frame', 'Mask': '_boxes', 'Stream': '_streams'}


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(f'.{_PLACES[name]}', __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
