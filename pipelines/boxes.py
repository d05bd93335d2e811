#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads boxes in an application: frames from an appsink, boxes with gi.repository.Keepbox.

usage: boxes.py LINE...   LINE is a pipeline up to and including boxdecode (or framerestore, or a
                          tracker). Prints time, model, class, name, score, box and the tracking id,
                          if there is one, and frames that the model did not look at
"""
import sys

import gi

gi.require_version('Gst', '1.0')
gi.require_version('Keepbox', '1.0')
from gi.repository import Gst, Keepbox  # noqa: E402


def words(box):
    """Returns all data of a box as text."""
    x, y, width, height = box.get_rect()
    tracked, number = box.get_tracking_id()
    return (f'{box.get_model() or "-"} {box.get_class_id()} {box.get_label() or "-"} '
            f'{box.get_score():.3f}  {width:.2f} x {height:.2f} at {x:.2f}, {y:.2f}'
            + (f'  rotated by {box.get_angle():.3f} rad' if box.get_angle() else '')
            + (f'  #{number}' if tracked else '')
            + ('  held' if box.is_held() else ''))


def on_sample(sink):
    buffer = sink.emit('pull-sample').get_buffer()
    try:
        if Keepbox.buffer_is_skipped(buffer):
            print(f'{buffer.pts / Gst.SECOND:8.3f} s  the model did not look', flush=True)
        for box in Keepbox.buffer_get_boxes(buffer):
            print(f'{buffer.pts / Gst.SECOND:8.3f} s  {words(box)}', flush=True)
    except BrokenPipeError:  # the reader has exited
        return Gst.FlowReturn.EOS
    return Gst.FlowReturn.OK


def wait(pipeline):
    """Returns the message that ends a pipeline; waits in short steps, so that Ctrl-C works."""
    while True:
        message = pipeline.get_bus().timed_pop_filtered(
            Gst.SECOND // 5, Gst.MessageType.EOS | Gst.MessageType.ERROR)
        if message:
            return message


def main():
    if sys.argv[1:] in (['-h'], ['--help']):
        print(__doc__.strip())
        return
    Gst.init(None)
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pipeline = Gst.parse_launch(' '.join(sys.argv[1:]) +
                                ' ! appsink name=boxes emit-signals=true sync=false')
    pipeline.get_by_name('boxes').connect('new-sample', on_sample)
    pipeline.set_state(Gst.State.PLAYING)
    try:
        message = wait(pipeline)
    finally:
        pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        sys.exit(message.parse_error().gerror.message)


if __name__ == '__main__':
    main()
