#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Detects objects in NumPy arrays: the application provides frames, keepbox returns their boxes.

usage: detect.py MODEL.onnx [FILE]   without FILE it uses the camera
"""
import contextlib
import shlex
import sys

import gi
import numpy as np

gi.require_version('Gst', '1.0')
gi.require_version('GstApp', '1.0')
gi.require_version('GstVideo', '1.0')
gi.require_version('Keepbox', '1.0')
from gi.repository import Gst, GstApp, GstVideo, Keepbox  # noqa: E402, F401


class Line:
    """A playing pipeline with an appsink, its element `out`."""

    def __init__(self, text):
        self.pipeline = Gst.parse_launch(f'{text} ! appsink name=out sync=false max-buffers=4')
        self.sink = self.pipeline.get_by_name('out')
        self.pipeline.set_state(Gst.State.PLAYING)

    def pull(self):
        """Returns the next sample, or None at the end."""
        while not (sample := self.sink.try_pull_sample(Gst.SECOND // 5)):
            error = self.pipeline.get_bus().pop_filtered(Gst.MessageType.ERROR)
            if error:
                self.close()
                raise RuntimeError(error.parse_error().gerror.message)
            if self.sink.is_eos():
                return None
        return sample

    def close(self):
        self.pipeline.set_state(Gst.State.NULL)


class Detector(Line):
    """Returns a list of Keepbox.Box when called with an array of height x width x 3 bytes.

    form: 'RGB', or 'BGR' as in OpenCV.
    """

    def __init__(self, model, form='RGB', decode=''):
        super().__init__('appsrc name=in format=time'
                         f' ! tensorinfer model-file={shlex.quote(str(model))}'
                         f' ! boxdecode {decode}')
        self.source, self.form = self.pipeline.get_by_name('in'), form
        self.shape, self.frames = None, 0

    def __call__(self, picture):
        height, width, _ = picture.shape
        if picture.shape != self.shape:
            self.source.set_caps(Gst.Caps.from_string(
                f'video/x-raw,format={self.form},width={width},height={height},framerate=0/1'))
            self.shape = picture.shape
        # GStreamer pads rows to multiples of four bytes.
        lines = np.pad(picture.reshape(height, width * 3), ((0, 0), (0, -width * 3 % 4)))
        frame = Gst.Buffer.new_wrapped(lines.tobytes())
        frame.pts = self.frames * Gst.SECOND
        self.frames += 1
        self.source.push_buffer(frame)
        return Keepbox.buffer_get_boxes(self.pull().get_buffer())


def pictures(source):
    """Yields time and array of each frame; an application may use its own arrays instead."""
    with contextlib.closing(Line(f'{source} ! videoconvert ! video/x-raw,format=RGB')) as line:
        while sample := line.pull():
            buffer, info = sample.get_buffer(), GstVideo.VideoInfo.new_from_caps(sample.get_caps())
            pixels = np.frombuffer(buffer.extract_dup(0, info.size), np.uint8)
            rows = pixels.reshape(info.height, -1)
            yield buffer.pts, rows[:, :info.width * 3].reshape(info.height, info.width, 3)


def main():
    if sys.argv[1:] in (['-h'], ['--help']):
        print(__doc__.strip())
        return
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    Gst.init(None)
    source = (f'filesrc location={shlex.quote(sys.argv[2])} ! decodebin3' if sys.argv[2:]
              else 'autovideosrc')
    with contextlib.closing(Detector(sys.argv[1])) as detect:
        for time, picture in pictures(source):
            for box in detect(picture):
                x, y, width, height = box.get_rect()
                print(f'{time / Gst.SECOND:.3f} {box.get_label()} {box.get_score():.2f}'
                      f' {width:.1f}x{height:.1f} at {x:.1f},{y:.1f}', flush=True)


if __name__ == '__main__':
    try:
        main()
    except RuntimeError as error:
        sys.exit(str(error))
