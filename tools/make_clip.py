#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draw the demo's clip: shapes that move, bounce and pass over each other.

The frames are the same for the same options, and the clip's end runs into its beginning, so that
it can be played round and round.  OpenCV draws; gst-launch-1.0 encodes (VP9 in WebM).

With --measure the clip is decoded and letterboxed by GStreamer as a pipeline would do it, run
through the detector with onnxruntime, and compared with what was drawn.
"""
import argparse
import dataclasses
import math
import pathlib
import subprocess
import sys

import cv2
import numpy as np

from shapes_scene import (CLASSES, HIDDEN, SIZE, covered, decode, draw_boxes, mask_box, match,
                          shape_mask)

WIDTH, HEIGHT, FPS = 1280, 720, 25
VISIBLE = 24 * 24         # an object with fewer pixels in the picture is none to find

# Red, green, blue.  Every colour stands out from the dark background and from the others.
GLOW_LEFT, GLOW_RIGHT = np.array((38.0, 24.0, 72.0)), np.array((8.0, 54.0, 70.0))
PALETTE = {
    "coral": (255, 107, 107),
    "amber": (255, 190, 60),
    "lime": (150, 220, 90),
    "mint": (70, 215, 175),
    "sky": (90, 180, 255),
    "violet": (170, 130, 255),
    "pink": (255, 130, 200),
    "cream": (245, 240, 225),
}
# Kind, colour and radius in pixels, from the back to the front.
CAST = (
    ("star", "amber", 140), ("circle", "coral", 120), ("cross", "pink", 116),
    ("ring", "sky", 100), ("triangle", "mint", 106), ("square", "violet", 92),
    ("ring", "cream", 78), ("circle", "lime", 76),
)


@dataclasses.dataclass
class Mover:
    """An object and how it moves; turns and times are parts of the clip's length."""
    kind: str
    colour: tuple
    radius: float
    rounds: tuple         # times across the picture and back, horizontally and vertically
    phase: tuple
    sway: float           # largest rotation, radians
    sways: int            # times that it sways there and back
    sway_phase: float

    def at(self, time):
        """Centre, radius and rotation at a time of 0..1."""
        edge = 0.7 * self.radius    # how near the border its centre turns back: it reaches over
        x, y = (edge + (length - 2 * edge) * bounce(rounds * time + phase)
                for length, rounds, phase in zip((WIDTH, HEIGHT), self.rounds, self.phase))
        wave = math.sin(2 * math.pi * (self.sways * time + self.sway_phase))
        return x, y, self.radius * (1 + 0.04 * wave), self.sway * wave


def bounce(turns):
    """A triangle wave between 0 and 1."""
    return 1 - abs(2 * (turns % 1.0) - 1)


def make_movers(seed):
    """The cast with seeded ways to move."""
    rng = np.random.default_rng(seed)
    movers = []
    for kind, colour, radius in CAST:
        slow = radius > 100
        rounds = (1, int(rng.integers(1, 2 if slow else 3)))
        movers.append(Mover(kind, PALETTE[colour], radius, rounds, tuple(rng.random(2)),
                            float(rng.uniform(0.15, 0.3)), int(rng.integers(1, 4)),
                            float(rng.random())))
    return movers


def make_background():
    """A dark glow from violet to teal, float, height x width x 3.

    It fades to black at the top and the bottom, where letterboxing adds black: an edge there
    would look to the detector like one large square.
    """
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    x, y = (x / (WIDTH - 1))[..., None], (y / (HEIGHT - 1))[..., None]
    return ((1 - x) * GLOW_LEFT + x * GLOW_RIGHT) * np.sin(np.pi * y) ** 1.5


def draw_frame(background, movers, time):
    """One frame, uint8 RGB, and its boxes [class, x1, y1, x2, y2] of the objects to be found."""
    image, boxes = background.copy(), []
    for mover in movers:
        x, y, radius, turn = mover.at(time)
        left, top = (max(0, int(v - 1.5 * radius)) for v in (x, y))
        right, bottom = (min(size, int(v + 1.5 * radius) + 1)
                         for v, size in ((x, WIDTH), (y, HEIGHT)))
        part = (slice(top, bottom), slice(left, right))
        mask = np.zeros((HEIGHT, WIDTH), np.uint8)
        mask[part] = shape_mask(mover.kind, right - left, bottom - top, x - left, y - top,
                                radius, radius, turn)
        alpha = mask[part][..., None] / 255.0
        image[part] += (np.array(mover.colour, np.float64) - image[part]) * alpha
        boxes = [b for b in boxes if covered(b[1:], mask) < HIDDEN]
        box, pixels = mask_box(mask)
        if pixels >= VISIBLE:
            boxes.append((CLASSES.index(mover.kind), *box))
    return np.round(image).astype(np.uint8), np.array(boxes, np.float64).reshape(-1, 5)


def draw_clip(seed, seconds):
    """Frames and boxes, one after the other."""
    background, movers = make_background(), make_movers(seed)
    frames = round(seconds * FPS)
    for index in range(frames):
        yield draw_frame(background, movers, index / frames)


def encode(frames, path, bitrate):
    """Encode RGB frames as VP9 in WebM."""
    command = ["gst-launch-1.0", "-q", "fdsrc", "fd=0", "!", "rawvideoparse", "format=rgb",
               f"width={WIDTH}", f"height={HEIGHT}", f"framerate={FPS}/1", "!",
               "videoconvert", "!", "video/x-raw,format=I420,colorimetry=bt709", "!",
               "vp9enc", f"target-bitrate={bitrate}", "deadline=0", "cpu-used=1", "threads=1",
               "keyframe-max-dist=125", "lag-in-frames=25", "!", "webmmux", "!",
               "filesink", f"location={path}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        for frame in frames:
            process.stdin.write(frame.tobytes())
        process.stdin.close()
    if process.returncode:
        sys.exit(f"gst-launch-1.0 ended with {process.returncode}")


def letterboxed(path):
    """The clip's frames as the detector gets them: SIZE x SIZE RGB with black borders."""
    command = ["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "matroskademux", "!",
               "vp9dec", "!", "videoconvertscale", "add-borders=true", "!",
               f"video/x-raw,format=RGB,width={SIZE},height={SIZE},pixel-aspect-ratio=1/1", "!",
               "fdsink", "fd=1"]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while len(data := process.stdout.read(SIZE * SIZE * 3)) == SIZE * SIZE * 3:
            yield np.frombuffer(data, np.uint8).reshape(SIZE, SIZE, 3)
