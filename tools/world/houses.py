# SPDX-License-Identifier: LGPL-2.1-or-later
"""Houses: facades with windows, shops and roofs, in perspective."""
import dataclasses

import numpy as np

from . import font, palette
from .palette import dim, mix, rgb
from .sky import air
from .solids import lit

FLOOR = 3.1      # metres
SIGNS = ("CAFE", "BOOKS", "BAKERY", "FLOWERS", "TEA", "BIKES", "MUSIC", "DELI", "PIZZA", "HATS")


@dataclasses.dataclass
class Wall:
    """An upright plane: `at` maps metres along it, up, and out of it to the world."""
    start: np.ndarray
    along: np.ndarray
    out: np.ndarray
    length: float

    def at(self, along, up, out=0.0):
        """Return a point of the world."""
        flat = self.start + self.along * along + self.out * out
        return (flat[0], flat[1], up)

    def rectangle(self, a, b, low, high, out=0.0):
        """Return the corners of a rectangle on the wall, from the lower left."""
        return [self.at(a, low, out), self.at(b, low, out), self.at(b, high, out),
                self.at(a, high, out)]


@dataclasses.dataclass
class House:
    """A house: its front wall, its depth behind it, and its looks."""
    front: Wall
    depth: float
    floors: int
    wall: tuple
    roof: tuple
    shop: str
    awning: tuple
    shutters: tuple | None
    seed: int

    def height(self):
        """Return the height of its eaves in metres."""
        return self.floors * FLOOR + (0.5 if self.shop else 0)


def make_house(rng, front, depth):
    """Return a random house behind a front wall."""
    def any_of(values):
        return values[rng.integers(len(values))]

    return House(front, depth, int(rng.choice((2, 3, 3, 4))), any_of(palette.WALLS),
                 any_of(palette.ROOFS), any_of(SIGNS) if rng.random() < 0.6 else "",
                 any_of(palette.AWNINGS), any_of(palette.SHUTTERS) if rng.random() < 0.55 else None,
                 int(rng.integers(1 << 30)))


