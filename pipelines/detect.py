#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Boxes as objects: frames of a file or a camera through a model, in an application of your own.

usage: detect.py MODEL.onnx [FILE]   without FILE it takes the camera
"""
import shlex
import sys

import gi

gi.require_version('Gst', '1.0')
gi.require_version('Keepbox', '1.0')
from gi.repository import Gst, Keepbox  # noqa: E402


def on_frame(sink):
    frame = sink.emit('pull-sample').get_buffer()
    for box in Keepbox.buffer_get_boxes(frame):
        x, y, width, height = box.get_rect()
        print(f'{frame.pts / Gst.SECOND:.3f} {box.get_label()} {box.get_score():.2f}'
              f' {width:.1f}x{height:.1f} at {x:.1f},{y:.1f}', flush=True)
    return Gst.FlowReturn.OK


if not 2 <= len(sys.argv) <= 3:
    sys.exit(__doc__)
Gst.init(None)
model, *file = (shlex.quote(word) for word in sys.argv[1:])
source = f'filesrc location={file[0]} ! decodebin' if file else 'autovideosrc'
pipeline = Gst.parse_launch(f'{source} ! videoconvert ! tensorinfer model-file={model} ! boxdecode'
                            ' ! appsink name=frames emit-signals=true sync=false')
pipeline.get_by_name('frames').connect('new-sample', on_frame)
pipeline.set_state(Gst.State.PLAYING)
last = pipeline.get_bus().timed_pop_filtered(Gst.CLOCK_TIME_NONE,
                                             Gst.MessageType.EOS | Gst.MessageType.ERROR)
pipeline.set_state(Gst.State.NULL)
if last.type == Gst.MessageType.ERROR:
    sys.exit(last.parse_error().gerror.message)
