# SPDX-License-Identifier: LGPL-2.1-or-later
"""Cars, vans, buses and trucks."""
import dataclasses
import functools

import numpy as np

from .solids import Mesh

PLATE = (0.58, 0.16)    # width and height of a licence plate, metres


@dataclasses.dataclass(frozen=True)
class Model:
    """A model of vehicle: sizes in metres, and the mesh."""
    name: str
    kind: str
    length: float
    width: float
    height: float
    mesh: Mesh
    wheels: tuple          # x of the axles
    radius: float
    plates: tuple          # z of the front one, and of the rear one
    lamps: tuple           # z of head and tail lamps


def ring(x, half, low, shoulder, top, narrow=0.9):
    """Return a body's cross-section at x: a box with bevelled lower and upper edges."""
    side = [(half * 0.93, low), (half, low + 0.16), (half, shoulder), (half * narrow, top)]
    return [(x, -y, z) for y, z in side] + [(x, y, z) for y, z in reversed(side)]


def add_wheels(mesh, axles, radius, half, group=0):
    """Add wheels: dark arches and tyres on both sides, rims on them."""
    turns = np.linspace(0, 2 * np.pi, 17)[:-1]
    for x in axles:
        for side in (-1, 1):
            def rim(part, out, x=x, side=side):
                return [(x + part * radius * np.cos(a), side * (half + out),
                         radius + part * radius * np.sin(a)) for a in turns]
            out = (0, side, 0)
            arch = [(px, py, pz) for px, py, pz in rim(1.2, 0.004) if pz > radius * 0.75]
            mesh.face(arch, "shade", 2, group, True, out)
            mesh.face(rim(1, 0.01), "tyre", 3, group, False, out)
            mesh.face(rim(0.62, 0.015), "rim", 4, group, True, out)
            mesh.face(rim(0.2, 0.02), "tyre", 5, group, True, out)
            inner = side * (half - 0.24)
            low, high = sorted((inner, side * (half - 0.01)))
            mesh.box((x - radius * 0.6, low, 0.05), (x + radius * \
                     0.6, high, radius * 1.3), "tyre", 0, group)


def add_ends(mesh, front, rear, half, lamps, plates, size=(0.34, 0.14), group=0, rear_group=None):
    """Add lamps, plates and bumpers to the front and the rear at these x."""
    rear_group = group if rear_group is None else rear_group
    for x, sign, lamp, plate, role, part in ((front, 1, lamps[0], plates[0], "head", group),
                                             (rear, -1, lamps[1], plates[1], "tail", rear_group)):
        x += sign * 0.012
        out = (sign, 0, 0)
        for side in (-1, 1):
            y1, y2 = side * (half * 0.9), side * (half * 0.9 - size[0])
            mesh.face(
    quad(
        x,
        y1,
        y2,
        lamp -
        size[1] /
        2,
        lamp +
        size[1] /
        2),
        role,
        3,
        part,
        True,
         out)
        mesh.face(quad(x, -half * 0.86, half * 0.86, 0.3, 0.46), "trim", 2, part, True, out)
        mesh.face(quad(x + sign * .006, -PLATE[0] / 2, PLATE[0] / 2, plate - PLATE[1] / 2,
                       plate + PLATE[1] / 2), "plate", 4, part, True, out)


def quad(x, y1, y2, z1, z2):
    """Return an upright rectangle across the vehicle."""
    return [(x, y1, z1), (x, y2, z1), (x, y2, z2), (x, y1, z2)]


def pane(x1, x2, y, z1, z2, lean=(0, 0)):
    """Return a window along the side at y; its upper corners may lean along x."""
    return [(x1, y, z1), (x2, y, z1), (x2 + lean[1], y, z2), (x1 + lean[0], y, z2)]


def inset(points, part):
    """Return a polygon that is smaller by a part around its centre."""
    points = np.array(points, float)
    return points + (points.mean(0) - points) * part


