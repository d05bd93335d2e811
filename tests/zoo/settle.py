# SPDX-License-Identifier: LGPL-2.1-or-later
"""Random weights whose outputs resemble those of a trained model: batch norms fitted to their
inputs, and heads with spread scores and boxes."""
import math

import torch

FLOOR = 0.1  # of the mean variance, so that channels that hardly vary are not blown up


def smooth(model, rest=0.2):
    """Makes filters respond to areas instead of single pixels, so that rounding differences of
    scalers vanish as in a trained model."""
    with torch.no_grad():
        for layer in model.modules():
            convolves = isinstance(layer, (torch.nn.Conv2d, torch.nn.ConvTranspose2d))
            if convolves and max(layer.kernel_size) > 1:
                level = layer.weight.mean((2, 3), keepdim=True)
                layer.weight.copy_(level + rest * (layer.weight - level))


def settle_norms(model, run):
    """Sets each batch norm, even frozen ones, to the mean and variance of its input during
    run()."""
    def take(norm, inputs):
        seen = inputs[0].detach().float()
        axes = [axis for axis in range(seen.dim()) if axis != 1]
        norm.running_mean.copy_(seen.mean(axes))
        variance = seen.var(axes, unbiased=False)
        norm.running_var.copy_(variance + FLOOR * variance.mean())

    norms = [m for m in model.modules() if getattr(m, 'running_mean', None) is not None]
    hooks = [norm.register_forward_pre_hook(take) for norm in norms]
    with torch.no_grad():
        run()
    for hook in hooks:
        hook.remove()


class Watch:
    """Records the outputs of some layers during run()."""

    def __init__(self, layers, run):
        self.seen = {}
        hooks = [layer.register_forward_hook(self.take) for layer in layers]
        with torch.no_grad():
            run()
        for hook in hooks:
            hook.remove()

    def take(self, layer, _inputs, output):
        self.seen.setdefault(layer, []).append(output.detach().clone())

    def of(self, layer):
        """Returns all outputs of the layer, one row per channel."""
        rows = [(x.movedim(1, 0) if x.dim() == 4 else x.movedim(-1, 0)).flatten(1)
                for x in self.seen[layer]]
        return torch.cat(rows, 1)

    def saw(self, layer):
        return layer in self.seen


def spread(layer, numbers, deviation, mean=None, least=None):
    """Scales the values of a last layer to that deviation, around that mean or their own, and less
    if one would be below the minimum. Returns the new values."""
    gain = deviation / max(float(numbers.std(1).mean()), 1e-6)
    centre = numbers.mean(1)
    aim = centre if mean is None else torch.as_tensor(mean).expand(len(centre))
    apart = numbers - centre[:, None]
    if least is not None:
        gain = min(gain, float((aim - least).min() / -apart.min()))
    with torch.no_grad():
        layer.weight *= gain
        layer.bias += (centre - layer.bias) * (1 - gain)  # the mean of each channel stays
        layer.bias += aim - centre
    return apart * gain + aim[:, None]


def raise_scores(layers, watch, wanted, threshold=0.3, top=4.0):
    """Spreads and shifts class logits until that many anchors have a class above the threshold, and
    the best one a logit that is higher by that much."""
    layers = [layer for layer in layers if watch.saw(layer)]
    best = torch.cat([spread(layer, watch.of(layer), 1.0, 0.0).amax(0) for layer in layers])
    best = best.sort(descending=True).values
    last = float(best[min(wanted, len(best) - 1)])
    gain = top / (float(best[0]) - last)
    with torch.no_grad():
        for layer in layers:
            layer.weight *= gain
            layer.bias *= gain
            layer.bias += math.log(threshold / (1 - threshold)) - last * gain


def raise_softmax(layer, watch, wanted, background, threshold=0.3, deviation=3.0):
    """Does the same for logits with softmax, by the logit of the background."""
    made = spread(layer, watch.of(layer), deviation, 0.0)
    low, high = -50.0, 50.0
    for _ in range(40):
        middle = (low + high) / 2
        moved = made.clone()
        moved[background] += middle
        scores = moved.softmax(0)
        scores[background] = 0
        many = int((scores.amax(0) > threshold).sum()) > wanted
        low, high = (middle, high) if many else (low, middle)
    with torch.no_grad():
        layer.bias[background] += low
