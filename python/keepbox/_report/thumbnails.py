# SPDX-License-Identifier: LGPL-2.1-or-later
"""Small pictures of frames of videos and of picture files."""
from __future__ import annotations

import base64
import dataclasses
import os

from .._errors import Error
from .._gi import Gst, GstVideo
from .._line import Pipeline
from .._sources import UPRIGHT, read_picture

WIDTH = 320
OPENING = 10 * Gst.SECOND


@dataclasses.dataclass
class Thumbnail:
    """A JPEG as the address of a picture, and the size of the frame that it is of."""
    address: str
    width: int
    height: int


def _frame_of(path: str, time: float) -> Gst.Sample:
    """Returns the frame at a time. Raises Error if there is none."""
    # A seek of decodebin3 of GStreamer 1.26 that comes while it starts may never return.
    line = Pipeline(f'filesrc name=keepbox-source ! decodebin ! {UPRIGHT} ! video/x-raw',
                    'max-buffers=1', path)
    line.element('keepbox-source').set_property('location', path)
    try:
        line.pipeline.set_state(Gst.State.PAUSED)
        line.pipeline.get_state(OPENING)
        if time:
            flags = Gst.SeekFlags.FLUSH | Gst.SeekFlags.ACCURATE
            line.pipeline.seek_simple(Gst.Format.TIME, flags, round(time * Gst.SECOND))
            line.pipeline.get_state(OPENING)
        sample = line.out.emit('try-pull-preroll', OPENING)
    finally:
        line.close()
    if sample is None:
        raise Error('it has no frame there', source=path)
    return sample


def thumbnail_of(path: str, time: float | None) -> Thumbnail | None:
    """Returns the picture of a frame; None if it cannot be read any more.

    time: of the frame in a video; None for a picture file.
    """
    if not os.path.isfile(path):
        return None
    try:
        sample = read_picture(path).sample if time is None else _frame_of(path, time)
        info = GstVideo.VideoInfo.new_from_caps(sample.get_caps())
        width = min(WIDTH, info.width)
        height = max(round(info.height * width / info.width), 1)
        caps = Gst.Caps.from_string(f'image/jpeg,width={width},height={height}')
        small = GstVideo.video_convert_sample(sample, caps, OPENING)
    except Exception:  # GLib.Error, too: the page goes without it
        return None
    buffer = small.get_buffer()
    data = base64.b64encode(buffer.extract_dup(0, buffer.get_size())).decode()
    return Thumbnail(f'data:image/jpeg;base64,{data}', info.width, info.height)
