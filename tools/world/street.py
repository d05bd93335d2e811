# SPDX-License-Identifier: LGPL-2.1-or-later
"""The street: two lanes, a cycle lane, parked cars, pavements with shops, and a crossing ahead."""
import numpy as np

from . import palette, sky
from .actors import Maker
from .camera import Camera
from .furniture import Furniture
from .ground import Ground
from .houses import Mason, Wall, make_house
from .palette import ASPHALT, CYCLE_LANE, GRASS, KERB, MARKING, PAVING
from .scene import Scene
from .solids import cast, hull
from .streetplan import (CROSS, CROSS_HALF, FAR, LANE_AWAY, LANE_CYCLE, LANE_NEAR, LEFT, LEFT_WALL,
                         PARKED_LEFT, PARKED_RIGHT, RIGHT, RIGHT_WALL, ZEBRA, walks)
from .traffic import Flow, Route, Signals, Traffic

CYCLE = 34.0
GREEN = {"road": ((0, 13),), "cross": ((15, 22),), "walk": ((15, 21),), "along": ((0, 9),),
         "zebra": ((15, 22),), "near": ((0, 14), (24, 34)), "away": ((0, 14), (24, 34))}
CAR_MODELS = ("hatchback", "hatchback", "saloon", "estate", "suv", "hatchback", "van")


def street_camera(rng, size, standard):
    """Return a camera on a post beside the street; standard: the one of the project's pictures."""
    width, height = size
    if standard:
        return Camera(size, (-4.6, -2.0, 5.4), 0.16, 0.2, 0.83 * width)
    side = rng.choice((-1, 1), p=(0.6, 0.4))
    at = (side * rng.uniform(1.5, 7.5), rng.uniform(-4, 4), rng.uniform(3.6, 7.5))
    yaw = -side * rng.uniform(0.0, 0.5) + rng.uniform(-0.05, 0.05)
    return Camera(size, at, yaw, rng.uniform(0.12, 0.34), rng.uniform(0.65, 1.25) * width)


