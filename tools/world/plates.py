# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws licence plates on the device, each with a text of its own, so that none can be memorised.

They look as paintwork.draw_plate draws them: the same strokes, margins and proportions. It needs
torch.
"""
import numpy as np
import torch
from torch.nn import functional as F

from . import font, samples
from .canvas import pixels_of
from .graphics import cairo

WIDE, HIGH = 290, 80       # of a plate, in cells of 7.5 pixels: 0.58 m x 0.16 m
CELL, LEFT = 7.5, 24.65    # pixels of a letter's cell; left margin
AROUND = 24                # pixels of bodywork around a plate
TILE = 42                  # pixels from a letter to the next


def letters(device):
    """Return the pictures of the letters: ink 0..1, letters x HIGH x TILE."""
    out = []
    for letter in samples.ALPHABET:
        surface = cairo.ImageSurface(cairo.FORMAT_A8, TILE, HIGH)
        context = cairo.Context(surface)
        context.set_line_join(cairo.LINE_JOIN_ROUND)
        context.set_line_cap(cairo.LINE_CAP_ROUND)
        context.set_line_width(HIGH * 0.1)
        for stroke in font.strokes(letter):
            for x, y in stroke:
                context.line_to(6 + x * CELL, HIGH * (0.2 + 0.6 * y / font.HIGH))
            context.stroke()
        surface.flush()
        out.append(pixels_of(surface, 1)[:, :, 0].astype(np.float32) / 255)
    return torch.from_numpy(np.stack(out)).to(device)


def texts(count, device):
    """Return random texts, count x PLATE_LENGTH: three quarters of them as plates have them."""
    digits = len(samples.ALPHABET) - 10
    any_ones = torch.randint(len(samples.ALPHABET), (count, samples.PLATE_LENGTH), device=device)
    plain = torch.randint(digits, (count, samples.PLATE_LENGTH), device=device)
    plain[:, 2:5] = torch.randint(digits, digits + 10, (count, 3), device=device)
    return torch.where(torch.rand(count, 1, device=device) < 0.75, plain, any_ones)


def painted(bank, text):
    """Return plates with bodywork around them, count x 3 x height x width, 0..1."""
    count, device = len(text), bank.device

    def any_of(low, high, planes=1):
        return torch.rand(count, planes, 1, 1, device=device) * (high - low) + low
    row = bank[text].permute(0, 2, 1, 3).flatten(2)
    start = round(LEFT - 6)
    ink = F.pad(row, (start, WIDE - start - row.shape[2]))[:, None]
    light, tint = any_of(0.35, 1.0), any_of(0.88, 1.0, 3)
    ground = light * tint * any_of(0.85, 1.0)
    dark = torch.tensor((0.14, 0.15, 0.23), device=device).view(1, 3, 1, 1) * (0.4 + 0.6 * light)
    plate = ground * (1 - ink) + dark * ink
    body = any_of(0.03, 1.0, 3).expand(-1, -1, HIGH + 2 * AROUND, WIDE + 2 * AROUND).clone()
    body[:, :, AROUND + HIGH + AROUND // 3:] *= any_of(0.3, 1.0)
    body[:, :, AROUND:-AROUND, AROUND:-AROUND] = plate
    return body


def turned(x, size):
    """Return plates as a camera sees them, cut along the box around them, in a size."""
    count, device = len(x), x.device
    high, wide = x.shape[2:]
    slope, lean = ((torch.rand(count, device=device) * 2 - 1) * limit for limit in (0.75, 0.12))
    slack = 1 + (torch.rand(count, 2, device=device) * 2 - 1) * 0.09
    shift = (torch.rand(count, 2, device=device) * 2 - 1) * 0.05
    inner = torch.tensor((WIDE / wide, HIGH / high), device=device)
    # y of the plate's middle falls by `slope` of its height from one side to the other.
    fall = slope * torch.rand(count, device=device)
    reach = torch.stack([slack[:, 0] * (1 + lean.abs() * 0.3),
                         slack[:, 1] * (1 + fall.abs())], 1) * inner
    zero = torch.zeros_like(fall)
    matrix = torch.stack([
        torch.stack([reach[:, 0], lean * reach[:, 1], shift[:, 0] * inner[0]], 1),
        torch.stack([fall * inner[1] * slack[:, 0] + zero, reach[:, 1], shift[:, 1] * inner[1]], 1)
    ], 1)
    where = F.affine_grid(matrix, (count, 3, *size), align_corners=False)
    return F.grid_sample(x, where, padding_mode="border", align_corners=False)


def plates(bank, count):
    """Return pictures of plates as the reader gets them, count x 3 x 32 x 128, and their texts.

    All of a batch have one size in the frame, between 9 and 44 pixels of height.
    """
    text = texts(count, bank.device)
    high = int(round(float(np.exp(np.random.uniform(np.log(9), np.log(44))))))
    wide = max(20, round(high * np.random.uniform(1.7, 3.9)))
    x = F.avg_pool2d(turned(painted(bank, text), (3 * high, 3 * wide)), 3)
    if np.random.random() < 0.6:
        soft = F.avg_pool2d(F.pad(x, (1, 1, 1, 1), "replicate"), 3, 1)
        x = x + (soft - x) * torch.rand(count, 1, 1, 1, device=x.device)
    x = (x + torch.randn_like(x) * torch.rand(count, 1, 1, 1, device=x.device) * 0.04).clamp(0, 1)
    wide, high = samples.PLATE_SIZE
    return F.interpolate(x, (high, wide), mode="bilinear", align_corners=False), text
