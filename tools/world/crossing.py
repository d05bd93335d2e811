# SPDX-License-Identifier: LGPL-2.1-or-later
"""The crossing: two roads with signals, seen from above."""
import numpy as np

from . import palette
from .actors import Maker
from .camera import Camera
from .furniture import Furniture
from .ground import Ground
from .houses import Mason, Wall, make_house
from .palette import ASPHALT, GRASS, KERB, MARKING, PAVING, dim, mix, rgb
from .scene import Scene
from .solids import cast
from .traffic import Flow, Route, Signals, Traffic, bend

LANE, HALF, PAVED, REACH, STOP = 1.85, 5.2, 9.6, 62.0, 10.4
GREEN = {"north": ((0, 10),), "east": ((16, 26),), "north left": ((11, 14),),
         "east left": ((27, 30),), "walk east": ((16.5, 23),), "walk north": ((0.5, 7),)}
CYCLE = 32.0
CAR_MODELS = ("hatchback", "hatchback", "saloon", "estate", "suv", "saloon", "van")


def crossing_camera(rng, size, standard):
    """Return a camera high above the crossing; standard: the one of the project's pictures."""
    width, height = size
    if standard:
        return Camera(size, (0, -2.0, 90), 0.0, np.pi / 2 - 0.025, width * 90 / 64)
    high, wide = rng.uniform(60, 110), rng.uniform(46, 88)
    at = (rng.uniform(-14, 14), rng.uniform(-12, 12), high)
    return Camera(size, at, rng.uniform(-np.pi, np.pi), np.pi / 2 - rng.uniform(0.01, 0.05),
                  width * high / wide)


def turned(points, quarters):
    """Return points turned counter-clockwise by quarters."""
    for _ in range(quarters):
        points = [(-y, x) for x, y in points]
    return points


