# SPDX-License-Identifier: LGPL-2.1-or-later
"""Files that can be decoded into the memory of an NVIDIA GPU, in which the model finds them."""
from __future__ import annotations

from typing import Any

from .._gi import Gst
from .._line import is_installed
from .._watch import is_video

# Elements behind the demuxer, by the demuxer and the caps of its video.
DECODERS = {('qtdemux', 'video/x-h264'): ['h264parse', 'nvh264dec'],
            ('matroskademux', 'video/x-vp9'): ['vp9parse', 'nvvp9dec']}
OPENING = 5 * Gst.SECOND


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
    try:
        line.set_state(Gst.State.PAUSED)
        message = line.get_bus().timed_pop_filtered(
            OPENING, Gst.MessageType.STREAM_COLLECTION | Gst.MessageType.ERROR)
        if message is None or message.type == Gst.MessageType.ERROR:
            return None
        streams = message.parse_stream_collection()
        if not is_video(streams):
            return None
        demuxers = _kinds(line.get_by_name('split'))
        found = [_decoder(demuxer, stream) for demuxer in demuxers
                 for stream in map(streams.get_stream, range(streams.get_size()))
                 if stream.get_stream_type() & Gst.StreamType.VIDEO]
        return next((each for each in found if each), None)
    finally:
        line.set_state(Gst.State.NULL)


def _kinds(element: Any) -> list[str]:
    return [each.get_factory().get_name() for each in element.children]


def _decoder(demuxer: str, stream: Any) -> list[str] | None:
    tags = stream.get_tags()
    turned = tags is not None and tags.get_string(Gst.TAG_IMAGE_ORIENTATION)[0] and \
        tags.get_string(Gst.TAG_IMAGE_ORIENTATION)[1] != 'rotate-0'
    words = DECODERS.get((demuxer, stream.get_caps().get_structure(0).get_name()))
    if words is None or turned or not is_installed(words[-1]):
        return None
    return [demuxer, *words]
