# SPDX-License-Identifier: LGPL-2.1-or-later
"""Objects of the town: their state, their footprint, and how each kind is drawn."""
import dataclasses
import math

import numpy as np

from . import cycles, dogs, font, paintwork, palette, people, vehicles
from .solids import placed

CLASSES = ("person", "bicycle", "motorcycle", "car", "van", "bus", "truck", "dog")
LABEL = {name: index for index, name in enumerate(CLASSES)}
VEHICLES = ("car", "van", "bus", "truck")
FOOT = {"person": (0.5, 0.6, 1.8), "bicycle": (1.8, 0.5, 1.1), "motorcycle": (2.1, 0.7, 1.2),
        "dog": (1.1, 0.3, 0.8)}
STEPS = 2.1    # radians of the gait per metre


@dataclasses.dataclass
class Actor:
    """An object of the town."""
    kind: str
    identity: int
    position: np.ndarray
    heading: float
    model: str = ""          # of a vehicle
    colour: str = ""
    second: tuple = (1, 1, 1)
    plate: str = ""
    look: people.Look | None = None
    pose: str = "walk"
    phase: float = 0.0
    speed: float = 0.0
    rider: "Actor | None" = None
    parked: bool = False

    def size(self):
        """Return length, width and height in metres."""
        if self.kind in VEHICLES:
            model = vehicles.models()[self.model]
            return model.length, model.width, model.height
        return FOOT[self.kind]

    def corners(self):
        """Return the corners of its footprint, 4 x 2."""
        length, width, _ = self.size()
        half = [(length / 2, width / 2), (-length / 2, width / 2), (-length / 2, -width / 2),
                (length / 2, -width / 2)]
        return placed([(x, y, 0) for x, y in half], self.position, self.heading)[:, :2]

    def solid(self):
        """Return points around which its shadow is cast, N x 3."""
        length, width, height = self.size()
        narrow = 0.8 if self.kind == "car" else 1.0
        points = [(sx * length / 2 * part * (1 if z == 0 else narrow), sy * width / 2 * part, z)
                  for z, part in ((0.0, 0.98), (height * 0.97, 0.86 if self.kind == "car" else 1))
                  for sx in (-1, 1) for sy in (-1, 1)]
        return placed(points, self.position, self.heading)

    def points(self):
        """Return a person's points in the world."""
        return people.world_points(self, self.pose, self.phase, self.speed)

    def along(self, ahead, up):
        """Return the position this far ahead and up, as x, y, z."""
        return np.array((self.position[0] + ahead * math.cos(self.heading),
                         self.position[1] + ahead * math.sin(self.heading), up))


class Maker:
    """Makes objects with an identity of their own each."""

    def __init__(self, rng):
        self.rng, self.count = rng, 0

    def identity(self):
        """Return the next identity."""
        self.count += 1
        return self.count

    def any_of(self, values):
        """Return one of some values."""
        return values[self.rng.integers(len(values))]

    def person(self, position, heading, pose="walk", speed=1.3):
        """Return a person with random clothes."""
        return Actor("person", self.identity(), np.array(position, float), heading, pose=pose,
                     look=people.make_look(self.rng), phase=self.rng.uniform(0, 6.28), speed=speed)

    def dog(self, position, heading, speed=1.2):
        """Return a dog."""
        return Actor("dog", self.identity(), np.array(position, float), heading, speed=speed,
                     second=self.any_of(palette.FUR), phase=self.rng.uniform(0, 6.28))

    def vehicle(self, model, position=(0, 0), heading=0.0):
        """Return a vehicle of a model in a random colour."""
        kind = vehicles.models()[model].kind
        colours = {"bus": ("red", "blue", "green", "orange", "yellow"),
                   "truck": ("white", "blue", "red", "orange", "green", "grey")}
        return Actor(kind, self.identity(), np.array(position, float), heading, model=model,
                     colour=self.any_of(colours.get(kind, palette.COLOURS)),
                     second=(palette.rgb("f4efe2") if kind == "bus" else
                             self.any_of(palette.AWNINGS)),
                     plate=font.plate_text(self.rng))

    def cycle(self, kind, position=(0, 0), heading=0.0, ridden=True):
        """Return a bicycle or motorcycle, with a rider if it is ridden."""
        out = Actor(kind, self.identity(), np.array(position, float), heading,
                    colour=self.any_of(palette.COLOURS), phase=self.rng.uniform(0, 6.28))
        if ridden:
            out.rider = self.person(position, heading, "ride")
            hat = out.rider.look.hat or self.any_of(palette.CLOTHES)
            out.rider.look = dataclasses.replace(out.rider.look, coat=0.0, skirt=False, scale=1.0,
                                                 hat=hat if kind == "motorcycle" or
                                                 self.rng.random() < 0.5 else None)
        return out


def seat(cycle):
    """Put a cycle's rider on it."""
    ahead, up = cycles.SEATS[cycle.kind]
    rider = cycle.rider
    rider.position, rider.heading = cycle.along(ahead, up), cycle.heading
    rider.phase = cycle.phase if cycle.kind == "bicycle" else 0.0


def move(actor, position, heading, metres, seconds):
    """Move an actor, with its gait and its rider."""
    actor.position, actor.heading = np.array(position, float), heading
    actor.speed = metres / max(seconds, 1e-6)
    actor.phase += metres * (STEPS if actor.kind != "dog" else 4.2) * (
        1 if actor.look is None else 1.3 / 1.3 / actor.look.scale)
    if actor.kind == "person" and actor.pose in ("walk", "stand"):
        actor.pose = "walk" if actor.speed > 0.15 else "stand"
    if actor.rider:
        seat(actor)


def draw(actor, canvas, camera, mood):
    """Draw an actor; return its keypoints, pixels 17 x 3, and its plate's corners, or None."""
    if actor.kind in VEHICLES:
        return None, paintwork.draw_vehicle(actor, canvas, camera, mood)
    if actor.kind == "person":
        return people.draw_person(actor, canvas, camera, mood, actor.points()), None
    how = {"bicycle": cycles.draw_bicycle, "motorcycle": cycles.draw_motorcycle,
           "dog": dogs.draw_dog}[actor.kind]
    how(actor, canvas, camera, mood)
    return None, None
