# SPDX-License-Identifier: LGPL-2.1-or-later
"""Rain, and the warm tint of the evening, over a finished frame."""
import numpy as np

from .graphics import cairo
from .palette import rgb

STREAKS = 260    # in a picture of 1280 x 720


def finish(scene):
    """Draw the weather over a scene's canvas."""
    canvas, mood = scene.canvas, scene.mood
    if mood.name == "dusk":
        veil(canvas, rgb("2a2350"), 0.0, rgb("ff9a5a"), 0.10)
    if mood.wet:
        rain(canvas, np.random.default_rng(round(scene.traffic.time * 1000)))


def veil(canvas, low, low_alpha, high, high_alpha):
    """Tint the upper half of a picture."""
    fade = cairo.LinearGradient(0, 0, 0, canvas.height)
    fade.add_color_stop_rgba(0, *high, high_alpha)
    fade.add_color_stop_rgba(0.6, *low, low_alpha)
    canvas.context.set_source(fade)
    canvas.context.paint()


def rain(canvas, rng):
    """Draw streaks of rain."""
    context, scale = canvas.context, canvas.height / 720
    count = int(STREAKS * canvas.width * canvas.height / (1280 * 720))
    x, y = rng.uniform(0, canvas.width, count), rng.uniform(-40, canvas.height, count)
    long = rng.uniform(10, 34, count) * scale
    context.set_source_rgba(0.93, 0.96, 1.0, 0.22)
    context.set_line_width(1.1 * scale)
    for px, py, size in zip(x.tolist(), y.tolist(), long.tolist()):
        context.move_to(px, py)
        context.line_to(px - size * 0.12, py + size)
    context.stroke()
