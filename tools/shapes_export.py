# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes the demo's models in the form that GStreamer and keepbox read.

It needs torch and onnx.
"""
import inspect

import onnx
import torch

from shapes_scene import CLASSES, SIZE

INPUT_NAME = "images"


def modelinfo(group, outputs):
    """Text of the .modelinfo file that GStreamer 1.28 reads next to the model.

    outputs: dimensions of each output by its name, which is also its tensor id.
    """
    text = f"""[modelinfo]
version=1.0
group-id={group}

[{INPUT_NAME}]
id=shapes-input
type=float32
dims=1,3,{SIZE},{SIZE}
dir=input
ranges=0.0,255.0;0.0,255.0;0.0,255.0
"""
    for name, dims in outputs.items():
        text += f"""
[{name}]
id={name}
type=float32
dims={",".join(str(size) for size in dims)}
dims-order={"col" if len(dims) == 3 else "row"}-major
dir=output
"""
    return text


def export(net, path, group, names):
    """Write a model with its tensor ids and class names, and its .modelinfo."""
    example = torch.zeros(1, 3, SIZE, SIZE)
    with torch.no_grad():
        made = net(example)
    outputs = dict(zip(names, made if isinstance(made, tuple) else (made,)))
    # Use the tracing exporter; older versions of PyTorch lack this parameter.
    known = inspect.signature(torch.onnx.export).parameters
    older = {"dynamo": False} if "dynamo" in known else {}
    torch.onnx.export(net, example, str(path), input_names=[INPUT_NAME],
                      output_names=list(names), opset_version=17, **older)
    model = onnx.load(str(path))
    ids = {name: name for name in names}
    onnx.helper.set_model_props(model, {**ids, "names": str(dict(enumerate(CLASSES)))})
    onnx.checker.check_model(model)
    onnx.save(model, str(path))
    text = modelinfo(group, {name: output.shape for name, output in outputs.items()})
    path.with_name(path.name + ".modelinfo").write_text(text, encoding="utf-8")
    (path.parent / "shapes.labels").write_text("\n".join(CLASSES) + "\n", encoding="utf-8")
