# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that can be decoded into the memory of an NVIDIA GPU, in which the model finds them."""
from __future__ import annotations

import threading
import time
from typing import Any

from .._gi import Gst
from .._line import is_installed

# Elements behind the demuxer, by the demuxer and the caps of its video.
DECODERS = {('qtdemux', 'video/x-h264'): ['h264parse', 'nvh264dec'],
            ('matroskademux', 'video/x-vp9'): ['vp9parse', 'nvvp9dec']}
POLL = .02
OPENING = 5  # seconds in which a file shows its first packet


def is_possible() -> bool:
    """True if there is a GPU that decodes, and keepbox was built for it."""
    return has_decoder() and has_kernels()


def has_decoder() -> bool:
    """True if there are NVIDIA's decoders, which need a GPU."""
    return any(is_installed(words[-1]) for words in DECODERS.values())


def has_kernels() -> bool:
    """True if keepbox was built with the kernels for the GPU."""
    factory = Gst.ElementFactory.find('tensorinfer')
    return any('memory:CUDAMemory' in template.get_caps().to_string()
               for template in factory.get_static_pad_templates())


def decoders_of(path: str) -> list[str] | None:
    """Returns the elements that decode a file on the GPU; None if it needs another decoder, or has
    to be turned upright, which is done on the CPU."""
    line = Gst.parse_launch('filesrc name=file ! parsebin name=split')
    line.get_by_name('file').set_property('location', path)
    split, video = line.get_by_name('split'), _Video(line)
    split.connect('pad-added', video.add)
    try:
        line.set_state(Gst.State.PLAYING)
        end = time.monotonic() + OPENING
        while not video.came.wait(POLL):
            if time.monotonic() > end or line.get_bus().pop_filtered(Gst.MessageType.ERROR):
                return None
        if video.is_turned:
            return None
        for demuxer in (each.get_factory().get_name() for each in split.children):
            words = DECODERS.get((demuxer, video.kind))
            if words and is_installed(words[-1]):
                return [demuxer, *words]
        return None
    finally:
        line.set_state(Gst.State.NULL)


class _Video:
    """The first video of a file that is split into streams.

    came: set when it has brought a packet.
    """

    def __init__(self, line: Any) -> None:
        self._line, self.kind, self.is_turned = line, '', False
        self.came = threading.Event()

    def add(self, split: Any, pad: Any) -> None:
        """Connects a stream."""
        del split
        sink = Gst.ElementFactory.make('fakesink')
        # streams of one thread would wait for each other's first packet
        sink.set_property('async', False)
        self._line.add(sink)
        sink.sync_state_with_parent()
        pad.link(sink.get_static_pad('sink'))
        name = (pad.get_current_caps() or pad.query_caps(None)).get_structure(0).get_name()
        if name.startswith(('video/', 'image/')) and not self.kind:
            self.kind = name
            pad.add_probe(Gst.PadProbeType.EVENT_DOWNSTREAM, self._read_tags)
            pad.add_probe(Gst.PadProbeType.BUFFER, self._take)

    def _read_tags(self, pad: Any, info: Any) -> Any:
        event = info.get_event()
        if event.type == Gst.EventType.TAG:
            known, turn = event.parse_tag().get_string(Gst.TAG_IMAGE_ORIENTATION)
            self.is_turned |= known and turn != 'rotate-0'
        return Gst.PadProbeReturn.OK

    def _take(self, pad: Any, info: Any) -> Any:
        self.came.set()
        return Gst.PadProbeReturn.REMOVE
