# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the world's models as ONNX with an open batch, their weights stored as float16.

It needs torch and onnx.
"""
import inspect

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper, numpy_helper

from . import samples
from .actors import VEHICLES
from .net import Part
from .palette import COLOURS
from .people import KEYPOINTS

OPSET = 17
SUFFIX = {"detect": "", "segment": "-seg", "pose": "-pose", "obb": "-obb"}


def save(net, example, path, outputs, properties):
    """Trace a network into a file; outputs: their names. Its batch stays open."""
    known = inspect.signature(torch.onnx.export).parameters
    older = {"dynamo": False} if "dynamo" in known else {}
    axes = {name: {0: "batch"} for name in ("images", *outputs)}
    torch.onnx.export(net, example, str(path), input_names=["images"], output_names=list(outputs),
                      opset_version=OPSET, dynamic_axes=axes, **older)
    model = onnx.load(str(path))
    halve(model.graph)
    helper.set_model_props(model, properties)
    onnx.checker.check_model(model)
    onnx.save(model, str(path))


def halve(graph):
    """Store large float32 constants as float16, with a cast before their use."""
    for stored in list(graph.initializer):
        if stored.data_type != TensorProto.FLOAT or np.prod(stored.dims) < 256:
            continue
        values = numpy_helper.to_array(stored)
        if np.abs(values).max() > 1e3 or "points" in stored.name or "strides" in stored.name:
            continue
        half = numpy_helper.from_array(values.astype(np.float16), stored.name + ".half")
        graph.initializer.remove(stored)
        graph.initializer.append(half)
        graph.node.insert(0, helper.make_node("Cast", [half.name], [stored.name],
                                              name=stored.name + ".cast", to=TensorProto.FLOAT))


def write_detectors(net, folder, name, tasks):
    """Write a detector's parts, each as a file in the layout and with the metadata of YOLOv8."""
    wide, high = samples.SIZE
    for task in tasks:
        names = {"detect": samples.NAMES, "pose": ("person",)}.get(task, samples.CLASSES)
        properties = {"description": f"keepbox {name}, drawn world", "task": task, "stride": "32",
                      "batch": "1", "imgsz": f"[{high}, {wide}]", "channels": "3",
                      "names": str(dict(enumerate(names)))}
        if task == "pose":
            properties["kpt_shape"] = f"[{len(KEYPOINTS)}, 3]"
        outputs = ["output0", "output1"] if task == "segment" else ["output0"]
        save(Part(net, task).eval(), torch.zeros(1, 3, high, wide),
             folder / f"{name}{SUFFIX[task]}.onnx", outputs, properties)


def write_reader(net, folder, name):
    """Write the plate reader; its metadata lists the letters after the blank."""
    wide, high = samples.PLATE_SIZE
    save(net, torch.zeros(1, 3, high, wide), folder / f"{name}.onnx", ["output0"],
         {"description": "keepbox plates, drawn world", "task": "ctc",
          "character": "\n".join(samples.ALPHABET)})


def write_classifier(net, folder, name):
    """Write the classifier of vehicles: scores of colours and of types, before the softmax.

    Its metadata has the names of each output's classes.
    """
    save(net, torch.zeros(1, 3, samples.CROP, samples.CROP), folder / f"{name}.onnx",
         ["colour", "type"],
         {"description": "keepbox vehicles, drawn world", "task": "classify",
          "names.colour": str(dict(enumerate(COLOURS))),
          "names.type": str(dict(enumerate(VEHICLES)))})
