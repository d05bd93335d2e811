# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws vehicles: their colours, and the text on their plates."""
import numpy as np

from . import font, palette
from .palette import dim, mix
from .solids import draw, placed
from .vehicles import PLATE, models

TINY = 26    # pixels of a vehicle's width below which its plate is left out


def roles_of(paint, second, dusk):
    """Return colours by role for a body's paint and a second colour."""
    glass = mix(palette.GLASS, palette.rgb("f2c98a"), 0.25) if dusk else palette.GLASS
    return {"body": paint, "roof": mix(paint, (1, 1, 1), 0.06),
            "sheen": mix(paint, (1, 1, 1), 0.16), "glass": glass, "tyre": palette.TYRE,
            "rim": palette.RIM, "trim": palette.TRIM, "shade": dim(palette.TYRE, 0.7),
            "crease": dim(paint, 0.8), "stripe": second, "band": dim(palette.GLASS, 0.75),
            "cargo": mix(second, (0.95, 0.94, 0.9), 0.78), "plate": palette.rgb("fbf9ef"),
            "sign": palette.rgb("f5b73c"), "head": palette.rgb("f4f1e2"),
            "tail": palette.rgb("b8322f")}


def draw_vehicle(vehicle, canvas, camera, mood):
    """Draw a vehicle; return the corners of its plate, 4 x 2, if it can be seen."""
    model = models()[vehicle.model]
    roles = roles_of(palette.PAINT[vehicle.colour], vehicle.second, mood.name == "dusk")
    pixels = draw(model.mesh, canvas, camera, mood, vehicle.position, vehicle.heading, roles,
                  not vehicle.parked)
    return draw_plate(vehicle, model, canvas, camera, mood) if np.ptp(pixels[:, 0]) > TINY else None


def plate_corners(vehicle, model, camera):
    """Return the corners of the plate that faces the camera, pixels 4 x 3, or None."""
    eye = camera.position[:2] - vehicle.position
    ahead = np.array((np.cos(vehicle.heading), np.sin(vehicle.heading)))
    along = eye @ ahead
    sign = 1 if along > 0 else -1
    if abs(along) < model.length / 2 + 0.2:
        return None
    x, z = sign * (model.length / 2 + 0.02), model.plates[0 if sign > 0 else 1]
    right = sign * PLATE[0] / 2
    corners = [(x, y, z + dz) for y, dz in ((-right, PLATE[1] / 2), (right, PLATE[1] / 2),
                                            (right, -PLATE[1] / 2), (-right, -PLATE[1] / 2))]
    out = camera.project(placed(corners, vehicle.position, vehicle.heading))
    return out if (out[:, 2] > 1).all() else None


def draw_plate(vehicle, model, canvas, camera, mood):
    """Draw the text of the plate that faces the camera; return its corners, 4 x 2, or None."""
    corners = plate_corners(vehicle, model, camera)
    if corners is None:
        return None
    corners = corners[:, :2]
    high = np.linalg.norm(corners[3] - corners[0])
    if high < 2.5:
        return None
    margin, text = 0.085, vehicle.plate
    scale = (1 - 2 * margin) / font.width(text)
    ink = dim(palette.rgb("23263a"), 0.6 + 0.4 * mood.ambient[0])
    for stroke in font.strokes(text):
        cells = np.array(stroke)
        u, v = margin + cells[:, :1] * scale, 0.2 + cells[:, 1:] / font.HIGH * 0.6
        top = corners[0] + (corners[1] - corners[0]) * u
        low = corners[3] + (corners[2] - corners[3]) * u
        canvas.line((top + (low - top) * v).tolist(), max(0.5, high * 0.1), ink, True)
    return corners
