#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks video and picture files before or after they are read.

usage: check.py open FILE...   fails if one has no video: GStreamer may hang at such a file
       check.py end FILE...    reads them, without decoding, and warns of each that ends before the
                               duration that it declares
"""
import os
import sys
import time

import gi

gi.require_version('Gst', '1.0')
from gi.repository import Gst  # noqa: E402

IDLE = 1       # seconds without a working thread, after which nothing comes any more
MISSING = 0.5  # seconds that a complete file may lack


def each(iterator):
    """Yields what an iterator of GStreamer has."""
    while True:
        result, value = iterator.next()
        if result == Gst.IteratorResult.OK:
            yield value
        elif result == Gst.IteratorResult.RESYNC:
            iterator.resync()
        else:
            return


class File:
    """A file that is split into the packets of its streams."""

    def __init__(self, name):
        self.name, self.videos, self.streams, self.end = name, 0, 0, 0
        self.line = Gst.parse_launch('filesrc name=file parsebin name=split')
        self.split = self.line.get_by_name('split')
        self.line.get_by_name('file').set_property('location', name)
        self.line.get_by_name('file').link(self.split)
        self.split.connect('pad-added', self.add)

    def add(self, split, pad):
        del split
        caps = pad.get_current_caps() or pad.query_caps(None)
        sink = Gst.ElementFactory.make('fakesink')
        # streams of one thread would wait for each other's first buffer
        sink.set_property('async', False)
        self.line.add(sink)
        sink.sync_state_with_parent()
        pad.link(sink.get_static_pad('sink'))
        self.streams += 1
        if caps.get_structure(0).get_name().startswith(('video/', 'image/')):
            self.videos += 1
            pad.add_probe(Gst.PadProbeType.BUFFER, self.see)

    def see(self, pad, info):
        buffer = info.get_buffer()
        if buffer.pts != Gst.CLOCK_TIME_NONE:
            length = 0 if buffer.duration == Gst.CLOCK_TIME_NONE else buffer.duration
            segment = pad.get_sticky_event(Gst.EventType.SEGMENT, 0).parse_segment()
            if segment.format == Gst.Format.TIME:  # a picture has bytes
                at = segment.to_stream_time(Gst.Format.TIME, buffer.pts)
                self.end = max(self.end, 0 if at == Gst.CLOCK_TIME_NONE else at + length)
        return Gst.PadProbeReturn.OK

    def is_at_work(self):
        return any(pad.get_task_state() == Gst.TaskState.STARTED
                   for element in each(self.line.iterate_recurse())
                   for pad in each(element.iterate_pads()))

    def read(self, until):
        """Reads until a condition holds or the file ends; returns an error, if there is one."""
        kinds = Gst.MessageType.EOS | Gst.MessageType.ERROR
        self.line.set_state(Gst.State.PLAYING)
        worked = time.monotonic()
        while not until():
            message = self.line.get_bus().timed_pop_filtered(Gst.SECOND // 50, kinds)
            if message and message.type == Gst.MessageType.ERROR:
                return message.parse_error()[0].message
            if message:
                return ''
            if self.is_at_work():
                worked = time.monotonic()
            elif time.monotonic() - worked > IDLE:
                return 'no video can be read from it, it may be incomplete'
        return ''

    def has_video(self):
        """Returns an error if there is no video, otherwise ''."""
        if os.path.isdir(self.name):
            return 'it is a folder: name its files, or use keepbox detect for all of them'
        if not os.path.isfile(self.name):
            return 'there is no such file'
        error = self.read(lambda: self.videos)
        return '' if self.videos else error or 'it has neither a video nor a picture'

    def missing(self):
        """Returns a warning if the video ends too early, otherwise ''."""
        self.read(lambda: False)
        known, declared = self.line.query_duration(Gst.Format.TIME)
        if not known or not self.end or declared - self.end <= MISSING * Gst.SECOND:
            return ''
        return (f'it ends after {self.end / Gst.SECOND:.2f} s, although it declares'
                f' {declared / Gst.SECOND:.2f} s: it may be incomplete, or another of its streams'
                ' goes on')


def main(words):
    if {'-h', '--help'} & set(words):
        print(__doc__.strip())
        return 0
    if len(words) < 2 or words[0] not in ('open', 'end'):
        sys.exit(__doc__)
    Gst.init(None)
    found = False
    for name in words[1:]:
        file = File(name)
        text = file.has_video() if words[0] == 'open' else file.missing()
        file.line.set_state(Gst.State.NULL)
        if text:
            print(f'{name}: {text}', file=sys.stderr)
            found = True
    return int(found and words[0] == 'open')


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
