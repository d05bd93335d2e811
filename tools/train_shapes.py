#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Train the demo's detector of drawn shapes and export it for GStreamer's onnxinference.

It writes, in the output folder:

  shapes.onnx            the detector, its tensor id and class names in its metadata
  shapes.onnx.modelinfo  the same, and the input's range (read by GStreamer 1.28)
  shapes.labels          class names, one per line
  shapes.pt              the weights, for PyTorch
  look.png               some scenes with detections

The output tensor is 1 x (4 + classes) x points: planes cx, cy, w, h in input pixels, then one
sigmoid score per class.

It needs torch, onnx, numpy and OpenCV; a GPU helps, and so do many CPU cores, which draw scenes.
"""
import needed

needed.modules(__doc__, "cv2", "numpy", "onnx", "torch")
import cv2  # noqa: E402
import numpy as np  # noqa: E402
import torch  # noqa: E402

from shapes_export import export
from shapes_net import Net, arguments, as_planes, box_losses, train
from shapes_scene import box_rows, decode, draw_boxes, draw_objects, match

TENSOR_ID = "yolo-v8-out"


def losses(net, images, which, objects, _masks):
    """Return the loss of a batch, and its parts."""
    scenes, points = torch.nonzero(which >= 0, as_tuple=True)
    mine = objects[scenes, which[scenes, points]]
    score_loss, box_loss, parts = box_losses(net(images), which, mine)
    return score_loss + 2 * box_loss, {"scores": score_loss, "boxes": box_loss, **parts}


def report(net, folder, scenes=200, shown=12, score=0.4):
    """Print precision and recall at IoU 0.5 on fresh scenes, and write a picture of some."""
    rng = np.random.default_rng(12345)
    total, pictures = np.zeros(3, int), []
    for index in range(scenes):
        image, objects = draw_objects(rng)
        truth = box_rows(objects)
        with torch.no_grad():
            output = net(as_planes(image).float()[None])[0].numpy()
        found, _ = decode(output, score)
        total += match(found, truth)
        if index < shown:
            pictures.append(draw_boxes(image, found))
    true, false, missed = total
    print(f"score > {score}: precision {true / max(1, true + false):.3f}, "
          f"recall {true / max(1, true + missed):.3f}")
    rows = [np.concatenate(pictures[i:i + 4], 1) for i in range(0, shown, 4)]
    cv2.imwrite(str(folder / "look.png"), cv2.cvtColor(np.concatenate(rows, 0),
                                                       cv2.COLOR_RGB2BGR))


def main():
    """Train, export, report."""
    args = arguments(__doc__)
    net = train(Net(), losses, args)
    export(net, args.out / "shapes.onnx", TENSOR_ID, [TENSOR_ID])
    torch.save(net.state_dict(), args.out / "shapes.pt")
    report(net, args.out)


if __name__ == "__main__":
    main()
