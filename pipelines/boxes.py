#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads boxes in an application: an appsink gets frames, GstAnalytics' metas have the boxes.

usage: boxes.py LINE...   where LINE is a pipeline up to and with boxdecode (or framerestore)
"""
import sys

import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstAnalytics', '1.0')
from gi.repository import GLib, Gst, GstAnalytics  # noqa: E402


def boxes_of(buffer):
    """Yields (label, score, x, y, width, height) in pixels of the frame."""
    meta = GstAnalytics.buffer_get_analytics_relation_meta(buffer)
    if meta is None:
        return
    for index in range(GstAnalytics.relation_get_length(meta)):
        found, box = meta.get_od_mtd(index)
        if not found:
            continue
        _, x, y, width, height, score = box.get_location()
        yield GLib.quark_to_string(box.get_obj_type()), score, x, y, width, height


def on_sample(sink):
    sample = sink.emit('pull-sample')
    buffer = sample.get_buffer()
    for label, score, x, y, width, height in boxes_of(buffer):
        print(f'{buffer.pts / Gst.SECOND:8.3f} s  {label:12} {score:.3f}  '
              f'{width} x {height} at {x}, {y}', flush=True)
    return Gst.FlowReturn.OK


def main():
    Gst.init(None)
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    pipeline = Gst.parse_launch(' '.join(sys.argv[1:]) +
                                ' ! appsink name=boxes emit-signals=true sync=false')
    pipeline.get_by_name('boxes').connect('new-sample', on_sample)
    pipeline.set_state(Gst.State.PLAYING)
    message = pipeline.get_bus().timed_pop_filtered(
        Gst.CLOCK_TIME_NONE, Gst.MessageType.EOS | Gst.MessageType.ERROR)
    pipeline.set_state(Gst.State.NULL)
    if message.type == Gst.MessageType.ERROR:
        sys.exit(message.parse_error().gerror.message)


main()
