#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draw the demo's clip: shapes that move, bounce off the borders and pass over each other.

The frames are the same for the same options, and the last one leads to the first, so that the
clip can be played round and round.  OpenCV draws; gst-launch-1.0 encodes (VP9 in WebM).

With --measure, GStreamer decodes and letterboxes the clip as in a pipeline, onnxruntime runs the
detector, and the boxes are compared with the drawn ones.
"""
import argparse
import dataclasses
import math
import pathlib
import subprocess
import sys

import needed

needed.modules(__doc__, "cv2", "numpy")
import cv2  # noqa: E402
import numpy as np  # noqa: E402

from shapes_scene import (CLASSES, HIDDEN, SIZE, covered, decode, draw_boxes, mask_box, match,
                          shape_mask)

WIDTH, HEIGHT, FPS = 1280, 720, 25
SCORES, SHOT_SCORE = (0.4, 0.5, 0.55, 0.6, 0.7), 0.55
VISIBLE = 24 * 24         # objects with fewer visible pixels need not be found

# Red, green, blue.  Every colour contrasts with the dark background and with the others.
GLOW_LEFT, GLOW_RIGHT = np.array((46.0, 28.0, 88.0)), np.array((8.0, 64.0, 84.0))
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
# Kind, colour and radius in pixels, from back to front.
CAST = (
    ("star", "amber", 136), ("circle", "coral", 112), ("cross", "pink", 114),
    ("ring", "sky", 100), ("triangle", "mint", 104), ("square", "violet", 90),
    ("ring", "cream", 78), ("circle", "lime", 76),
)
REACH = 0.3               # part of its radius by which an object may cross the border
FREE_OVERLAP = 0.1        # part of the smaller of two boxes; more counts as crowding
TRIES, PASSES = 200, 3    # paths that each object tries, and number of passes


@dataclasses.dataclass
class Mover:
    """An object and its movement; times are fractions of the clip's length."""
    kind: str
    colour: tuple
    radius: float
    rounds: np.ndarray    # number of passes across the picture and back, per axis
    phase: np.ndarray
    sway: float           # largest rotation, radians
    sways: int            # number of sways back and forth
    sway_phase: float

    def centre(self, time):
        """Centres x, y at one time or an array of times of 0..1."""
        reach = (1 - REACH) * self.radius
        span = np.array((WIDTH, HEIGHT)) - 2 * reach
        turns = np.multiply.outer(time, self.rounds) + self.phase
        return reach + span * (1 - np.abs(2 * (turns % 1.0) - 1))

    def at(self, time):
        """Centre, radius and rotation at a time of 0..1."""
        wave = math.sin(2 * math.pi * (self.sways * time + self.sway_phase))
        return *self.centre(time), self.radius * (1 + 0.04 * wave), self.sway * wave


def crowding(mover, others):
    """Return the overlap of a mover's box with the others' over the clip."""
    times, total = np.arange(0, 1, 0.01), 0.0
    centre = mover.centre(times)
    for other in others:
        apart = np.abs(centre - other.centre(times))
        small = min(mover.radius, other.radius)
        both = np.clip(mover.radius + other.radius - apart, 0, 2 * small).prod(1)
        total += np.clip(both / (4 * small * small) - FREE_OVERLAP, 0, None).sum()
    return total


def make_movers(seed):
    """Return the cast with seeded movements that let objects meet but seldom hide each other."""
    rng = np.random.default_rng(seed)

    def draw(kind, colour, radius):
        rounds = np.array((1, rng.integers(1, 3)))
        return Mover(kind, PALETTE[colour], radius, rounds, rng.random(2), rng.uniform(0.15, 0.3),
                     rng.integers(1, 4), rng.random())

    movers = [draw(*part) for part in CAST]
    for _ in range(PASSES):
        for i, part in enumerate(CAST):
            others = movers[:i] + movers[i + 1:]
            ways = [movers[i]] + [draw(*part) for _ in range(TRIES)]
            movers[i] = min(ways, key=lambda way, others=others: crowding(way, others))
    return movers


def make_background():
    """Return a dark glow from violet to teal, float, height x width x 3.

    It fades to black at the top and the bottom, where letterboxing adds black: the detector would
    mistake an edge there for one large square.
    """
    y, x = np.mgrid[0:HEIGHT, 0:WIDTH].astype(np.float64)
    x, y = (x / (WIDTH - 1))[..., None], (y / (HEIGHT - 1))[..., None]
    glow = ((1 - x) * GLOW_LEFT + x * GLOW_RIGHT) * np.sin(np.pi * y) ** 1.5
    dither = np.random.default_rng(0).uniform(-0.5, 0.5, (HEIGHT, WIDTH, 1))
    return np.clip(glow + dither, 0, None)    # hides the steps of a dark gradient


def draw_frame(background, movers, time):
    """Return one frame, uint8 RGB, and its boxes [class, x1, y1, x2, y2] of objects to be found."""
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
    """Yield frames and boxes."""
    background, movers = make_background(), make_movers(seed)
    frames = round(seconds * FPS)
    for index in range(frames):
        yield draw_frame(background, movers, index / frames)


