# SPDX-License-Identifier: LGPL-2.1-or-later
"""Solids of flat faces, lit by the mood's sun and drawn from back to front.

Axes of a solid, in metres: x forward, y to the left, z up.
"""
import math

import numpy as np

from .camera import NEAR, ahead_of
from .palette import LAMP_AMBER, LAMP_RED, LAMP_WHITE

FINE = {"crease", "shade", "rim", "sheen", "plate", "trim"}    # not drawn on small objects
SHINING = {"head": LAMP_WHITE, "tail": LAMP_RED, "amber": LAMP_AMBER}


class Mesh:
    """Faces with a role each, which a colour is chosen for when they are drawn."""

    def __init__(self):
        self.points, self.faces, self.inside = [], [], (0.0, 0.0, 0.0)
        self.frozen = None

    def face(self, points, role, layer=0, group=0, detail=False, out=None):
        """Add a flat face.

        layer: later ones are drawn over earlier ones of the group. group: a convex part of the
        whole. detail: it lies on another face. out: a direction that it faces; otherwise it faces
        away from `inside`.
        """
        points = [tuple(map(float, point)) for point in points]
        normal = newell(points)
        centre = np.mean(points, 0)
        away = np.array(out, float) if out is not None else centre - self.inside
        if normal @ away < 0:
            normal, points = -normal, points[::-1]
        start = len(self.points)
        self.points += points
        self.faces.append((start, start + len(points), role, layer, group, detail, normal, centre))

    def loft(self, rings, role, layer=0, group=0, caps=(True, True), roles=None):
        """Add the faces between rings of equally many points, and the first and last ring.

        roles: role of the faces that begin at a ring's point, by its index.
        """
        self.inside = np.mean([np.mean(ring, 0) for ring in rings], 0)
        for one, other in zip(rings, rings[1:]):
            for i, _ in enumerate(one):
                j = (i + 1) % len(one)
                self.face((one[i], one[j], other[j], other[i]), (roles or {}).get(i, role), layer,
                          group)
        for ring, wanted in ((rings[0], caps[0]), (rings[-1], caps[1])):
            if wanted:
                self.face(ring, role, layer, group)

    def box(self, low, high, role, layer=0, group=0, top=None):
        """Add a box between two corners; its top may have a role of its own."""
        (x1, y1, z1), (x2, y2, z2) = low, high
        ends = [[(x, y1, z1), (x, y2, z1), (x, y2, z2), (x, y1, z2)] for x in (x1, x2)]
        self.loft(ends, role, layer, group, roles={2: top or role})

    def freeze(self):
        """Make arrays of what was added."""
        starts, ends, roles, layers, groups, details, normals, centres = zip(*self.faces)
        names = sorted(set(roles))
        self.frozen = (np.array(self.points), list(zip(starts, ends)), names,
                       np.array([names.index(role) for role in roles]), np.array(layers),
                       np.array(groups), details, np.array(normals), np.array(centres))
        return self


def newell(points):
    """Return the unit normal of a polygon, by Newell's method."""
    points = np.array(points)
    following = np.roll(points, -1, 0)
    normal = np.cross(points, following).sum(0)
    return normal / max(1e-9, np.linalg.norm(normal))


def turn(heading):
    """Return the matrix that turns a solid's axes to a heading, radians from the x axis."""
    cos, sin = math.cos(heading), math.sin(heading)
    return np.array(((cos, -sin, 0), (sin, cos, 0), (0, 0, 1)))


def placed(points, position, heading):
    """Return points of a solid in the world's axes; position is x, y or x, y, z."""
    out = np.asarray(points, float) @ turn(heading).T
    out[:, :len(position)] += position
    return out


def lit(normals, colours, sun, mood):
    """Return the colours of faces in the light of a mood."""
    facing = np.clip(normals @ sun, 0, 1)[:, None]
    sky = 0.5 + 0.5 * normals[:, 2:3]
    factors = np.array(mood.ambient) * (0.82 + 0.24 * sky) + np.array(mood.light) * facing
    return np.clip(colours * factors, 0, 1)


def order(groups, layers, depths):
    """Return indices of faces from back to front: groups by depth, then layers, then faces."""
    far = np.zeros(groups.max() + 1)
    for group in range(len(far)):
        mine = groups == group
        far[group] = depths[mine].mean() if mine.any() else 0
    return np.lexsort((-depths, layers, -far[groups]))


def draw(mesh, canvas, camera, mood, position, heading, roles, lamps=True):
    """Draw a mesh; roles are colours by name. Return its points' pixels and depths.

    lamps: its lamps shine if the mood's do.
    """
    points, spans, names, indices, layers, groups, details, normals, centres = mesh.frozen
    axes = turn(heading)
    eye = axes.T @ (camera.position - (position[0], position[1], 0))
    shown = ((eye - centres) * normals).sum(1) > 0
    view = camera.view(placed(points, position, heading))
    pixels = camera.pixels(view)
    near = bool((view[:, 2] < NEAR).any())
    colours = np.array([roles[name] for name in names])[indices]
    shade = lit(normals, colours, axes.T @ np.array(mood.sun), mood)
    shining = [name in SHINING and mood.lamps and lamps for name in names]
    depths = np.linalg.norm(eye - centres, axis=1)
    places, shade, order_of = pixels.tolist(), shade.tolist(), order(groups, layers, depths)
    large = np.ptp(pixels[:, 0]) > 45 or np.ptp(pixels[:, 1]) > 45
    edge = 0.8 if large else 0
    for face in order_of[shown[order_of]].tolist():
        start, end = spans[face]
        corners = places[start:end]
        if near and (view[start:end, 2] < NEAR).any():
            corners = camera.pixels(ahead_of(view[start:end])).tolist()
            if len(corners) < 3:
                continue
        name = names[indices[face]]
        if not large and name in FINE:
            continue
        colour = SHINING[name] if shining[indices[face]] else shade[face]
        canvas.polygon(corners, colour, details[face], edge=0 if details[face] else edge)
    return pixels


def hull(points):
    """Return the convex hull of points N x 2 (or more columns), as a list."""
    points = sorted((p[0], p[1]) for p in points)

    def half(points):
        out = []
        for point in points:
            while len(out) > 1 and ((out[-1][0] - out[-2][0]) * (point[1] - out[-2][1])
                                    <= (out[-1][1] - out[-2][1]) * (point[0] - out[-2][0])):
                out.pop()
            out.append(point)
        return out[:-1]

    return half(points) + half(points[::-1])


def cast(points, sun):
    """Return where the shadows of points N x 3 of the world fall on the ground, N x 3."""
    out = np.array(points, float)
    out[:, :2] -= out[:, 2:] * (np.array(sun[:2]) / max(sun[2], 0.2))
    out[:, 2] = 0
    return out
