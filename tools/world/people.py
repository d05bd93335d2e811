# SPDX-License-Identifier: LGPL-2.1-or-later
"""People: a skeleton that walks, stands or rides, and clothes on it."""
import dataclasses
import math

import numpy as np

from . import palette
from .palette import dim
from .solids import placed

# The order of COCO's keypoints, then what only drawing needs.
KEYPOINTS = ("nose", "left_eye", "right_eye", "left_ear", "right_ear", "left_shoulder",
             "right_shoulder", "left_elbow", "right_elbow", "left_wrist", "right_wrist",
             "left_hip", "right_hip", "left_knee", "right_knee", "left_ankle", "right_ankle")
NAMES = KEYPOINTS + ("head", "neck", "hair", "left_toe", "right_toe", "left_hand", "right_hand",
                     "face")
AT = {name: index for index, name in enumerate(NAMES)}
FACE = range(5)
THIGH, SHIN, UPPER, LOWER, TORSO = 0.44, 0.43, 0.29, 0.25, 0.5    # metres, at a height of 1.75
ANKLE, HEAD = 0.08, 0.125
HEIGHT = 1.75


@dataclasses.dataclass(frozen=True)
class Look:
    """Clothes and size of a person; scale is the height relative to HEIGHT."""
    scale: float
    skin: tuple
    hair: tuple
    top: tuple
    legs: tuple
    shoes: tuple
    long_hair: bool
    coat: float         # metres below the hips
    skirt: bool
    bag: tuple | None
    hat: tuple | None


def make_look(rng):
    """Return random clothes."""
    def any_of(colours):
        return colours[rng.integers(len(colours))]

    top, skirt = any_of(palette.CLOTHES), rng.random() < 0.16
    return Look(rng.uniform(0.9, 1.07) if rng.random() < 0.88 else rng.uniform(0.62, 0.8),
                any_of(palette.SKIN), any_of(palette.HAIR), top, any_of(palette.TROUSERS),
                any_of((palette.rgb("2b2b2f"), palette.rgb("f0ece2"), palette.rgb("8a4b35"))),
                rng.random() < 0.42, rng.choice((0.0, 0.0, 0.0, 0.22, 0.4)), skirt,
                any_of(palette.CLOTHES) if rng.random() < 0.32 else None,
                any_of(palette.CLOTHES) if rng.random() < 0.18 else None)


def direction(angle):
    """Return the unit vector of a limb that hangs, swung forward by an angle."""
    return np.array((math.sin(angle), 0, -math.cos(angle)))


def skeleton(look, pose, phase, speed=1.3):
    """Return points of NAMES in the person's axes, metres.

    pose: walk, stand, call (a hand at the ear) or ride. phase: radians of the gait; a step is pi.
    """
    at = np.zeros((len(NAMES), 3))
    stride = 0.42 * min(1.6, speed / 1.3) if pose == "walk" else 0.0
    lean = {"walk": 0.05, "ride": 0.34}.get(pose, 0.02)
    for side, sign, turned in (("left", 1, 0), ("right", -1, math.pi)):
        leg(at, side, sign, phase + turned, stride, pose)
    at[:, 2] -= min(at[AT["left_ankle"], 2], at[AT["right_ankle"], 2]) - ANKLE
    up = np.array((math.sin(lean), 0, math.cos(lean)))
    hips = (at[AT["left_hip"]] + at[AT["right_hip"]]) / 2
    neck = hips + up * TORSO
    twist = 0.12 * math.sin(phase) * (stride > 0)
    for side, sign, turned in (("left", 1, math.pi), ("right", -1, 0)):
        shoulder = neck + np.array((-sign * twist, sign * 0.17, -0.04))
        arm(at, side, shoulder, phase + turned, stride, pose, sign)
    add_head(at, neck + up * np.array((0.6, 1, 1)) * 0.19 + np.array((0.02, 0, 0)))
    at[AT["neck"]] = neck
    return at * look.scale


def leg(at, side, sign, phase, stride, pose):
    """Place a leg, with the hip at the height 0."""
    hip = np.array((0, sign * 0.1, 0))
    if pose == "ride":
        thigh, knee = 0.95 + 0.36 * math.sin(phase), 1.15 + 0.42 * math.sin(phase + 0.6)
    else:
        thigh = stride * math.sin(phase) + 0.04
        knee = 0.08 + 1.9 * stride * max(0.0, math.cos(phase + 0.35))
    bent = hip + direction(thigh) * THIGH
    ankle = bent + direction(thigh - knee) * SHIN
    foot = 0.25 * max(0.0, -math.sin(phase)) * (stride > 0)
    for name, point in (("hip", hip), ("knee", bent), ("ankle", ankle)):
        at[AT[f"{side}_{name}"]] = point
    at[AT[f"{side}_toe"]] = ankle + np.array((0.15 * math.cos(foot), sign * 0.02,
                                              -0.05 - 0.15 * math.sin(foot)))


