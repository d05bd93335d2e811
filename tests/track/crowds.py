# SPDX-License-Identifier: LGPL-2.1-or-later
"""Crowds with known identities: people of a picture of 1920x1080 who walk and turn, hide each
other, come and go; and what a detector finds of them."""
import dataclasses
import math
import random

WIDTH, HEIGHT = 1920, 1080


@dataclasses.dataclass
class Scene:
    name: str
    fps: float = 30
    people: int = 25
    seconds: float = 20
    turn: float = 0.6      # radians per second, at most
    speed: float = 120     # pixels per second, at most
    miss: float = 0.05     # part of the boxes that is missing
    weak: float = 0.1      # part with a low score
    alarms: float = 0.5    # false boxes per frame
    flip: float = 0.05     # part with a wrong class
    drop: int = 0          # every frame of that many is missing; 0: none is


SCENES = [
    Scene('30 frames per second'),
    Scene('60 frames per second', fps=60, seconds=12),
    Scene('10 frames per second', fps=10, seconds=40),
    Scene('5 frames per second', fps=5, seconds=60),
    Scene('every third frame missing', drop=3),
    Scene('crowded', people=60, seconds=12),
    Scene('sharp turns', turn=3, speed=250),
    Scene('bad detector', miss=0.2, weak=0.3, alarms=3),
]


class Person:
    def __init__(self, number, scene, dice):
        self.number, self.h = number, dice.uniform(90, 200)
        self.w = self.h * dice.uniform(0.35, 0.5)
        self.x, self.y = dice.uniform(0, WIDTH), dice.uniform(self.h, HEIGHT)
        self.angle, self.turn = dice.uniform(0, 2 * math.pi), dice.uniform(-scene.turn, scene.turn)
        self.speed = dice.uniform(0.2, 1) * scene.speed

    def walk(self, seconds):
        self.angle += self.turn * seconds
        self.x += self.speed * seconds * math.cos(self.angle)
        self.y += self.speed * seconds * math.sin(self.angle) / 2

    def box(self):
        return self.x - self.w / 2, self.y - self.h, self.x + self.w / 2, self.y

    def is_gone(self):
        return not (-self.w < self.x < WIDTH + self.w and 0 < self.y < HEIGHT + self.h)


def hidden(box, other):
    """Returns the part of a box that another one covers."""
    w = min(box[2], other[2]) - max(box[0], other[0])
    h = min(box[3], other[3]) - max(box[1], other[1])
    return max(w, 0) * max(h, 0) / ((box[2] - box[0]) * (box[3] - box[1]))


def found(box, scene, dice, cover):
    """Returns what a detector finds: x1, y1, x2, y2, score, class; None if it misses the box."""
    lost = scene.miss + (0.9 if cover > 0.7 else 0.3 if cover > 0.5 else 0)
    if dice.random() < lost:
        return None
    weak = scene.weak + (0.6 if cover > 0.3 else 0)
    score = dice.uniform(0.15, 0.55) if dice.random() < weak else dice.uniform(0.65, 0.97)
    noise = 0.02 * (box[3] - box[1])
    x1, y1, x2, y2 = (edge + dice.gauss(0, noise) for edge in box)
    return x1, y1, x2, y2, score, int(dice.random() < scene.flip)


def frames_of(scene, seed=1):
    """Yields seconds, [(number, box)] of the truth, and the boxes of a detector."""
    dice = random.Random(seed)
    people = [Person(i, scene, dice) for i in range(scene.people)]
    count = scene.people
    for i in range(int(scene.seconds * scene.fps)):
        for k, person in enumerate(people):
            person.walk(1 / scene.fps)
            if person.is_gone():
                people[k] = Person(count, scene, dice)
                count += 1
        truth, boxes = [], []
        for person in people:
            box = person.box()
            cover = max((hidden(box, other.box()) for other in people if other.y > person.y),
                        default=0)
            if cover < 0.8:
                truth.append((person.number, box))
            boxes.append(found(box, scene, dice, cover))
        boxes = [box for box in boxes if box is not None]
        alarms = int(scene.alarms + dice.random())
        for _ in range(alarms):
            person = Person(-1, scene, dice)
            boxes.append((*person.box(), dice.uniform(0.1, 0.75), 0))
        boxes.sort(key=lambda box: -box[4])
        if scene.drop and i % scene.drop == scene.drop - 1:
            continue
        yield i / scene.fps, truth, boxes
