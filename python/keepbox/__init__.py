# SPDX-License-Identifier: LGPL-2.1-or-later
"""Object detection by GStreamer and keepbox, with NumPy arrays as its result.

    detector = keepbox.Detector('model.onnx', classes=['person'], confidence=0.4)
    for frame in detector('video.mp4'):
        print(frame.boxes.xyxy, frame.boxes.conf)

A Detector has a model and its settings. Called with a source (a video, a camera, a stream, pictures
or arrays), it returns a Stream, an iterator of frames. A Frame has its pixels and its Boxes.

Programs that run their model themselves need no GStreamer: a Decoder turns its output, arrays of
NumPy, PyTorch, CuPy and others, into Boxes, and nms() suppresses overlapping boxes.

    decoder = keepbox.Decoder('yolov8', score_threshold=.3, size=(640, 640), frame=(1920, 1080))
    boxes = decoder(output)
    kept = keepbox.nms(boxes, scores, iou=.5)

scan() looks at archives: the boxes of each file as a Parquet file, exactly once.
"""
import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from . import compat
    from ._boxes import Boxes, Mask
    from ._counts import Counts
    from ._decoder import Decoder, DeviceBoxes
    from ._detector import Detector
    from ._errors import ElementWarning, Error
    from ._frame import Frame
    from ._nms import nms
    from ._scan import Scanned, scan
    from ._streams import Stream

__version__ = '0.2.0'
__all__ = ['Detector', 'Stream', 'Frame', 'Boxes', 'Mask', 'Counts', 'Decoder', 'DeviceBoxes',
           'nms', 'scan', 'Scanned', 'compat', 'Error', 'ElementWarning', '__version__']

# Where names are, which are loaded when they are first used: only some need GStreamer.
_PLACES = {'Boxes': '_boxes', 'Counts': '_counts', 'Decoder': '_decoder', 'Detector': '_detector',
           'DeviceBoxes': '_decoder', 'ElementWarning': '_errors', 'Error': '_errors',
           'Frame': '_frame', 'Mask': '_boxes', 'Scanned': '_scan', 'Stream': '_streams',
           'nms': '_nms', 'scan': '_scan'}


def __getattr__(name: str) -> object:
    if name == 'compat':
        return importlib.import_module('.compat', __name__)
    if name not in _PLACES:
        raise AttributeError(f'module {__name__!r} has no attribute {name!r}')
    value = getattr(importlib.import_module(f'.{_PLACES[name]}', __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
