# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws flat things on the ground: roads, pavements, markings."""
import numpy as np

from .palette import ASPHALT, MARKING, PAVING, dim
from .solids import lit


class Ground:
    """Draws on the ground of a canvas in a mood's light."""

    def __init__(self, canvas, camera, mood):
        self.canvas, self.camera, self.mood = canvas, camera, mood

    def tone(self, colour):
        """Return a colour as the light makes it on the ground."""
        up = np.array(((0.0, 0.0, 1.0),))
        out = tuple(lit(up, np.array(colour)[None], np.array(self.mood.sun), self.mood)[0])
        return dim(out, 0.86) if self.mood.wet else out

    def polygon(self, points, colour, alpha=1.0):
        """Fill a polygon of points x, y."""
        corners = self.camera.polygon(np.array([(x, y, 0) for x, y in points], float))
        if len(corners) > 2:
            self.canvas.polygon(corners.tolist(), self.tone(colour), alpha=alpha, edge=0.6
                                if alpha == 1 else 0)

    def rectangle(self, x1, y1, x2, y2, colour, alpha=1.0):
        """Fill a rectangle."""
        self.polygon([(x1, y1), (x2, y1), (x2, y2), (x1, y2)], colour, alpha)

    def dashes(self, x, y1, y2, dash, gap, width, colour=MARKING):
        """Draw a broken line along y."""
        for y in np.arange(y1, y2, dash + gap):
            self.rectangle(x - width / 2, y, x + width / 2, min(y + dash, y2), colour, 0.9)

    def zebra(self, x1, x2, y1, y2, along_x=True):
        """Draw a pedestrian crossing; along_x: people walk along x."""
        low, high = (x1, x2) if along_x else (y1, y2)
        for a in np.arange(low + 0.25, high - 0.4, 1.0):
            if along_x:
                self.rectangle(a, y1, a + 0.5, y2, MARKING, 0.95)
            else:
                self.rectangle(x1, a, x2, a + 0.5, MARKING, 0.95)

    def joints(self, x1, x2, y1, y2, step):
        """Draw the joints of paving."""
        colour = dim(PAVING, 0.72)
        for y in np.arange(y1, y2, step):
            self.rectangle(x1, y, x2, y + 0.03, colour, 0.55)
        for x in np.arange(x1 + step, x2, step):
            self.rectangle(x - 0.015, y1, x + 0.015, y2, colour, 0.55)

    def patches(self, rng, x1, x2, y1, y2, count):
        """Draw mended parts and covers in a road."""
        for _ in range(count):
            x, y = rng.uniform(x1, x2), rng.uniform(y1, y2)
            wide, long = rng.uniform(0.6, 1.8), rng.uniform(1, 5)
            self.rectangle(x, y, x + wide, y + long, dim(ASPHALT, rng.uniform(0.9, 0.96)), 0.8)
        for _ in range(count // 2):
            x, y = rng.uniform(x1, x2), rng.uniform(y1, y2)
            turns = np.linspace(0, 6.28, 15)
            self.polygon([(x + .32 * np.cos(a), y + .32 * np.sin(a)) for a in turns],
                         dim(ASPHALT, 0.7))
