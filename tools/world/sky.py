# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sky, hills and the haze over the ground."""
import math

import numpy as np

from .graphics import cairo
from .palette import mix, rgb


def gradient(canvas, y1, y2, colours, alphas=None):
    """Return a vertical gradient between two rows of pixels."""
    fade = cairo.LinearGradient(0, y1, 0, y2)
    alphas = alphas or [1.0] * len(colours)
    for i, (colour, alpha) in enumerate(zip(colours, alphas)):
        fade.add_color_stop_rgba(i / (len(colours) - 1), *colour, alpha)
    canvas.context.set_source(fade)


def draw_sky(canvas, horizon, mood, rng):
    """Draw the sky down to the horizon, with clouds."""
    gradient(canvas, 0, max(horizon, 60), mood.sky)
    canvas.context.paint()
    light = mix(mood.sky[2], (1, 1, 1), 0.55 if mood.name == "day" else 0.12)
    for _ in range(7):
        x, y = rng.uniform(0, canvas.width), rng.uniform(0.05, 0.75) * horizon
        size = rng.uniform(0.5, 1.2) * canvas.height * 0.05
        cloud(canvas, x, y, size, light, rng)


def cloud(canvas, x, y, size, colour, rng):
    """Draw a cloud: a row of puffs over a flat base."""
    context = canvas.context
    context.save()
    context.rectangle(x - 6 * size, y - 5 * size, 12 * size, 5 * size)
    context.clip()
    canvas.ink(colour, 0.8)
    for off in np.linspace(-2.6, 2.6, 7):
        high = (1.25 - abs(off) / 2.6) * size * rng.uniform(0.55, 0.9)
        context.save()
        context.translate(x + off * size, y)
        context.scale(size * 0.95, max(0.1 * size, high))
        context.arc(0, 0, 1, 0, 6.2832)
        context.restore()
    context.fill()
    context.restore()


def draw_hills(canvas, horizon, mood, rng):
    """Draw three ridges behind the town."""
    near = rgb("6f9a78") if mood.name != "dusk" else rgb("4f4a6e")
    for i, high in enumerate((0.11, 0.075, 0.045)):
        colour = mix(near, mood.haze, 0.78 - 0.2 * i)
        phase, waves = rng.uniform(0, 6.28, 3), (1.3 + i, 3.1 + i, 7.3)
        points = [(0, horizon + 3)]
        for x in np.linspace(0, canvas.width, 60):
            t = x / canvas.width * 6.28
            wave = sum(math.sin(w * t / 2 + p) / (k + 1)
                       for k, (w, p) in enumerate(zip(waves, phase)))
            points.append((x, horizon - canvas.height * high * (0.55 + 0.3 * wave)))
        canvas.polygon(points + [(canvas.width, horizon + 3)], colour)


def draw_ground_haze(canvas, camera, horizon, mood):
    """Cover the ground with air: more with the distance."""
    fade = cairo.LinearGradient(0, horizon, 0, canvas.height)
    for part in (0, 0.02, 0.05, 0.1, 0.2, 0.4, 1):
        row = max(1.0, part * (canvas.height - horizon))
        far = camera.focal * camera.position[2] / row
        fade.add_color_stop_rgba(part, *mood.haze, air(far, mood))
    canvas.context.set_source(fade)
    canvas.context.rectangle(0, horizon, canvas.width, canvas.height)
    canvas.context.fill()


def air(metres, mood):
    """Return the part of a colour that the air replaces at a distance."""
    return 0.85 * (1 - math.exp(-metres / mood.reach))