def add_cabin(mesh, base, roof, half, low, high, pillars):
    """Add a car's cabin: glass in four leaning sides, a roof, pillars between side windows.

    base, roof: x of the front and the rear at the height `low`, and at `high`.
    """
    top = half * 0.76
    lower = [(base[0], -half, low), (base[1], -half, low), (base[1], half, low),
             (base[0], half, low)]
    upper = [(roof[0], -top, high), (roof[1], -top, high), (roof[1], top, high),
             (roof[0], top, high)]
    mesh.inside = np.mean(lower + upper, 0)
    walls = [(lower[i], lower[(i + 1) % 4], upper[(i + 1) % 4], upper[i]) for i in range(4)]
    for wall in walls:
        mesh.face(wall, "body", 5)
    mesh.face(upper, "roof", 6)
    mesh.face(inset(upper, 0.16), "sheen", 7, detail=True)
    for number in (1, 3):    # rear and front
        mesh.face(inset(walls[number], 0.12), "glass", 7, detail=True)
    for number in (0, 2):
        wall = np.array(inset(walls[number], 0.10))
        first, last = (0, 1) if number == 0 else (1, 0)
        cuts = [0, *pillars, 1]
        for a, b in zip(cuts, cuts[1:]):
            a, b = a + 0.02 * (a > 0), b - 0.02 * (b < 1)
            bottom = [wall[first] + (wall[last] - wall[first]) * t for t in (a, b)]
            above = [wall[3 - first] + (wall[3 - last] - wall[3 - first]) * t for t in (b, a)]
            mesh.face(bottom + above, "glass", 7, detail=True, out=(0, 1 if number == 2 else -1, 0))


CARS = {
    # length, half width, bonnet, belt, roof; x of windscreen foot, roof front, roof rear, rear foot
    "hatchback": (4.0, 0.86, 0.86, 0.98, 1.5, (1.05, 0.35, -1.35, -1.9), (0.47,)),
    "saloon": (4.6, 0.88, 0.86, 0.98, 1.45, (1.05, 0.3, -1.05, -1.75), (0.5,)),
    "estate": (4.6, 0.88, 0.88, 1.0, 1.5, (1.15, 0.45, -1.85, -2.2), (0.36, 0.7)),
    "suv": (4.5, 0.93, 1.02, 1.14, 1.72, (1.1, 0.5, -1.7, -2.1), (0.42, 0.76)),
}


def car(name):
    """Return a model of car."""
    length, half, bonnet, belt, roof, cabin, pillars = CARS[name]
    end, lift = length / 2, 0.08 if name == "suv" else 0
    mesh = Mesh()
    boot = belt if cabin[3] > -end + 0.35 else belt
    stations = [(-end, 0.95, 0.62, boot - 0.16), (-end + 0.14, 0.99, 0.72, boot - 0.02),
                (cabin[3], 1, 0.74, belt), (cabin[0], 1, 0.74, belt),
                (end - 0.5, 0.98, 0.7, bonnet - 0.03), (end - 0.12, 0.95, 0.62, bonnet - 0.14),
                (end, 0.88, 0.56, bonnet - 0.3)]
    mesh.loft([ring(x, half * part, 0.24 + lift, mid + lift, top)
               for x, part, mid, top in stations], "body")
    add_cabin(mesh, (cabin[0], cabin[3]), (cabin[1], cabin[2]), half * 0.9, belt - 0.01, roof,
              pillars)
    for side in (-1, 1):
        out = (0, side, 0)
        mesh.face(pane(-end + .35, end - .35, side * (half + .002), .3 + \
                  lift, .42 + lift), "trim", 1, 0, True, out)
        for x in (0.12, -0.82):
            mesh.face(pane(x - 0.2, x, side * (half + .006), 0.78 + \
                      lift, 0.815 + lift), "trim", 2, 0, True, out)
            mesh.face(pane(x + 0.14, x + 0.165, side * (half + .005),
                      0.42, 0.74 + lift), "crease", 2, 0, True, out)
        low, high = sorted((side * half * .93, side * (half + .09)))
        mesh.box((cabin[0] - .22, low, belt - .02), (cabin[0] - .1, high, belt + .1), "trim", 8)
    add_wheels(mesh, (end - 0.82, -end + 0.82), 0.33 + lift / 2, half)
    lamps, plates = (0.62 + lift, 0.74 + lift), (0.46 + lift, 0.58 + lift)
    add_ends(mesh, end, -end, half * 0.9, lamps, plates)
    return Model(name, "car", length, 2 * half, roof, mesh.freeze(), (end - 0.82, -end + 0.82),
                 0.33, plates, lamps)