class Street(Scene):
    """A street camera's view."""

    def __init__(self, seed, mood="day", size=(1280, 720), standard=True, crowd=1.0, warm=45.0):
        """Create the street; crowd: how busy it is. warm: seconds before the first frame."""
        rng = np.random.default_rng([seed, 1])
        self.make = Maker(rng)
        self.signals = Signals(CYCLE, GREEN)
        traffic = Traffic(rng, self.flows(rng, crowd), self.signals, self.still(rng, crowd))
        super().__init__(street_camera(rng, size, standard), palette.MOODS[mood], traffic)
        self.rng = rng
        self.houses = list(self.build(rng))
        self.finish(self.paint)
        self.add_blocks()
        self.add_furniture(rng)
        for _ in range(round(warm / 0.2)):
            traffic.step(0.2)

    # --- objects

    def flows(self, rng, crowd):
        """Return the routes, with the interval between entries."""
        away = Route([(LANE_AWAY, -25), (LANE_AWAY, FAR)],
                     [(25 + ZEBRA - 2.6, "away"), (25 + CROSS - CROSS_HALF - 4.6, "road")])
        near = Route([(LANE_NEAR, FAR), (LANE_NEAR, -25)],
                     [(FAR - CROSS - CROSS_HALF - 4.6, "road"), (FAR - ZEBRA - 2.6, "near")])
        east = Route([(-70, CROSS - 1.9), (70, CROSS - 1.9)], [(70 - 11.5, "cross")])
        west = Route([(70, CROSS + 1.9), (-70, CROSS + 1.9)], [(70 - 12.0, "cross")])
        cycle = Route([(LANE_CYCLE, -20), (LANE_CYCLE, FAR)],
                      [(20 + ZEBRA - 2.2, "away"), (20 + CROSS - CROSS_HALF - 4, "road")])
        out = [Flow(away, self.any_vehicle, 6.5 / crowd), Flow(near, self.any_vehicle, 5.5 / crowd),
               Flow(east, self.any_vehicle, 6.5 / crowd), Flow(west, self.any_vehicle, 6.0 / crowd),
               Flow(cycle, self.any_cycle, 7.0 / crowd)]
        return out + [Flow(route, self.walker, every / crowd) for route, every in walks(rng)]

    def any_vehicle(self):
        """Return a vehicle that enters: its actor, speed, metres aside, and no party."""
        rng = self.make.rng
        wish, dice = rng.uniform(8.5, 12.5), rng.random()
        if dice < 0.1:
            return self.make.cycle("motorcycle"), wish, rng.uniform(-.4, .4), ()
        name = "bus" if dice < 0.2 else "truck" if dice < 0.3 else "van" if dice < 0.42 else \
            self.make.any_of(CAR_MODELS)
        return self.make.vehicle(name), wish * (0.85 if name == "bus" else 1), 0.0, ()

    def any_cycle(self):
        """Return a bicycle that enters."""
        return self.make.cycle("bicycle"), self.make.rng.uniform(3.6, 5.6), 0.0, ()

    def walker(self):
        """Return a person that enters on foot, perhaps with others or a dog."""
        rng, make = self.make.rng, self.make
        first, wish, aside = make.person((0, 0), 0.0), rng.uniform(1.0, 1.7), rng.uniform(-.9, .9)
        party = ()
        if rng.random() < 0.28:
            party = ((make.person((0, 0), 0.0), rng.uniform(-.3, .3), rng.choice((-.75, .75))),)
        elif rng.random() < 0.16:
            party = ((make.dog((0, 0), 0.0), 1.1, rng.choice((-.5, .5))),)
        return first, wish, aside, party

    def still(self, rng, crowd):
        """Return what is parked or stands."""
        out, make = [], self.make
        for x, y1, y2, heading in ((PARKED_LEFT, 3, 13, -1.57), (PARKED_LEFT, 22, 34, -1.57),
                                   (PARKED_LEFT, 47, 120, -1.57), (PARKED_RIGHT, 1, 13, 1.57),
                                   (PARKED_RIGHT, 21.5, 34, 1.57), (PARKED_RIGHT, 47, 120, 1.57)):
            y = y1 + rng.uniform(1, 3)
            while y < y2 - 2.5:
                if rng.random() < 0.72:
                    out.append(make.vehicle(make.any_of(CAR_MODELS),
                                            (x + rng.uniform(-.12, .12), y), heading
                                            + rng.uniform(-.02, .02)))
                    out[-1].parked = True
                y += rng.uniform(5.6, 7.2)
        for _ in range(round(3 * crowd)):
            x = rng.choice((LEFT - 1.0, RIGHT + 1.0)) + rng.uniform(-.2, .2)
            out.append(make.cycle("bicycle", (x, rng.uniform(6, 34)), rng.uniform(1.2, 1.9),
                                  False))
        for _ in range(round(4 * crowd)):
            out += self.group(rng)
        return out

    def group(self, rng):
        """Return one to three people who stand together."""
        x = rng.choice((rng.uniform(LEFT_WALL + 1.5, LEFT - .9),
                        rng.uniform(RIGHT + .9, RIGHT_WALL - 1.4)))
        y, count = rng.uniform(7, 34), rng.integers(1, 4)
        turn, out = rng.uniform(0, 6.28), []
        for i in range(count):
            angle = turn + i * 6.28 / max(count, 2)
            at = (x + .55 * np.cos(angle), y + .55 * np.sin(angle))
            out.append(self.make.person(at, angle + np.pi + rng.uniform(-.4, .4),
                                        rng.choice(("stand", "stand", "call")), 0.0))
        if rng.random() < 0.25:
            out.append(self.make.dog((x + 1.0, y), rng.uniform(0, 6.28), 0.0))
        return out

    # --- scenery

    def build(self, rng):
        """Return the houses of both sides."""
        for wall, out in ((LEFT_WALL, 1.0), (RIGHT_WALL, -1.0)):
            for y1, y2 in ((-14, CROSS - CROSS_HALF - 3.5), (CROSS + CROSS_HALF + 3.5, FAR)):
                y = y1
                while y < y2 - 5:
                    long = min(rng.uniform(7, 11.5), y2 - y)
                    if y2 - y - long < 5:
                        long = y2 - y
                    front = Wall(np.array((wall, y)), np.array((0.0, 1.0)), np.array((out, 0.0)),
                                 long - 0.05)
                    yield make_house(rng, front, 9.0)
                    y += long

    def paint(self):
        """Draw all scenery under the objects."""
        canvas, camera, mood = self.canvas, self.camera, self.mood
        rng = np.random.default_rng([int(self.make.rng.integers(1 << 30)), 2])
        horizon = camera.horizon()
        sky.draw_sky(canvas, horizon, mood, rng)
        sky.draw_hills(canvas, horizon, mood, rng)
        self.paint_ground(Ground(canvas, camera, mood), rng)
        canvas.haze_part = 0
        sky.draw_ground_haze(canvas, camera, horizon, mood)
        mason = Mason(canvas, camera, mood)
        eye = camera.position[1]
        for house in sorted(self.houses, key=lambda h: -abs(h.front.start[1] - eye)):
            mason.house(house)
        canvas.haze_part = 0
        self.house_shadows()

    def add_blocks(self):
        """Let the nearer houses hide what passes behind them on the other road."""
        end = CROSS - CROSS_HALF - 3.6
        for wall, back in ((LEFT_WALL, LEFT_WALL - 60), (RIGHT_WALL, RIGHT_WALL + 60)):
            mine = [h for h in self.houses if h.front.start[0] == wall and h.front.start[1] < end]

            def paint(canvas, mine=mine):
                mason = Mason(canvas, self.camera, self.mood)
                for house in sorted(mine, key=lambda h: -h.front.start[1]):
                    mason.house(house)
            feet = [(wall, -14), (wall, end), (back, end), (back, -14)]
            self.add_prop((wall, end), paint, feet)

    def house_shadows(self):
        """Add the shadows of the houses, kept off the other side."""
        sun = np.array(self.mood.sun)
        if self.mood.wet:
            return
        for house in self.houses:
            if (house.front.out @ sun[:2]) > 0:
                continue
            reach = 7.0 * sun[2] / max(0.15, np.hypot(*sun[:2]))
            points = [house.front.at(a, z, -0.2) for a in (0, house.front.length)
                      for z in (0, reach)]
            self.still_shadow([(x, y, 0) for x, y in hull(cast(points, self.mood.sun))])

    def paint_ground(self, ground, rng):
        """Draw roads, pavements and markings."""
        wide, low = 400, CROSS - CROSS_HALF
        ground.rectangle(-wide, -30, wide, 900, GRASS)
        ground.rectangle(LEFT_WALL - 60, -30, RIGHT_WALL + 60, FAR + 10, PAVING)
        ground.joints(LEFT_WALL, LEFT, -5, 60, 1.2)
        ground.joints(RIGHT, RIGHT_WALL, -5, 60, 1.2)
        ground.rectangle(LEFT - .25, -30, RIGHT + .25, FAR + 200, KERB)
        ground.rectangle(-wide, low - .25, wide, CROSS + CROSS_HALF + .25, KERB)
        ground.rectangle(LEFT, -30, RIGHT, FAR + 200, ASPHALT)
        ground.rectangle(-wide, low, wide, CROSS + CROSS_HALF, ASPHALT)
        ground.patches(rng, LEFT + 1, RIGHT - 3, 4, 70, 16)
        for y1, y2 in ((-30, low - 4), (CROSS + CROSS_HALF + 4, FAR)):
            ground.rectangle(3.45, y1, 4.6, y2, CYCLE_LANE)
            ground.dashes(3.42, y1, y2, 1, 1, 0.09)
            ground.dashes(0, y1, y2, 3, 4, 0.14)
            for x in (-4.05, 4.66):
                ground.rectangle(x - .05, y1, x + .05, y2, MARKING, 0.8)
            for y in np.arange(y1 + 2, min(y2, 120), 6.2):
                ground.rectangle(-6.2, y, -4.0, y + .09, MARKING, 0.6)
                ground.rectangle(4.7, y, 6.8, y + .09, MARKING, 0.6)
        ground.rectangle(LEFT, ZEBRA - 1.6, RIGHT, ZEBRA + 1.6, ASPHALT)
        ground.zebra(LEFT, RIGHT, ZEBRA - 1.5, ZEBRA + 1.5)
        for y in (low - 3.4, CROSS + CROSS_HALF + 1.0):
            ground.zebra(LEFT, RIGHT, y, y + 2.4)
        for x in (LEFT - 3.4, RIGHT + 1.0):
            ground.zebra(x, x + 2.4, low, CROSS + CROSS_HALF, False)
        for x1, x2, y in ((0.1, 3.4, low - 4.4), (-3.9, -.1, CROSS + CROSS_HALF + 4.2),
                          (.1, 3.4, ZEBRA - 2.4), (-3.9, -.1, ZEBRA + 2.2)):
            ground.rectangle(x1, y, x2, y + .3, MARKING, 0.95)

    def add_furniture(self, rng):
        """Stand trees, lamps, signals and benches on the pavements."""
        kit, camera = Furniture(self.camera, self.mood), self.camera
        eye, low = camera.position, CROSS - CROSS_HALF
        for x, side in ((LEFT - .8, 1), (RIGHT + .8, -1)):
            for y in (*np.arange(7.5, 34, 8.5), *np.arange(50, 150, 9.5)):
                if abs(y - ZEBRA) < 3 or np.hypot(x - eye[0], y - eye[1]) < 17:
                    continue
                size, colour = rng.uniform(0.85, 1.15), palette.LEAVES[rng.integers(5)]
                seed = int(rng.integers(1 << 30))
                self.add_prop((x, y), lambda c, a=(x, y, size, colour), s=seed:
                              kit.tree(c, *a, np.random.default_rng(s)))
                self.tree_shadow(x, y, size)
            for y in (3.2, ZEBRA + 3.6, 54, 76, 98):
                if np.hypot(x - eye[0], y - eye[1]) > 9:
                    self.add_prop((x, y), lambda c, a=(x, y, side): kit.lamp(c, *a))
        for x, y, side in ((LEFT - .5, low - .9, 1), (RIGHT + .5, low - .9, -1),
                           (LEFT - .5, ZEBRA + 2.2, 1), (RIGHT + .5, ZEBRA - 2.2, -1)):
            self.add_prop((x, y), lambda c, a=(x, y, side): kit.signal(c, *a))
        for x, y in ((LEFT_WALL + .8, 23.0), (RIGHT_WALL - .8, 27.0)):
            self.add_prop((x, y + .8), lambda c, a=(x, y): kit.bench(c, *a))
        for x, y in ((LEFT - 1.0, 21.5), (RIGHT + 1.0, 12.6), (RIGHT + 1.0, 22.4)):
            seed = int(rng.integers(1 << 30))
            self.add_prop((x, y), lambda c, a=(x, y), s=seed:
                          kit.planter(c, *a, np.random.default_rng(s)))
        self.add_prop((RIGHT + .9, 14.2), lambda c: kit.bin(c, RIGHT + .9, 14.2))

    def tree_shadow(self, x, y, size):
        """Add the shadow of a tree."""
        if self.mood.wet:
            return
        turns = np.linspace(0, 6.28, 14)[:-1]
        crown = [(x + 2.0 * size * np.cos(a), y + 1.2 * size * np.sin(a),
                  (3.9 + 1.6 * np.sin(a)) * size) for a in turns]
        self.still_shadow(cast(crown, self.mood.sun))
        trunk = [(x - .12, y, 0), (x + .12, y, 0), (x + .12, y, 3.0), (x - .12, y, 3.0)]
        self.still_shadow(cast(trunk, self.mood.sun))

    def before_objects(self):
        """Draw the signals' lights."""
        self.canvas.haze_part = 0
        for x, y, name in ((RIGHT + .5, CROSS - CROSS_HALF - .9, "road"),
                           (RIGHT + .5, ZEBRA - 2.2, "away")):
            self.light(x, y, self.signals.open(name, self.traffic.time))

    def light(self, x, y, green):
        """Draw the light of a signal that faces the near end of the street."""
        z, colour = (2.55, palette.rgb("4fd08a")) if green else (3.1, palette.LAMP_RED)
        self.lights = getattr(self, "lights", {})
        self.lights[(x, y)] = (z, colour)

    def put_prop(self, prop):
        """Paint scenery over the frame, with a signal's light."""
        super().put_prop(prop)
        for (x, y), (z, colour) in getattr(self, "lights", {}).items():
            if abs(prop.ground[0] - x) < .01 and abs(prop.ground[1] - y) < .01:
                at = self.camera.project(np.array([[x, y - .17, z]]))[0]
                unit = self.camera.focal / at[2]
                if at[2] > 1:
                    self.canvas.disc(at[0], at[1], max(1.0, .11 * unit), colour, True)
                    self.canvas.glow(at[0], at[1], max(3.0, .5 * unit), colour, .5)
