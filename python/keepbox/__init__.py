# SPDX-License-Identifier: LGPL-2.1-or-later
"""Object detection by GStreamer and keepbox, with NumPy arrays as its result.

    detector = keepbox.Detector('model.onnx', classes=['person'], confidence=0.4)
    for frame in detector('video.mp4'):
        print(frame.boxes.xyxy, frame.boxes.conf)

A Detector has a model and its settings. Called with a source (a video, a camera, a stream, pictures
or arrays), it returns a Stream, an iterator of frames. A Frame has its pixels and its Boxes.
"""
from ._boxes import Boxes, Mask
from ._detector import Detector
from ._errors import ElementWarning, Error
from ._frame import Frame
from ._gi import Keepbox as _library
from ._streams import Stream

__version__: str = _library.version()
__all__ = ['Detector', 'Stream', 'Frame', 'Boxes', 'Mask', 'Error', 'ElementWarning', '__version__']