class Mason:
    """Draws houses on a canvas."""

    def __init__(self, canvas, camera, mood):
        self.canvas, self.camera, self.mood = canvas, camera, mood

    def shade(self, colour, normal):
        """Return a colour in the mood's light on a face."""
        normal = np.array(normal, float)
        return tuple(lit(normal[None], np.array(colour)[None], np.array(self.mood.sun),
                         self.mood)[0])

    def fill(self, points, colour, normal, edge=0.0, alpha=1.0):
        """Fill a polygon of the world if it faces the camera."""
        points = np.array(points, float)
        if (self.camera.position - points[0]) @ np.array(normal, float) < 0:
            return
        corners = self.camera.polygon(points)
        if len(corners) > 2:
            self.canvas.polygon(corners.tolist(), self.shade(colour, normal), edge=edge,
                                alpha=alpha)

    def glow(self, points, colour, alpha=1.0):
        """Fill a polygon of the world with light."""
        corners = self.camera.polygon(np.array(points, float))
        if len(corners) > 2:
            self.canvas.polygon(corners.tolist(), colour, alpha=alpha)

    def house(self, house):
        """Draw a house."""
        rng, front = np.random.default_rng(house.seed), house.front
        middle = np.array(front.at(front.length / 2, 3))
        far = np.linalg.norm(middle - self.camera.position)
        self.canvas.haze, self.canvas.haze_part = self.mood.haze, air(far, self.mood)
        self.body(house)
        normal = (*front.out, 0)
        if (self.camera.position - middle) @ normal < 0:
            return
        self.fill(front.rectangle(0, front.length, 0, 0.5), dim(house.wall, 0.78), normal)
        count = max(2, round(front.length / 2.3))
        for floor in range(1 if house.shop else 0, house.floors):
            low = floor * FLOOR + (0.5 if house.shop else 0) + 0.95
            for i in range(count):
                centre = (i + 0.5) * front.length / count
                if floor == 0 and i == count // 2:
                    self.door(house, centre, normal)
                else:
                    self.window(house, centre, low, normal, rng, far)
        if house.shop:
            self.shop(house, normal, far)

    def body(self, house):
        """Draw walls and roof."""
        front, high, ridge = house.front, house.height(), house.height() + house.depth * 0.33
        back = -house.depth
        for a, sign in ((0, -1), (front.length, 1)):
            side = [front.at(a, 0), front.at(a, 0, back), front.at(a, high, back),
                    front.at(a, ridge, back / 2), front.at(a, high)]
            self.fill(side, dim(house.wall, 0.94), (*(front.along * sign), 0), 0.8)
        slope = np.array((*(front.out * 0.55), 0.83))
        eave = [front.at(-0.2, high - 0.1, 0.45), front.at(front.length + 0.2, high - 0.1, 0.45),
                front.at(front.length + 0.2, ridge, back / 2), front.at(-0.2, ridge, back / 2)]
        rear = [front.at(-0.2, high - 0.1, back - .45), front.at(front.length + .2,
                         high - .1, back - .45), eave[2], eave[3]]
        self.fill(rear, house.roof, np.array((*(front.out * -0.55), 0.83)), 0.8)
        self.fill(eave, house.roof, slope, 0.8)
        for part in (0.25, 0.5, 0.75):
            rows = [np.array(eave[i]) + (np.array(eave[3 - i]) - eave[i]) * part for i in (0, 1)]
            upper = [row + (np.array(eave[3]) - eave[0]) * 0.025 for row in rows[::-1]]
            self.fill(rows + upper, dim(house.roof, 0.9), slope)
        self.fill(front.rectangle(0, front.length, 0, high), house.wall, (*front.out, 0), 0.8)
        self.fill(front.rectangle(-0.15, front.length + .15, high - .28, high, 0.3), rgb("efe6d6"),
                  (*front.out, 0))
        for a in (0.22, 0.74):
            self.chimney(front, a * front.length, ridge, back / 2)

    def chimney(self, front, along, ridge, back):
        """Draw a chimney on the ridge."""
        brick, low, high = rgb("a8705a"), ridge - 0.5, ridge + 0.9
        for sign in (-1, 1):
            end = along + 0.35 * sign
            self.fill([front.at(end, low, back - .3), front.at(end, low, back + .3),
                       front.at(end, high, back + .3), front.at(end, high, back - .3)], brick,
                      (*(front.along * sign), 0))
        self.fill(front.rectangle(along - 0.35, along + 0.35, low, high, back + 0.3), brick,
                  (*front.out, 0))

    def window(self, house, centre, low, normal, rng, far):
        """Draw a window with its frame, and shutters."""
        front, wide, high, open_ = house.front, 0.55, 1.55, rng.random() < 0.85
        if house.shutters and open_:
            for a in (centre - wide - 0.5, centre + wide + 0.06):
                self.fill(front.rectangle(a, a + 0.44, low - 0.02, low + high), house.shutters,
                          normal)
        self.fill(front.rectangle(centre - wide - .08, centre + wide + .08, low - .08,
                                  low + high + .08), rgb("f6f1e6"), normal)
        light, glass = rng.random(), rgb("6f8fa3")
        if self.mood.lamps and light < (0.45 if self.mood.name == "dusk" else 0.2):
            self.glow(front.rectangle(centre - wide, centre + wide, low, low + high),
                      mix(rgb("ffd68a"), rgb("ffb55e"), rng.random()))
        else:
            self.fill(front.rectangle(centre - wide, centre + wide, low, low + high), glass, normal)
            shine = [front.at(centre - wide, low + .2), front.at(centre + wide, low + 1.1),
                     front.at(centre + wide, low + high), front.at(centre - wide, low + high)]
            self.fill(shine, mix(glass, self.mood.sky[2], 0.3), normal)
        if far < 70:
            self.fill(front.rectangle(centre - .035, centre + .035, low, low + high),
                      rgb("f6f1e6"), normal)
            self.fill(front.rectangle(centre - wide, centre + wide, low + .98, low + 1.04),
                      rgb("f6f1e6"), normal)
        self.fill(front.rectangle(centre - wide - .15, centre + wide + .15, low - .18, low - .08,
                                  0.1), rgb("e6dccb"), normal)
        if light > 0.72 and far < 90:
            for k in range(5):
                self.fill(front.rectangle(centre - .5 + .2 * k, centre - .3 + .2 * k, low - .08,
                                          low + 0.12 + 0.06 * (k % 2), .12),
                          palette.AWNINGS[k % 3] if k % 2 else rgb("6f9a54"), normal)

    def door(self, house, centre, normal):
        """Draw a door."""
        front = house.front
        self.fill(front.rectangle(centre - .68, centre + .68, 0, 2.5), rgb("f1eadc"), normal)
        self.fill(front.rectangle(centre - .55, centre + .55, 0, 2.35), dim(house.awning, 0.8),
                  normal)
        self.fill(front.rectangle(centre - .35, centre + .35, 1.5, 2.15), rgb("7d98a8"), normal)

    def shop(self, house, normal, far):
        """Draw a shop: windows, a door, its name and an awning."""
        front, end = house.front, house.front.length
        base = mix(house.awning, rgb("3a3f47"), 0.45)
        self.fill(front.rectangle(0.25, end - 0.25, 0, 3.35), base, normal)
        glass = rgb("ffd99a") if self.mood.lamps else rgb("8fb0bf")
        for a, b, low in ((0.5, end * 0.58, 0.55), (end * 0.58 + 0.25, end * 0.58 + 1.3, 0.1),
                          (end * 0.58 + 1.55, end - 0.5, 0.55)):
            if b - a > 0.4:
                paint = self.glow if self.mood.lamps else lambda p, c: self.fill(p, c, normal)
                paint(front.rectangle(a, b, low, 2.55), glass)
                paint([front.at(a, 1.4), front.at(b, 2.0), front.at(b, 2.55), front.at(a, 2.55)],
                      mix(glass, (1, 1, 1), 0.22))
        self.fill(front.rectangle(0.25, end - 0.25, 2.75, 3.35), house.awning, normal)
        if far < 110:
            self.sign(house.shop, front, end)
        self.awning(front, end, house.awning, normal)

    def sign(self, text, front, end):
        """Draw a shop's name on its sign."""
        size = min(0.36 / font.HIGH, (end - 1.5) / font.width(text))
        start = (end - font.width(text) * size) / 2
        # the wall runs from right to left
        mirrored = front.along @ (front.out[1], -front.out[0]) > 0
        for stroke in font.strokes(text):
            points = [front.at(start + x * size if not mirrored else end - start - x * size,
                               3.05 + (font.HIGH / 2 - y) * size, 0.02) for x, y in stroke]
            at = self.camera.project(points)
            if (at[:, 2] > 1).all():
                self.canvas.line(at[:, :2].tolist(), max(0.6, 0.05 * self.camera.focal / at[0, 2]),
                                 rgb("fff8e8"))

    def awning(self, front, end, colour, normal):
        """Draw a striped awning."""
        stripes = max(4, round(end / 0.8))
        slope = (*(np.array(normal[:2]) * 0.5), 0.86)
        for i in range(stripes):
            a, b = (0.3 + (end - 0.6) * k / stripes for k in (i, i + 1))
            paint = colour if i % 2 == 0 else rgb("f7f0e1")
            self.fill([front.at(a, 2.75), front.at(b, 2.75), front.at(b, 2.3, 1.15),
                       front.at(a, 2.3, 1.15)], paint, slope, 0.5)
            self.fill(front.rectangle(a, b, 2.08, 2.3, 1.15), dim(paint, 0.93), normal, 0.5)