def arm(at, side, shoulder, phase, stride, pose, sign):
    """Place an arm."""
    swing, bend = 0.9 * stride * math.sin(phase), 0.25 + 0.5 * stride
    if pose == "ride":
        swing, bend = 0.95, 0.12
    elif pose == "call" and sign < 0:
        swing, bend = 0.5, 2.3
    elif pose == "stand" and sign > 0:
        bend = 0.6
    outward = np.array((0, sign * 0.12, 0))
    elbow = shoulder + (direction(swing) + outward) * UPPER
    wrist = elbow + (direction(swing + bend) - outward * 0.4) * LOWER
    for name, point in (("shoulder", shoulder), ("elbow", elbow), ("wrist", wrist),
                        ("hand", wrist + direction(swing + bend) * 0.06)):
        at[AT[f"{side}_{name}"]] = point


def add_head(at, centre):
    """Place the head's points around its centre."""
    for name, offset in (("head", (0, 0, 0)), ("nose", (.125, 0, -.015)),
                         ("left_eye", (.105, .042, .025)), ("right_eye", (.105, -.042, .025)),
                         ("left_ear", (0, .115, 0)), ("right_ear", (0, -.115, 0)),
                         ("hair", (-.035, 0, .035)), ("face", (.035, 0, -.02))):
        at[AT[name]] = centre + np.array(offset)


class Figure:
    """A person's points in pixels, with the scale of widths at each."""

    def __init__(self, camera, points):
        self.at = camera.project(points)
        self.scale = camera.focal / np.maximum(self.at[:, 2], 0.1)

    def line(self, canvas, names, width, colour):
        """Draw a limb of a width in metres."""
        places = [self.at[AT[name]] for name in names]
        canvas.line([(p[0], p[1]) for p in places], max(0.7, width * self.scale[AT[names[0]]]),
                    colour)

    def disc(self, canvas, name, radius, colour, detail=False):
        """Draw a disc of a radius in metres."""
        point = self.at[AT[name]]
        canvas.disc(point[0], point[1], max(0.5, radius * self.scale[AT[name]]), colour, detail)

    def nearness(self, *names):
        """Return minus the mean depth of points."""
        return -float(np.mean([self.at[AT[name], 2] for name in names]))


def draw_person(person, canvas, camera, mood, points):
    """Draw a person with points of NAMES in the world; return the 17 keypoints' pixels, 17 x 3."""
    figure, look = Figure(camera, points), person.look
    size = look.scale
    figure.small = figure.scale[AT["neck"]] * size < 16

    def tone(colour, shade=1.0):
        return tuple(min(1, part * (a + 0.62 * b) * shade)
                     for part, a, b in zip(colour, mood.ambient, mood.light))

    parts = []
    for side in ("left", "right"):
        near = figure.nearness(f"{side}_shoulder", f"{side}_hip")
        far = near < figure.nearness("left_shoulder", "right_shoulder", "left_hip", "right_hip")
        shade = 0.84 if far else 1.0
        parts.append((figure.nearness(f"{side}_hip", f"{side}_knee", f"{side}_ankle") - 0.3,
                      draw_leg, side, shade))
        parts.append((near + (-0.02 if far else 0.05), draw_arm, side, shade * 0.95))
    parts.append((figure.nearness("left_shoulder", "right_shoulder", "left_hip", "right_hip"),
                  draw_torso, "", 1.0))
    parts.append((figure.nearness("head") + 0.1, draw_head, "", 1.0))
    if canvas.open and camera.ahead[2] < -0.8:    # from above, the head is over everything
        parts = [(part[0] + (5 if part[1] is draw_head else 0), *part[1:]) for part in parts]
    for _, how, side, shade in sorted(parts, key=lambda part: part[0]):
        how(figure, canvas, look, side, lambda c, s=shade: tone(c, s), size)
    return figure.at[:17]