def encode(frames, path, quality):
    """Encode RGB frames as VP9 in WebM; quality 0 is best, 63 worst."""
    command = ["gst-launch-1.0", "-q", "fdsrc", "fd=0", "!", "rawvideoparse", "format=rgb",
               f"width={WIDTH}", f"height={HEIGHT}", f"framerate={FPS}/1", "!",
               "videoconvert", "!", "video/x-raw,format=I420,colorimetry=bt709", "!",
               "vp9enc", "end-usage=cq", f"cq-level={quality}", "target-bitrate=2000000",
               "deadline=1000000", "cpu-used=1", "lag-in-frames=25", "auto-alt-ref=true",
               "keyframe-max-dist=125", "threads=1", "!",
               "webmmux", "!", "filesink", f"location={path}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE) as process:
        for frame in frames:
            process.stdin.write(frame.tobytes())
        process.stdin.close()
    if process.returncode:
        sys.exit(f"gst-launch-1.0 ended with {process.returncode}")


def decoded(path, size=None):
    """Yield the frames of an encoded clip, RGB; with a size, letterboxed into a square of that
    side."""
    width, height = (size, size) if size else (WIDTH, HEIGHT)
    command = ["gst-launch-1.0", "-q", "filesrc", f"location={path}", "!", "matroskademux", "!",
               "vp9dec", "!", "videoconvertscale", "add-borders=true", "!",
               f"video/x-raw,format=RGB,width={width},height={height},pixel-aspect-ratio=1/1",
               "!", "fdsink", "fd=1"]
    rows = (width * 3 + 3) // 4 * 4    # GStreamer pads a row to four bytes
    with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
        while len(data := process.stdout.read(rows * height)) == rows * height:
            frame = np.frombuffer(data, np.uint8).reshape(height, rows)[:, :width * 3]
            yield frame.reshape(height, width, 3)
    if process.returncode:
        sys.exit(f"gst-launch-1.0 ended with {process.returncode}")


def measure(path, truths, model, shots, **nms):
    """Print the detector's precision and recall over the clip; write pictures of some frames."""
    import onnxruntime    # pylint: disable=import-outside-toplevel
    session = onnxruntime.InferenceSession(str(model), providers=["CPUExecutionProvider"])
    scale, border = SIZE / WIDTH, (SIZE - HEIGHT * SIZE / WIDTH) / 2
    totals = {score: np.zeros(3, int) for score in SCORES}
    right, count = dict.fromkeys(SCORES, 0), 0
    large = decoded(path) if shots else None
    for count, (frame, truth) in enumerate(zip(decoded(path, SIZE), truths, strict=True), 1):
        planes = frame.transpose(2, 0, 1)[None].astype(np.float32)
        output = session.run(None, {session.get_inputs()[0].name: planes})[0][0]
        truth = truth * (1, scale, scale, scale, scale) + (0, 0, border, 0, border)
        for score in SCORES:
            found, _ = decode(output, score, **nms)
            result = match(found, truth)
            totals[score] += result
            right[score] += result[1:] == (0, 0)
        if shots:
            picture = next(large)
            if count % FPS == 1:
                found, _ = decode(output, SHOT_SCORE, **nms)
                found = (found - (0, 0, border, 0, border)) / (1, scale, scale, scale, scale)
                shot = draw_boxes(picture, found, 2)
                cv2.imwrite(str(shots / f"{count - 1:03}.png"), shot[..., ::-1])
    for score, (true, false, missed) in totals.items():
        print(f"score > {score}: precision {true / max(1, true + false):.3f}, "
              f"recall {true / max(1, true + missed):.3f}; "
              f"all right on {right[score]} of {count} frames")


def main():
    """Make the clip, or measure one."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("clip", type=pathlib.Path, help="the WebM file")
    parser.add_argument("--seed", type=int, default=17, help="seed of the movements")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--quality", type=int, default=34, help="0 (best) to 63 (default: 34)")
    parser.add_argument("--measure", type=pathlib.Path, metavar="MODEL",
                        help="do not make the clip, made before with the same options: run this "
                             "detector on it")
    parser.add_argument("--iou", type=float, default=0.45, help="threshold of NMS in --measure")
    parser.add_argument("--agnostic", action="store_true",
                        help="with --measure: let boxes of different classes suppress each other")
    parser.add_argument("--shots", type=pathlib.Path, metavar="FOLDER",
                        help="with --measure: write a frame of every second with its boxes")
    args = parser.parse_args()
    clip = draw_clip(args.seed, args.seconds)
    if args.measure:
        if args.shots:
            args.shots.mkdir(parents=True, exist_ok=True)
        measure(args.clip, (boxes for _, boxes in clip), args.measure, args.shots,
                iou_threshold=args.iou, class_aware=not args.agnostic)
    else:
        encode((frame for frame, _ in clip), args.clip, args.quality)


if __name__ == "__main__":
    main()
