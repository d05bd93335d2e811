# SPDX-License-Identifier: LGPL-2.1-or-later
"""Bicycles and motorcycles, and where their riders sit."""
import functools

import numpy as np

from . import palette
from .palette import dim
from .solids import Mesh, draw, placed
from .vehicles import ring

SEATS = {"bicycle": (-0.22, 0.22), "motorcycle": (-0.3, 0.06)}    # x, and metres off the ground
WHEELS = {"bicycle": (0.34, 0.54), "motorcycle": (0.32, 0.7)}      # radius, and x of the axles
FRAME = (((-0.54, .34), (-0.16, .9)), ((-0.18, .82), (0.36, .86)), ((-0.08, .3), (0.38, .78)),
         ((-0.08, .3), (-0.2, .92)), ((-0.54, .34), (-0.08, .3)), ((0.34, 1.02), (0.54, .34)))


def toned(colour, mood):
    """Return a colour in the mood's light, halfway facing the sun."""
    return tuple(min(1, part * (a + 0.55 * b))
                 for part, a, b in zip(colour, mood.ambient, mood.light))


def circle(x, radius):
    """Return points of a wheel."""
    turns = np.linspace(0, 2 * np.pi, 19)
    return [(x + radius * np.cos(a), 0, radius + radius * np.sin(a)) for a in turns]


def draw_wheels(cycle, canvas, camera, mood, width):
    """Draw two wheels with tyres of a width in metres."""
    radius, axle = WHEELS[cycle.kind]
    for x in (axle, -axle):
        at = camera.project(placed(circle(x, radius), cycle.position, cycle.heading))
        unit = camera.focal / at[0, 2]
        points = at[:, :2].tolist()
        canvas.polygon(points, toned(palette.RIM, mood), alpha=0.35 if width < 0.1 else 1)
        canvas.line(points, max(0.8, width * unit), toned(palette.TYRE, mood))


def draw_bicycle(cycle, canvas, camera, mood):
    """Draw a bicycle."""
    draw_wheels(cycle, canvas, camera, mood, 0.05)
    paint = toned(palette.PAINT[cycle.colour], mood)

    def line(points, width, colour):
        at = camera.project(placed(points, cycle.position, cycle.heading))
        canvas.line(at[:, :2].tolist(), max(0.7, width * camera.focal / at[0, 2]), colour)

    for (x1, z1), (x2, z2) in FRAME:
        line([(x1, 0, z1), (x2, 0, z2)], 0.05, paint)
    line([(0.34, -0.26, 1.04), (0.36, 0.26, 1.04)], 0.045, toned(palette.TRIM, mood))
    line([(-0.32, 0, 0.95), (-0.06, 0, 0.96)], 0.09, toned(palette.TRIM, mood))


@functools.lru_cache(None)
def motorcycle_mesh():
    """Return a motorcycle's body."""
    mesh = Mesh()
    mesh.box((-0.32, -0.13, 0.26), (0.34, 0.13, 0.6), "trim")
    stations = [(-0.8, 0.07, 0.66, 0.74), (-0.4, 0.12, 0.58, 0.74), (0.0, 0.13, 0.54, 0.78),
                (0.3, 0.15, 0.56, 0.9), (0.5, 0.12, 0.72, 0.98), (0.64, 0.08, 0.8, 0.96)]
    mesh.loft([ring(x, half, low, low + 0.1, top) for x, half, low, top in stations], "body", 1)
    mesh.box((-0.72, -0.12, 0.74), (0.02, 0.12, 0.8), "trim", 2)
    mesh.face([(.65, -.08, .8), (.65, .08, .8), (.65, .08, .95),
              (.65, -.08, .95)], "head", 3, 0, True, (1, 0, 0))
    mesh.face([(-.81, -.06, .66), (-.81, .06, .66), (-.81, .06, .74),
              (-.81, -.06, .74)], "tail", 3, 0, True, (-1, 0, 0))
    return mesh.freeze()


def draw_motorcycle(cycle, canvas, camera, mood):
    """Draw a motorcycle."""
    draw_wheels(cycle, canvas, camera, mood, 0.12)
    paint = palette.PAINT[cycle.colour]
    roles = {"body": paint, "trim": palette.TRIM, "head": palette.rgb("f4f1e2"),
             "tail": palette.rgb("b8322f"), "crease": dim(paint, 0.8)}
    draw(motorcycle_mesh(), canvas, camera, mood, cycle.position, cycle.heading, roles)
    at = camera.project(placed([(0.32, -.34, 1.02), (0.44, 0, 0.98), (0.32, .34, 1.02),
                                (0.46, 0, 0.95), (.7, 0, .34)], cycle.position, cycle.heading))
    unit = camera.focal / at[0, 2]
    canvas.line(at[:3, :2].tolist(), max(0.8, 0.05 * unit), toned(palette.TRIM, mood))
    canvas.line(at[3:, :2].tolist(), max(0.8, 0.07 * unit), toned(palette.RIM, mood))
