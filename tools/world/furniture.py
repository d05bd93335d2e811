# SPDX-License-Identifier: LGPL-2.1-or-later
"""Trees, lamps, signals, benches and bins."""
import numpy as np

from . import palette
from .cycles import toned
from .palette import dim, mix, rgb

METAL = rgb("4d5a5e")


class Furniture:
    """Draws things that stand on the ground, in a mood's light."""

    def __init__(self, camera, mood):
        self.camera, self.mood = camera, mood

    def at(self, x, y, z):
        """Return the pixels and the scale of a point."""
        point = self.camera.project(np.array([[x, y, z]]))[0]
        return point[0], point[1], self.camera.focal / max(point[2], 0.3)

    def line(self, canvas, points, width, colour):
        """Draw a line of a width in metres."""
        at = [self.at(*point) for point in points]
        canvas.line([(x, y) for x, y, _ in at], max(0.8, width * at[0][2]),
                    toned(colour, self.mood))

    def box(self, canvas, low, high, colour):
        """Draw the three visible sides of a box."""
        (x1, y1, z1), (x2, y2, z2) = low, high
        eye = self.camera.position
        y, x = (y1 if eye[1] < y1 else y2), (x1 if eye[0] < (x1 + x2) / 2 else x2)
        for points, shade in (([(x1, y1, z2), (x2, y1, z2), (x2, y2, z2), (x1, y2, z2)], 1.08),
                              ([(x, y1, z1), (x, y2, z1), (x, y2, z2), (x, y1, z2)], 0.8),
                              ([(x1, y, z1), (x2, y, z1), (x2, y, z2), (x1, y, z2)], 0.94)):
            corners = self.camera.polygon(np.array(points, float))
            if len(corners) > 2:
                canvas.polygon(corners.tolist(), toned(dim(colour, shade), self.mood), edge=0.6)

    def tree(self, canvas, x, y, size, colour, rng):
        """Draw a tree: a trunk, and a crown of three tones."""
        trunk = rgb("7a5b45")
        self.line(canvas, [(x, y, 0), (x, y, 2.2 * size)], 0.26 * size, trunk)
        self.line(canvas, [(x, y, 1.7 * size), (x + 0.7 * size, y, 3.0 * size)], 0.13 * size, trunk)
        self.line(canvas, [(x, y, 1.5 * size), (x - 0.7 * size, y, 2.8 * size)], 0.12 * size, trunk)
        px, py, unit = self.at(x, y, 3.9 * size)
        leaves = toned(colour, self.mood)
        sun = -1 if self.camera.axes[0] @ np.array(self.mood.sun) < 0 else 1
        blobs = []
        for _ in range(26):
            angle, far = rng.uniform(0, 6.28), rng.uniform(0.2, 1) ** 0.6
            blobs.append((np.cos(angle) * far * 1.75, np.sin(angle) * far * 1.55,
                          rng.uniform(0.55, 0.95)))
        for shade, shift, part in ((0.72, 0.0, 1.0), (0.9, 0.22, 0.82), (1.1, 0.5, 0.52)):
            for dx, dy, radius in blobs:
                fx = px + (dx * (0.6 + 0.4 * part) + sun * shift * 0.8) * size * unit
                fy = py + (dy * (0.6 + 0.4 * part) - shift) * size * unit
                canvas.disc(fx, fy, radius * part * size * unit, dim(leaves, shade))

    def lamp(self, canvas, x, y, side):
        """Draw a street lamp; side: towards the road along x."""
        self.line(canvas, [(x, y, 0), (x, y, 0.9)], 0.2, METAL)
        self.line(canvas, [(x, y, 0.8), (x, y, 5.6)], 0.11, METAL)
        self.line(canvas, [(x, y, 5.6), (x + 0.3 * side, y, 6.0), (x + 1.1 * side, y, 6.05)], 0.09,
                  METAL)
        head = [(x + 0.95 * side, y, 6.0), (x + 1.45 * side, y, 5.98)]
        self.line(canvas, head, 0.2, METAL)
        if self.mood.lamps:
            px, py, unit = self.at(x + 1.2 * side, y, 5.9)
            canvas.disc(px, py, 0.12 * unit, palette.LAMP_WHITE, True)
            canvas.glow(px, py, 1.5 * unit, rgb("ffd9a0"), 0.5)

    def signal(self, canvas, x, y, side):
        """Draw the post and the case of a traffic signal."""
        self.line(canvas, [(x, y, 0), (x, y, 3.1)], 0.12, METAL)
        self.box(canvas, (x - .17, y - .16, 2.35), (x + .17, y + .16, 3.3), rgb("2d3338"))
        self.line(canvas, [(x, y, 2.0), (x + 0.1 * side, y, 2.0)], 0.16, rgb("e7b53c"))

    def bench(self, canvas, x, y):
        """Draw a bench along y."""
        wood = rgb("a9774f")
        for dy in (0.15, 1.45):
            self.box(canvas, (x - .2, y + dy, 0), (x + .2, y + dy + .08, .42), METAL)
        self.box(canvas, (x - .22, y, .42), (x + .22, y + 1.7, .48), wood)

    def planter(self, canvas, x, y, rng):
        """Draw a box with flowers."""
        self.box(canvas, (x - .45, y - .45, 0), (x + .45, y + .45, .55), rgb("b9825f"))
        for _ in range(14):
            px, py, unit = self.at(x + rng.uniform(-.4, .4), y + rng.uniform(-.4, .4),
                                   rng.uniform(.6, .95))
            colour = palette.AWNINGS[rng.integers(5)] if rng.random() < 0.4 else rgb("6f9a54")
            canvas.disc(px, py, 0.13 * unit, toned(mix(colour, (1, 1, 1), 0.1), self.mood))

    def bin(self, canvas, x, y):
        """Draw a litter bin."""
        self.box(canvas, (x - .22, y - .22, 0), (x + .22, y + .22, .95), rgb("3f6b62"))

    def shelter(self, canvas, x, y):
        """Draw a bus stop's roof on posts, and its sign."""
        for dy in (0, 3.2):
            self.line(canvas, [(x, y + dy, 0), (x, y + dy, 2.4)], 0.09, METAL)
        self.box(canvas, (x - .5, y - .2, 2.4), (x + .9, y + 3.4, 2.52), rgb("3c6ea3"))
        self.line(canvas, [(x - .6, y - 1, 0), (x - .6, y - 1, 2.6)], 0.07, METAL)
        px, py, unit = self.at(x - .6, y - 1, 2.75)
        canvas.disc(px, py, 0.27 * unit, toned(rgb("3c6ea3"), self.mood))
        canvas.disc(px, py, 0.17 * unit, toned(rgb("f4efe2"), self.mood))
