# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draw a scene of the town: frames with their truth, or a clip.

The same options give the same pictures. With --clip, gst-launch-1.0 encodes them (VP9 in WebM).
"""
import argparse
import pathlib

from . import clip, writers
from .crossing import Crossing
from .palette import MOODS
from .square import Square
from .street import Street

SCENES = {"street": (Street, (1280, 720)), "crossing": (Crossing, (1280, 720)),
          "square": (Square, (3840, 2160))}


def frames_of(args):
    """Yield the frames that the options ask for."""
    make, size = SCENES[args.scene]
    size = tuple(int(v) for v in args.size.split("x")) if args.size else size
    scene = make(args.seed, args.mood, size=size, warm=args.warm,
                 standard=not args.own_camera)
    steps = max(1, round(25 / args.rate))
    for number in range(args.frames):
        for _ in range(steps if number else 0):
            scene.traffic.step(1 / (args.rate * steps))
        yield scene.render()


def write_folder(args):
    """Write frames as PNG, and their truth."""
    coco, mot = writers.Coco(), writers.Mot()
    for folder in ("img1", "dota"):
        (args.out / folder).mkdir(parents=True, exist_ok=True)
    for number, frame in enumerate(frames_of(args), 1):
        name = f"{number:06}.png"
        writers.write_png(args.out / "img1" / name, frame.image)
        coco.add(f"img1/{name}", frame)
        mot.add(frame)
        writers.write_dota(args.out / "dota" / f"{number:06}.txt", frame)
    coco.write(args.out / "coco.json")
    mot.write(args.out, f"{args.scene}-{args.seed}", args.rate)


def write_clip(args):
    """Write a clip, and its truth beside it if a folder is given."""
    mot, coco, frames = writers.Mot(), writers.Coco(), frames_of(args)
    first = next(frames)

    def images():
        for number, frame in enumerate(chain(first, frames), 1):
            mot.add(frame)
            coco.add(f"{number:06}.png", frame)
            yield frame.image

    clip.encode(images(), args.clip, first.image.shape[1::-1], args.rate, args.quality)
    if args.out:
        args.out.mkdir(parents=True, exist_ok=True)
        coco.write(args.out / "coco.json")
        mot.write(args.out, f"{args.scene}-{args.seed}", args.rate)


def chain(first, rest):
    """Yield a frame, then the others."""
    yield first
    yield from rest


def main():
    """Draw."""
    parser = argparse.ArgumentParser(prog="python3 -m tools.world",
                                     description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("scene", choices=sorted(SCENES))
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--mood", choices=sorted(MOODS), default="day")
    parser.add_argument("--own-camera", action="store_true",
                        help="a camera that the seed chooses (default: the scene's)")
    parser.add_argument("--frames", type=int, default=20)
    parser.add_argument("--rate", type=int, default=25, help="frames a second")
    parser.add_argument("--warm", type=float, default=40.0,
                        help="seconds that pass before the first frame")
    parser.add_argument("--size", help="such as 1280x720 (default: the scene's own)")
    parser.add_argument("--out", type=pathlib.Path,
                        help="folder for img1/*.png, coco.json, dota/*.txt, gt/gt.txt")
    parser.add_argument("--clip", type=pathlib.Path, help="WebM file to write instead of PNG files")
    parser.add_argument("--quality", type=int, default=34, help="of the clip: 0 (best) to 63")
    args = parser.parse_args()
    if args.clip:
        write_clip(args)
    elif args.out:
        write_folder(args)
    else:
        parser.error("nothing to write: give --out or --clip")


if __name__ == "__main__":
    main()