def van():
    """Return a delivery van with a sloping nose."""
    half, height, end = 0.98, 2.25, 2.7
    mesh = Mesh()
    stations = [(-end, 0.97, 1.9, height - 0.05), (-end + 0.1, 1, 1.95, height),
                (0.9, 1, 1.95, height), (1.3, 1, 1.85, height - 0.12), (2.05, 1, 1.05, 1.3),
                (end - 0.1, 0.96, 0.8, 1.02), (end, 0.92, 0.6, 0.8)]
    mesh.loft([ring(x, half * part, 0.28, mid, top, 0.92) for x, part, mid, top in stations],
              "body")
    for side in (-1, 1):
        out, y = (0, side, 0), side * (half + 0.004)
        mesh.face([(0.55, y, 1.15), (1.95, y, 1.1), (1.34, y, 1.8),
                  (0.55, y, 1.85)], "glass", 2, 0, True, out)
        mesh.face(pane(-end + .3, end - .3, y, 0.36, 0.52), "trim", 1, 0, True, out)
        mesh.face(pane(0.42, 0.45, y, 0.5, 1.95), "crease", 2, 0, True, out)
        mesh.face(pane(-1.0, -0.97, y, 0.5, 1.95), "crease", 2, 0, True, out)
        mesh.face(pane(-2.4, -0.2, y, 1.15, 1.42), "stripe", 2, 0, True, out)
    screen = [(2.03, -.86, 1.31), (2.03, .86, 1.31), (1.34, .83, 2.09), (1.34, -.83, 2.09)]
    mesh.face(screen, "glass", 2, 0, True, (1, 0, 0.5))
    for y1, y2 in ((-0.82, -0.06), (0.06, 0.82)):
        mesh.face(quad(-end - .01, y1, y2, 1.25, 1.85), "glass", 2, 0, True, (-1, 0, 0))
    add_wheels(mesh, (end - 0.95, -end + 1.0), 0.36, half)
    add_ends(mesh, end, -end, half * 0.92, (0.72, 0.95), (0.48, 0.62))
    return Model("van", "van", 2 * end, 2 * half, height, mesh.freeze(), (end - .95, -end + 1),
                 0.36, (0.48, 0.62), (0.72, 0.95))


