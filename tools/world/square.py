# SPDX-License-Identifier: LGPL-2.1-or-later
"""The square: a wide place with a fountain, a market and hundreds of small people."""
import dataclasses

import numpy as np

from . import palette, sky
from .actors import Maker
from .camera import Camera
from .furniture import Furniture
from .ground import Ground
from .houses import Mason, Wall, make_house
from .palette import GRASS, PAVING, dim, mix, rgb
from .scene import Scene
from .solids import cast
from .traffic import Mover, Route, Signals, Traffic

WIDE, NEAR, FAR = 135.0, 40.0, 300.0     # half width, and the ends along y, metres
FOUNTAIN = (0.0, 165.0, 13.0)            # x, y, radius
STALLS = tuple((x, y) for y in (118.0, 128.0) for x in (-62.0, -52.0, -42.0, -32.0))
PARASOLS = tuple((x, y) for y in (196.0, 204.0, 212.0) for x in (44.0, 52.0, 60.0, 68.0))
TREES = tuple((s * x, y) for s in (-1, 1) for y in (90, 120, 150, 180, 210, 240) for x in (92, 104))


class Square(Scene):
    """A wide square in 4K."""

    def __init__(self, seed, mood="day", size=(3840, 2160), people=330, warm=2.0, standard=True,
                 camera=None, town=True):
        """Create the square; people: how many are on their way. town: with houses far away."""
        rng = np.random.default_rng([seed, 5])
        self.make = Maker(rng)
        traffic = Traffic(rng, [], Signals(1.0, {}), self.still(rng, people))
        aside = 0.0 if standard else rng.uniform(-0.3, 0.3)
        camera = camera or Camera(size, (0, 0, 70), aside, 0.50, 0.63 * size[0])
        clear = dataclasses.replace(palette.MOODS[mood], reach=palette.MOODS[mood].reach * 3.5)
        super().__init__(camera, clear, traffic)
        for _ in range(people):
            self.send(rng, traffic)
        self.finish(lambda: self.paint(town))
        self.add_furniture(rng)
        for _ in range(round(warm / 0.2)):
            traffic.step(0.2)

    # --- objects

    def way(self, rng):
        """Return a straight way over the square that keeps off the fountain, stalls and tables."""
        while True:
            start = np.array((rng.uniform(-88, 88), rng.uniform(NEAR + 24, FAR - 20)))
            angle, long = rng.uniform(0, 6.28), rng.uniform(50, 130)
            end = start + long * np.array((np.cos(angle), 0.8 * np.sin(angle)))
            path = start + (end - start) * np.linspace(0, 1, 60)[:, None]
            if np.abs(path[:, 0]).max() > 90 or path[:, 1].min() < NEAR + 20 or \
                    path[:, 1].max() > FAR - 8:
                continue
            if all(np.hypot(*(path - at).T).min() > far for at, far in obstacles()):
                return Route([start, end])

    def send(self, rng, traffic):
        """Put a person on a way: alone, in company, with a dog, or on a bicycle."""
        route, make, dice = self.way(rng), self.make, rng.random()
        first = make.cycle("bicycle") if dice < 0.05 else make.person((0, 0), 0.0)
        wish, party = rng.uniform(0.9, 1.7) * (3 if dice < 0.05 else 1), ()
        if 0.1 < dice < 0.4:
            party = tuple((make.person((0, 0), 0.0), rng.uniform(-.4, .4), .8 * (i + 1))
                          for i in range(rng.integers(1, 4)))
        elif 0.4 < dice < 0.47:
            party = ((make.dog((0, 0), 0.0), 1.1, .5),)
        mover = Mover(first, route, rng.uniform(0, 0.8) * route.length, wish, wish, 0.0, party)
        traffic.movers.append(mover)
        traffic.put(mover, 0.01, 0.01)

    def still(self, rng, people):
        """Return people around stalls, tables and the fountain."""
        out, make = [], self.make
        for x, y in STALLS + PARASOLS:
            for _ in range(rng.integers(2, 6) * people // 330):
                angle, far = rng.uniform(3.3, 6.1), rng.uniform(3.0, 4.4)
                at = (x + far * np.cos(angle), y + far * np.sin(angle))
                out.append(make.person(at, np.arctan2(y - at[1], x - at[0]), "stand", 0.0))
        for _ in range(26 * people // 330):
            angle = rng.uniform(0, 6.28)
            at = (FOUNTAIN[0] + 15.2 * np.cos(angle), FOUNTAIN[1] + 15.2 * np.sin(angle))
            out.append(make.person(at, angle + rng.choice((0, np.pi)),
                       rng.choice(("stand", "call")), 0.0))
        for _ in range(9):
            at = (rng.uniform(-80, 80), rng.uniform(90, 260))
            out.append(make.dog(at, rng.uniform(0, 6.28), 0.0))
        return out

    # --- scenery

    def paint(self, town):
        """Draw all scenery under the objects."""
        canvas, camera, mood = self.canvas, self.camera, self.mood
        rng = np.random.default_rng([int(self.make.rng.integers(1 << 30)), 6])
        horizon = camera.horizon()
        sky.draw_sky(canvas, horizon, mood, rng)
        sky.draw_hills(canvas, horizon, mood, rng)
        self.paint_ground(Ground(canvas, camera, mood))
        sky.draw_ground_haze(canvas, camera, horizon, mood)
        mason = Mason(canvas, camera, mood)
        for house in self.houses(rng, town):
            mason.house(house)
        canvas.haze_part = 0

    def houses(self, rng, town):
        """Yield the houses around the square, far ones first."""
        rows = [((-420 + 20 * i, FAR + 14 + far), (1, 0), (0, -1), 840 - 40 * i)
                for i, far in enumerate((260, 215, 175, 140, 108, 78, 50, 24))]
        rows += [((sign * away, FAR + 40), (0, -1), (-sign, 0), 290) for sign in (-1, 1)
                 for away in (260, 232, 204, 178, 152)]
        rows = rows if town else []
        rows += [((-170, FAR + 2), (1, 0), (0, -1), 340), ((-122, FAR + 5), (0, -1), (1, 0), 240),
                ((122, FAR + 5), (0, -1), (-1, 0), 240)]
        for start, along, out, long in rows:
            place = 0.0
            while place < long - 8:
                wide = rng.uniform(11, 16)
                flat = np.array(start, float) + np.array(along) * place
                front = Wall(flat, np.array(along, float), np.array(out, float), wide - .1)
                yield make_house(rng, front, 13.0)
                place += wide

    def paint_ground(self, ground):
        """Draw the paving: bands, rings around the fountain, beds of grass."""
        ground.rectangle(-6000, -60, 6000, 9000, GRASS)
        ground.rectangle(-WIDE - 30, -60, WIDE + 30, FAR + 14, PAVING)
        for y in np.arange(20, FAR, 9.0):
            ground.rectangle(-122, y, 122, y + .5, dim(PAVING, 0.84), 0.8)
        for x in np.arange(-117, 118, 9.0):
            ground.rectangle(x, 20, x + .5, FAR, dim(PAVING, 0.84), 0.8)
        turns = np.linspace(0, 6.2832, 90)
        x, y, radius = FOUNTAIN
        for part, colour in ((3.3, dim(PAVING, 0.88)), (3.1, mix(PAVING, rgb("d7a98a"), 0.6)),
                             (2.3, dim(PAVING, 0.85)), (2.15, mix(PAVING, (1, 1, 1), 0.3)),
                             (1.0, rgb("b9b2a6")), (0.93, rgb("6fb2cf")), (0.45, rgb("a9d5e2"))):
            ground.polygon([(x + part * radius * np.cos(a), y + part * radius * np.sin(a))
                            for a in turns], colour)
        for sign in (-1, 1):
            ground.rectangle(sign * 98 - 11, 80, sign * 98 + 11, 252, dim(PAVING, 0.86))
            for low in (82, 140, 198):
                ground.rectangle(sign * 98 - 9.5, low, sign * 98 + 9.5, low + 52, GRASS)

    def add_furniture(self, rng):
        """Stand the fountain's column, stalls, parasols, trees and lamps."""
        kit = Furniture(self.camera, self.mood)
        x, y, _ = FOUNTAIN
        self.add_prop((x, y), lambda c: fountain(kit, c, x, y))
        for i, (px, py) in enumerate(STALLS):
            colour = palette.AWNINGS[i % 5]
            self.add_prop((px, py), lambda c, a=(px, py, colour): stall(kit, c, *a))
        for i, (px, py) in enumerate(PARASOLS):
            colour = palette.AWNINGS[(i * 2) % 5]
            self.add_prop((px, py), lambda c, a=(px, py, colour): parasol(kit, c, *a))
        for tx, ty in TREES:
            seed, size = int(rng.integers(1 << 30)), rng.uniform(1.4, 1.9)
            colour = palette.LEAVES[rng.integers(5)]
            self.add_prop((tx, ty), lambda c, a=(tx, ty, size, colour), s=seed:
                          kit.tree(c, *a, np.random.default_rng(s)))
            turns = np.linspace(0, 6.28, 14)[:-1]
            if not self.mood.wet:
                self.still_shadow(cast([(tx + 3 * np.cos(a), ty + 2 * np.sin(a), 6 + 2 * np.sin(a))
                                        for a in turns], self.mood.sun))
        for lx in (-30, 30):
            for ly in (100, 140, 190, 240):
                self.add_prop((lx, ly), lambda c, a=(lx, ly): kit.lamp(c, *a, 1))


def obstacles():
    """Return what people walk around: centres and distances in metres."""
    return [((FOUNTAIN[0], FOUNTAIN[1]), 17.0)] + [(at, 5.5) for at in STALLS] + [
        (at, 5.0) for at in PARASOLS]


def fountain(kit, canvas, x, y):
    """Draw the fountain's column and water."""
    stone = rgb("cfc8ba")
    kit.line(canvas, [(x, y, 0), (x, y, 4.5)], 1.4, stone)
    kit.line(canvas, [(x - 3, y, 3.2), (x + 3, y, 3.2)], 0.9, stone)
    kit.line(canvas, [(x - 1.5, y, 5.2), (x + 1.5, y, 5.2)], 0.7, stone)
    for side in (-1, 1):
        for reach in (2.6, 4.6):
            kit.line(canvas, [(x, y, 5.6), (x + side * reach * .5, y, 6.4),
                     (x + side * reach, y, 0.6)], 0.22, rgb("d8eef5"))


def stall(kit, canvas, x, y, colour):
    """Draw a market stall with a striped roof."""
    kit.box(canvas, (x - 2.6, y - 1.2, 0), (x + 2.6, y + 1.2, 1.1), rgb("a9774f"))
    for sx in (-2.7, 2.7):
        kit.line(canvas, [(x + sx, y - 1.6, 0), (x + sx, y - 1.6, 2.8)], 0.14, rgb("8a6a4c"))
    for i in range(8):
        a, b = x - 3.2 + .8 * i, x - 2.4 + .8 * i
        paint = colour if i % 2 == 0 else rgb("f7f0e1")
        for points in ([(a, y + 2, 2.9), (b, y + 2, 2.9), (b, y, 3.7), (a, y, 3.7)],
                       [(a, y - 2.2, 2.8), (b, y - 2.2, 2.8), (b, y, 3.7), (a, y, 3.7)]):
            corners = kit.camera.polygon(np.array(points))
            canvas.polygon(
    corners.tolist(), dim(
        paint, kit.mood.ambient[1] + .62 * kit.mood.light[1]), edge=.6)


def parasol(kit, canvas, x, y, colour):
    """Draw a table under a parasol."""
    kit.box(canvas, (x - .8, y - .8, 0.7), (x + .8, y + .8, 0.78), rgb("efe6d6"))
    kit.line(canvas, [(x, y, 0), (x, y, 2.9)], 0.12, rgb("8a6a4c"))
    turns = np.linspace(0, 6.2832, 9)
    for i, (a, b) in enumerate(zip(turns, turns[1:])):
        points = [(x, y, 3.3), (x + 2.1 * np.cos(a), y + 2.1 * np.sin(a), 2.5),
                  (x + 2.1 * np.cos(b), y + 2.1 * np.sin(b), 2.5)]
        paint = dim(colour if i % 2 else rgb("f7f0e1"),
     kit.mood.ambient[1] + .55 * kit.mood.light[1])
        canvas.polygon(kit.camera.polygon(np.array(points)).tolist(), paint, edge=.6)