class Crossing(Scene):
    """A crossing seen from above; objects have oriented boxes."""

    def __init__(self, seed, mood="day", size=(1280, 720), standard=True, crowd=1.0, warm=30.0):
        """Create the crossing; crowd: how busy it is. warm: seconds before the first frame."""
        rng = np.random.default_rng([seed, 3])
        self.make = Maker(rng)
        traffic = Traffic(rng, self.flows(rng, crowd), Signals(CYCLE, GREEN),
                          self.still(rng, crowd))
        super().__init__(crossing_camera(rng, size, standard), palette.MOODS[mood], traffic)
        self.oriented, self.rng, self.trees = True, rng, self.plant(rng)
        self.finish(self.paint)
        self.add_trees()
        for _ in range(round(warm / 0.2)):
            traffic.step(0.2)

    # --- objects

    def flows(self, rng, crowd):
        """Return the routes, with the interval between entries."""
        out = []
        for quarter in range(4):
            name = "north" if quarter % 2 == 0 else "east"
            along, stop = (LANE, -REACH), REACH - STOP
            straight = [along, (LANE, REACH)]
            right = [along, *bend((LANE, -8), (LANE, -LANE), (8, -LANE)), (REACH, -LANE)]
            left = [along, *bend((LANE, -5.5), (LANE, LANE), (-5.5, LANE)), (-REACH, LANE)]
            cycle = [(4.1, -REACH), (4.1, REACH)]
            for points, every, make, signal in (
                    (straight, 7.0, self.any_vehicle, name), (right, 17.0, self.any_vehicle, name),
                    (left, 21.0, self.any_vehicle, name + " left"),
                    (cycle, 12.0, self.any_cycle, name)):
                route = Route(turned(points, quarter), [(stop, signal)])
                out.append(Flow(route, make, every / crowd))
            out += self.walks(rng, quarter, crowd)
        return out

    def walks(self, rng, quarter, crowd):
        """Return the ways of people along a road's side, over the other road."""
        signal = "walk north" if quarter % 2 == 0 else "walk east"
        out = []
        for x, way in ((7.4, 1), (8.3, -1)):
            shift = rng.uniform(-.3, .3)
            points = [(x + shift, -way * REACH * 0.75), (x + shift, way * REACH * 0.75)]
            stop = REACH * 0.75 - HALF - 0.9
            out.append(Flow(Route(turned(points, quarter), [(stop, signal)]), self.walker,
                            7.5 / crowd))
        return out

    def any_vehicle(self):
        """Return a vehicle that enters."""
        rng = self.make.rng
        wish, dice = rng.uniform(7.0, 10.0), rng.random()
        if dice < 0.1:
            return self.make.cycle("motorcycle"), wish, 0.0, ()
        name = "bus" if dice < 0.19 else "truck" if dice < 0.29 else "van" if dice < 0.4 else \
            self.make.any_of(CAR_MODELS)
        return self.make.vehicle(name), wish, 0.0, ()

    def any_cycle(self):
        """Return a bicycle that enters."""
        return self.make.cycle("bicycle"), self.make.rng.uniform(3.4, 5.2), 0.0, ()

    def walker(self):
        """Return a person that enters on foot, perhaps with others or a dog."""
        rng, make = self.make.rng, self.make
        first, wish = make.person((0, 0), 0.0), rng.uniform(1.0, 1.6)
        party = ()
        if rng.random() < 0.25:
            party = ((make.person((0, 0), 0.0), rng.uniform(-.3, .3), rng.choice((-.8, .8))),)
        elif rng.random() < 0.2:
            party = ((make.dog((0, 0), 0.0), 1.2, rng.choice((-.5, .5))),)
        return first, wish, rng.uniform(-.5, .5), party

    def still(self, rng, crowd):
        """Return parked cars and bicycles, and people who stand."""
        out, make = [], self.make
        for x in (-24.5, -21.6, -18.7, -15.8, 17.0, 19.9, 22.8, 25.7, 28.6):
            if rng.random() < 0.75 * min(1, crowd):
                y = 15.2 if x < 0 else -15.2
                out.append(make.vehicle(make.any_of(CAR_MODELS), (x, y + rng.uniform(-.2, .2)),
                                        rng.choice((-1, 1)) * np.pi / 2 + rng.uniform(-.04, .04)))
                out[-1].parked = True
        for _ in range(round(5 * crowd)):
            at = (rng.choice((-1, 1)) * rng.uniform(11, 30), rng.choice((-9.2, 9.2)))
            out.append(make.cycle("bicycle", at, rng.uniform(1.2, 1.9), False))
        for _ in range(round(9 * crowd)):
            at = (rng.choice((-1, 1)) * rng.uniform(8, 30),
                  rng.choice((-1, 1)) * rng.uniform(7, 11))
            out.append(make.person(at, rng.uniform(0, 6.28), rng.choice(("stand", "call")), 0.0))
        return out

    # --- scenery

    def plant(self, rng):
        """Return the trees: x, y, size and colour."""
        out = []
        for x, y in ((14, 13), (22, 17), (30, 12.5), (36, 20), (17, 24), (27, 25), (-13, -13.2),
                     (-21, -13.2), (-29, -13.2), (-37, -13.2), (13.5, -21), (13.5, -28),
                     (-12.8, 21), (-12.8, 29), (12, 35), (44, 12), (-44, -13)):
            out.append((x + rng.uniform(-1, 1), y + rng.uniform(-1, 1), rng.uniform(0.8, 1.2),
                        palette.LEAVES[rng.integers(5)]))
        return out

    def paint(self):
        """Draw all scenery under the objects."""
        ground = Ground(self.canvas, self.camera, self.mood)
        rng = np.random.default_rng([int(self.make.rng.integers(1 << 30)), 4])
        self.paint_blocks(ground)
        self.paint_roads(ground, rng)
        mason = Mason(self.canvas, self.camera, self.mood)
        for start, along, out, long in (((-46, -18), (1, 0), (0, 1), 32),
                                        ((-46, 21), (1, 0), (0, -1), 30),
                                        ((46, -19.5), (-1, 0), (0, 1), 29)):
            x = 0.0
            while x < long - 6:
                wide = min(rng.uniform(7, 10), long - x)
                flat = np.array(start, float) + np.array(along) * x
                front = Wall(flat, np.array(along, float), np.array(out, float), wide - 0.1)
                house = make_house(rng, front, 8.5)
                mason.house(house)
                self.still_shadow(cast([front.at(a, z, o) for a, z, o in
                                        ((0, 0, 0), (wide, 0, 0), (wide, 5, 0), (0, 5, 0))],
                                       self.mood.sun))
                x += wide
        self.canvas.haze_part = 0

    def paint_blocks(self, ground):
        """Draw pavements, the park, car parks and gardens."""
        ground.rectangle(-90, -90, 90, 90, PAVING)
        for step in np.arange(-60, 60, 1.5):
            ground.rectangle(-60, step, 60, step + .04, dim(PAVING, 0.8), 0.5)
            ground.rectangle(step, -60, step + .04, 60, dim(PAVING, 0.8), 0.5)
        ground.rectangle(PAVED + 1, PAVED + 1, 90, 90, GRASS)
        for points in ([(10, 12.6), (12.6, 10), (48, 44), (45, 47)],
                       [(10, 30), (10, 27.5), (60, 19), (60, 21.5)]):
            ground.polygon(points, mix(PAVING, rgb("d9c49a"), 0.6))
        turns = np.linspace(0, 6.28, 30)
        for radius, colour in ((5.0, mix(PAVING, rgb("d9c49a"), 0.6)),
                               (3.0, rgb("d8d3c8")), (2.6, rgb("7fb7cf"))):
            ground.polygon([(25 + radius * np.cos(a), 24.5 + radius * np.sin(a))
                           for a in turns], colour)
        ground.rectangle(-27, 12.2, -14, 18.4, ASPHALT)
        ground.rectangle(15.3, -18.4, 30.4, -12.2, ASPHALT)
        for x in np.arange(-26, -13, 2.9):
            ground.rectangle(x - .06, 12.6, x + .06, 18, MARKING, 0.8)
        for x in np.arange(15.5, 31, 2.9):
            ground.rectangle(x - .06, -18, x + .06, -12.6, MARKING, 0.8)
        ground.rectangle(-40, -17.6, -10.6, -12.0, GRASS)

    def paint_roads(self, ground, rng):
        """Draw the roads and their markings."""
        ground.rectangle(-HALF - .3, -90, HALF + .3, 90, KERB)
        ground.rectangle(-90, -HALF - .3, 90, HALF + .3, KERB)
        ground.rectangle(-HALF, -90, HALF, 90, ASPHALT)
        ground.rectangle(-90, -HALF, 90, HALF, ASPHALT)
        ground.patches(rng, -4, 3, -40, 40, 10)
        for sign in (-1, 1):
            low, high = sorted((sign * (HALF + 1.0), sign * (HALF + 4.2)))
            ground.zebra(-HALF, HALF, low, high)
            ground.zebra(low, high, -HALF, HALF, False)
        for quarter in range(4):
            for y in np.arange(STOP + 1, 60, 6):
                self.mark(ground, quarter, -.07, y, .07, y + 3)
            self.mark(ground, quarter, -3.3, STOP - .6, -.1, STOP - .1)
            for x in (-3.45, 3.45):
                self.mark(ground, quarter, x - .05, STOP - .6, x + .05, 70)

    def mark(self, ground, quarter, x1, y1, x2, y2):
        """Draw a marking of one arm of the crossing, turned from the northern one."""
        ground.polygon(turned([(x1, y1), (x2, y1), (x2, y2), (x1, y2)], quarter), MARKING, 0.92)

    def add_trees(self):
        """Stand trees whose crowns hide what is under them, and their shadows."""
        kit = Furniture(self.camera, self.mood)
        for x, y, size, colour in self.trees:
            seed = int(self.rng.integers(1 << 30))
            self.add_prop((x, y), lambda c, a=(x, y, size, colour), s=seed:
                          kit.tree(c, *a, np.random.default_rng(s)))
            turns = np.linspace(0, 6.28, 16)[:-1]
            crown = [(x + 2.2 * size * np.cos(a), y + 2.2 * size * np.sin(a), 1.5) for a in turns]
            if not self.mood.wet:
                self.still_shadow(cast(crown, self.mood.sun))

    def arranged(self, shown):
        """Return actors by their height, then trees."""
        rest = [actor for actor in shown if actor.pose != "ride"]
        rank = {"dog": 0, "bicycle": 1, "person": 2, "motorcycle": 3}
        return sorted(rest, key=lambda a: (rank.get(a.kind, 4), a.size()[2])) + self.props