def bus():
    """Return a city bus."""
    half, height, end = 1.25, 3.05, 5.6
    mesh = Mesh()
    stations = [(-end, 0.97, 2.7, height - 0.1), (-end + 0.15, 1, 2.8, height),
                (end - 0.3, 1, 2.8, height), (end, 0.96, 2.6, height - 0.2)]
    mesh.loft([ring(x, half * part, 0.3, mid, top, 0.93) for x, part, mid, top in stations],
              "body")
    mesh.box((-3.4, -0.8, height), (-0.6, 0.8, height + 0.22), "roof", 2)
    for side in (-1, 1):
        out, y = (0, side, 0), side * (half + 0.004)
        mesh.face(pane(-end + 0.2, end - 0.35, y, 1.25, 2.4), "band", 1, 0, True, out)
        for i in range(7):
            x = -end + 0.4 + i * 1.48
            mesh.face(pane(x, x + 1.34, y * 1.002, 1.35, 2.3), "glass", 2, 0, True, out)
        mesh.face(pane(-end + .2, end - .2, y, 0.38, 0.6), "stripe", 1, 0, True, out)
        if side < 0:
            for x in (3.9, -0.35):
                mesh.face(pane(x, x + 1.15, y * 1.004, 0.45, 2.36), "trim", 3, 0, True, out)
                for px in (x + .07, x + .61):
                    mesh.face(pane(px, px + .47, y * 1.006, 0.6, 2.25), "glass", 4, 0, True, out)
    mesh.face(quad(end + .01, -1.08, 1.08, 1.2, 2.45), "glass", 2, 0, True, (1, 0, 0))
    mesh.face(quad(end + .01, -.85, .85, 2.5, 2.74), "sign", 3, 0, True, (1, 0, 0))
    mesh.face(quad(-end - .01, -1.0, 1.0, 1.6, 2.4), "glass", 2, 0, True, (-1, 0, 0))
    add_wheels(mesh, (end - 2.3, -end + 2.6), 0.48, half)
    add_ends(mesh, end, -end, half * 0.95, (0.8, 0.9), (0.52, 0.7), (0.36, 0.2))
    return Model("bus", "bus", 2 * end, 2 * half, height, mesh.freeze(), (end - 2.3, -end + 2.6),
                 0.48, (0.52, 0.7), (0.8, 0.9))


def truck():
    """Return a box truck."""
    half, end = 1.2, 3.9
    mesh = Mesh()
    stations = [(2.0, 0.97, 2.2, 2.55), (2.3, 1, 2.2, 2.6), (3.55, 1, 2.0, 2.45),
                (end - 0.05, 0.96, 1.2, 1.4), (end, 0.94, 0.9, 1.1)]
    mesh.loft([ring(x, half * part, 0.4, mid, top, 0.9) for x, part, mid, top in stations], "body",
              1, 1)
    screen = [(end - .03, -1.02, 1.42), (end - .03, 1.02, 1.42), (3.6, .98, 2.36),
              (3.6, -.98, 2.36)]
    mesh.face(screen, "glass", 2, 1, True, (1, 0, 0.3))
    mesh.box((-end, -half * 0.55, 0.55), (2.2, half * 0.55, 0.95), "trim", 0)
    mesh.box((-end, -half * 0.86, 0.3), (-end + 0.15, half * 0.86, 0.95), "trim", 0)
    mesh.box((-end, -half, 0.95), (1.85, half, 3.35), "cargo", 1, 0, "roof")
    for side in (-1, 1):
        out, y = (0, side, 0), side * (half + 0.004)
        mesh.face([(2.35, y, 1.3), (3.75, y, 1.3), (3.5, y, 2.1),
                  (2.35, y, 2.15)], "glass", 2, 1, True, out)
        mesh.face(pane(-end + .5, 1.3, y, 1.6, 2.2), "stripe", 2, 0, True, out)
        mesh.face(pane(-end + .5, -1.2, y, 2.4, 2.6), "stripe", 2, 0, True, out)
    for y1, y2 in ((-1.12, -0.03), (0.03, 1.12)):
        mesh.face(quad(-end - .01, y1, y2, 1.05, 3.25), "crease", 2, 0, True, (-1, 0, 0))
    add_wheels(mesh, (2.95,), 0.48, half, 1)
    add_wheels(mesh, (-2.3,), 0.48, half)
    add_ends(mesh, end, -end, half * 0.94, (0.85, 0.72), (0.56, 0.72), (0.34, 0.18), 1, 0)
    return Model("truck", "truck", 2 * end, 2 * half, 3.35, mesh.freeze(), (2.95, -2.3), 0.48,
                 (0.56, 0.72), (0.85, 0.72))


@functools.lru_cache(None)
def models():
    """Return the models by name."""
    made = [car(name) for name in CARS] + [van(), bus(), truck()]
    return {model.name: model for model in made}