def draw_leg(figure, canvas, look, side, tone, size):
    """Draw a leg and its shoe."""
    bare = look.skin if look.skirt else look.legs
    if figure.small:
        figure.line(canvas, (f"{side}_hip", f"{side}_knee", f"{side}_ankle"), 0.15 * size,
                    tone(bare))
        return
    figure.line(canvas, (f"{side}_ankle", f"{side}_toe"), 0.095 * size, tone(look.shoes))
    figure.line(canvas, (f"{side}_knee", f"{side}_ankle"), 0.125 * size, tone(bare))
    figure.line(canvas, (f"{side}_hip", f"{side}_knee"), 0.17 * size, tone(bare))


def draw_arm(figure, canvas, look, side, tone, size):
    """Draw an arm and its hand."""
    if not figure.small:
        figure.line(canvas, (f"{side}_wrist", f"{side}_hand"), 0.075 * size, tone(look.skin))
    sleeve = (f"{side}_shoulder", f"{side}_elbow", f"{side}_wrist")
    figure.line(canvas, sleeve, 0.1 * size, tone(dim(look.top, 0.93)))


def draw_torso(figure, canvas, look, _side, tone, size):
    """Draw the trunk, and a coat's tail or a skirt below it."""
    at, unit = figure.at, figure.scale[AT["neck"]]
    corners = [at[AT[name]][:2].copy() for name in ("left_shoulder", "right_shoulder",
                                                    "right_hip", "left_hip")]
    below = max(look.coat, 0.34 if look.skirt else 0.0)
    if below:
        down = (corners[2] + corners[3] - corners[0] - corners[1]) / 2
        down = down / max(1e-6, np.linalg.norm(down)) * below * size * unit
        across = (corners[3] - corners[2]) * 0.35
        flare = [corners[2], corners[3], corners[3] + down + across, corners[2] + down - across]
        colour = look.top if look.coat else look.legs
        canvas.polygon([tuple(p) for p in flare], tone(dim(colour, 0.94)), edge=0.13 * size * unit)
    figure.line(canvas, ("neck", "head"), 0.1 * size, tone(dim(look.skin, 0.9)))
    waist = [corners[0] * 0.42 + corners[3] * 0.58, corners[1] * 0.42 + corners[2] * 0.58]
    pinch = (waist[1] - waist[0]) * 0.08
    shape = [corners[0], corners[1], waist[1] - pinch, corners[2], corners[3], waist[0] + pinch]
    canvas.polygon([tuple(p) for p in shape], tone(look.top), edge=0.17 * size * unit)
    if look.bag:
        middle = sum(corners) / 4
        back = at[AT["hair"]][:2] - at[AT["head"]][:2]
        shift = np.array((back[0], 0)) * 4
        low, high = middle + shift + (0, 0.1 * size * unit), middle + \
                                      shift - (0, 0.09 * size * unit)
        facing = at[AT["nose"], 2] > at[AT["head"], 2] or abs(shift[0]) > 0.08 * size * unit
        if facing:
            canvas.line((tuple(low), tuple(high)), 0.26 * size * unit, tone(look.bag))


def draw_head(figure, canvas, look, _side, tone, size):
    """Draw the head: hair, and a face where it can be seen."""
    at = figure.at
    away = at[AT["nose"], 2] > at[AT["head"], 2] + 0.02
    hair = look.hat or look.hair
    hair_first = not away
    if look.long_hair:
        point, unit = at[AT["hair"]], figure.scale[AT["hair"]]
        canvas.line(((point[0], point[1]), (point[0] + (point[0] - at[AT["face"]][0]) * 0.4,
                                            point[1] + 0.17 * size * unit)),
                    0.2 * size * unit, tone(dim(look.hair, 0.95)))
    if hair_first:
        figure.disc(canvas, "hair", HEAD * size, tone(hair))
        figure.disc(canvas, "face", 0.108 * size, tone(look.skin))
        if figure.scale[AT["head"]] * size > 42:
            for eye in ("left_eye", "right_eye"):
                if at[AT[eye], 2] < at[AT["head"], 2]:
                    figure.disc(canvas, eye, 0.016 * size, tone(palette.rgb("2b2320")), True)
    else:
        figure.disc(canvas, "face", 0.108 * size, tone(look.skin))
        figure.disc(canvas, "hair", HEAD * size, tone(hair))


def world_points(person, pose, phase, speed):
    """Return a person's points of NAMES in the world."""
    base = skeleton(person.look, pose, phase, speed)
    return placed(base, person.position, person.heading)
