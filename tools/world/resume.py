# SPDX-License-Identifier: LGPL-2.1-or-later
"""Reads the weights of a detector from its exports, to continue the training of published models.

It needs torch and onnx.
"""
import numpy as np
import onnx
import torch
from onnx import numpy_helper

HEADS = ("box", "score", "seg", "pose", "obb")


def module_of(node):
    """Return the module of a node, such as "stem.2.last.0" of "/stem/stem.2/last/last.0/Conv"."""
    parts = []
    for part in node.strip("/").split("/")[:-1]:
        if parts and part.startswith(parts[-1] + "."):
            parts.pop()
        parts.append(part)
    return ".".join(parts)


def convolutions(path):
    """Return the weights and biases of an export's convolutions by module."""
    graph = onnx.load(str(path)).graph
    stored = {each.name.removesuffix(".half"): numpy_helper.to_array(each).astype(np.float32)
              for each in graph.initializer}
    found = {module_of(node.name): [torch.tensor(stored[name]) for name in node.input[1:3]]
             for node in graph.node if node.op_type == "Conv"}
    return {("heads." + name if name.split(".")[0] in HEADS else name): values
            for name, values in found.items()}


@torch.no_grad()
def load(net, paths):
    """Give a detector the weights of its exports. Raise ValueError if they are of another network.

    Convolutions that several exports contain have the weights of the first one. An export's
    convolutions contain the batch norms after them, so the norms become identities with the
    convolutions' biases.
    """
    modules = dict(net.named_modules())
    wanted = {name for name, part in modules.items() if isinstance(part, torch.nn.Conv2d)}
    for path in paths:
        for name, (weight, bias) in convolutions(path).items():
            if name not in modules or modules[name].weight.shape != weight.shape:
                raise ValueError(f"{path}: {name}, {tuple(weight.shape)}, is not in this network")
            if name not in wanted:
                continue
            wanted.discard(name)
            modules[name].weight.copy_(weight)
            if modules[name].bias is not None:
                modules[name].bias.copy_(bias)
            else:
                norm = modules[name.removesuffix(".0") + ".1"]
                norm.weight.fill_(1)
                norm.bias.copy_(bias)
                norm.running_mean.zero_()
                norm.running_var.fill_(1 - norm.eps)
    if wanted:
        raise ValueError(f"{', '.join(map(str, paths))} have no {min(wanted)}")


@torch.no_grad()
def settle(net, image):
    """Set the statistics of batch norms to those of a batch, without a change of the outputs."""
    def take(norm, inputs):
        var, mean = torch.var_mean(inputs[0].float(), (0, 2, 3), unbiased=False)
        slope = norm.weight / (norm.running_var + norm.eps).sqrt()
        norm.bias += slope * (mean - norm.running_mean)
        norm.weight.copy_(slope * (var + norm.eps).sqrt())
        norm.running_mean.copy_(mean)
        norm.running_var.copy_(var)

    norms = [part for part in net.modules() if isinstance(part, torch.nn.BatchNorm2d)]
    hooks = [norm.register_forward_pre_hook(take) for norm in norms]
    net.eval()(image)
    for hook in hooks:
        hook.remove()
