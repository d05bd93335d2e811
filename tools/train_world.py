#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Train the models of the drawn world, and export them for tensorinfer.

It writes, in the output folder:

  world-street.onnx        boxes of people, vehicles, dogs and licence plates
  world-street-seg.onnx    the same with masks, without plates
  world-street-pose.onnx   people with 17 keypoints
  world-crossing-obb.onnx  oriented boxes, from above
  world-plates.onnx        reads the crop of a plate (CTC)
  world-vehicles.onnx      colour and type of the crop of a vehicle
  *.pt                     their weights, for PyTorch

Processes draw the samples while others train. It needs torch, onnx, numpy, OpenCV and pycairo or
cairocffi; a GPU, and many CPU cores, which draw. docs/world.md describes the models.
"""
import argparse
import pathlib
import sys

import needed

needed.modules(__doc__, "cv2", "numpy", "onnx", "torch")
from world import train  # noqa: E402


def main():
    """Train and export."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("-o", "--out", type=pathlib.Path, default=pathlib.Path("."),
                        help="output folder (default: the current one)")
    parser.add_argument("--seconds", type=float, default=400, help="time to draw and train")
    parser.add_argument("--device", help="cuda or cpu (default: cuda if there is one)")
    parser.add_argument("--weights", type=pathlib.Path, metavar="FOLDER",
                        help="detectors begin with the weights there, of their .pt file or else of "
                             "their exports; with --seconds 0, .pt files are only exported")
    parser.add_argument("--batch", type=int, default=32, help="samples in a step")
    parser.add_argument("--frames", type=int, default=18000, help="maximum of street frames")
    parser.add_argument("--workers", type=int, default=15, help="processes that draw")
    parser.add_argument("--only", default="street,crossing,plates,vehicles",
                        help="what to train")
    parser.add_argument("--rate", type=float, default=2.5e-3, help="highest learning rate")
    parser.add_argument("--prefix", default="world-", help="beginning of the files' names, "
                        "of those that are read, too")
    parser.add_argument("--seed", type=int, default=0)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    try:
        sys.exit(train.run(args))
    except ValueError as error:
        sys.exit(f"train_world: {error}")


if __name__ == "__main__":
    main()
