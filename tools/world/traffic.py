# SPDX-License-Identifier: LGPL-2.1-or-later
"""Movement: routes, signals, drivers that keep their distance, and people on their ways.

Drivers follow the Intelligent Driver Model (Treiber, Hennecke and Helbing, 2000).
"""
import dataclasses

import numpy as np

from .actors import Actor, move

ACCELERATION, BRAKING, HEADWAY, STANDSTILL = 1.6, 2.4, 1.2, 1.8    # m/s2, m/s2, s, m
LOOK_AHEAD = 35.0


class Route:
    """A line of points; positions on it are metres from its start."""

    def __init__(self, points, stops=(), cyclic=False):
        """Create a route; stops are pairs of a position and the name of a signal."""
        self.points = np.array(points, float)
        steps = np.diff(self.points, axis=0)
        self.marks = np.concatenate([[0], np.cumsum(np.hypot(*steps.T))])
        self.headings = np.unwrap(np.arctan2(steps[:, 1], steps[:, 0]))
        self.length, self.stops, self.cyclic = self.marks[-1], tuple(stops), cyclic

    def at(self, place):
        """Return the position and heading at a place."""
        part = int(np.clip(np.searchsorted(self.marks, place) - 1, 0, len(self.headings) - 1))
        along = (place - self.marks[part]) / (self.marks[part + 1] - self.marks[part])
        point = self.points[part] + (self.points[part + 1] - self.points[part]) * along
        return point, float(self.headings[part])


def bend(start, corner, end, count=9):
    """Return points of a curve between two points, tangent to the lines to a corner."""
    start, corner, end = (np.array(p, float) for p in (start, corner, end))
    return [tuple((1 - t) ** 2 * start + 2 * t * (1 - t) * corner + t * t * end)
            for t in np.linspace(0, 1, count)]


@dataclasses.dataclass
class Mover:
    """An actor on a route."""
    actor: Actor
    route: Route
    place: float
    wish: float              # metres a second
    speed: float
    aside: float = 0.0       # metres to the left of the route
    party: tuple = ()        # others that move with it: actor, metres ahead, metres to the left


class Signals:
    """Signals that repeat: each name is green during some spans of the cycle, in seconds."""

    def __init__(self, cycle, green):
        self.cycle, self.green = cycle, green

    def open(self, name, time):
        """True if the signal is green."""
        now = time % self.cycle
        return any(start <= now < end for start, end in self.green[name])


class Flow:
    """Movers that enter a route at random times.

    make(): a new mover's actor, its speed, metres to the left, and its party.
    """

    def __init__(self, route, make, interval):
        self.route, self.make, self.interval = route, make, interval
        self.next = 0.0


class Traffic:
    """All that moves, from step to step."""

    def __init__(self, rng, flows, signals, still=()):
        self.rng, self.flows, self.signals, self.still = rng, flows, signals, list(still)
        self.movers, self.time = [], 0.0
        for flow in flows:
            flow.next = rng.uniform(0, flow.interval)

    def actors(self):
        """Return all actors."""
        moving = [actor for mover in self.movers
                  for actor in (mover.actor, *(other for other, _, _ in mover.party))]
        out = []
        for actor in self.still + moving:
            out.append(actor)
            if actor.rider:
                out.append(actor.rider)
        return out

    def enter(self):
        """Let movers enter whose time has come, if there is room."""
        for flow in self.flows:
            if self.time < flow.next:
                continue
            flow.next = self.time + self.rng.uniform(0.4, 1.6) * flow.interval
            actor, wish, aside, party = flow.make()
            length = actor.size()[0]
            near = [m.place - (m.actor.size()[0] + length) / 2 for m in self.movers
                    if m.route is flow.route and m.place < 40 and m.actor.kind != "person"]
            if actor.kind == "person" or min(near, default=99) > 6:
                self.movers.append(Mover(actor, flow.route, 0.0, wish, wish, aside, party))
                self.put(self.movers[-1], 0.0, 1.0)

    def put(self, mover, metres, seconds):
        """Put a mover, and its party, where its place is."""
        point, heading = mover.route.at(mover.place)
        ahead = np.array((np.cos(heading), np.sin(heading)))
        left = np.array((-ahead[1], ahead[0]))
        for actor, forward, aside in ((mover.actor, 0.0, 0.0), *mover.party):
            where = point + ahead * forward + left * (mover.aside + aside)
            move(actor, where, blend(actor.heading, heading, metres), metres, seconds)

    def gaps(self):
        """Return the free metres ahead of each mover, and the speed of what is there."""
        movers = self.movers
        if not movers:
            return np.empty(0), np.empty(0)
        at = np.array([m.actor.position[:2] for m in movers])
        heading = np.array([m.actor.heading for m in movers])
        sizes = np.array([m.actor.size()[:2] for m in movers])
        speed = np.array([m.speed for m in movers])
        apart = at[None] - at[:, None]
        ahead = np.stack([np.cos(heading), np.sin(heading)], 1)
        forward = (apart * ahead[:, None]).sum(2)
        aside = np.abs(apart[:, :, 1] * ahead[:, None, 0] - apart[:, :, 0] * ahead[:, None, 1])
        turned = heading[None] - heading[:, None]
        cos, sin = np.abs(np.cos(turned)), np.abs(np.sin(turned))
        long = (cos * sizes[None, :, 0] + sin * sizes[None, :, 1]) / 2 + sizes[:, None, 0] / 2
        wide = (cos * sizes[None, :, 1] + sin * sizes[None, :, 0]) / 2 + sizes[:, None, 1] / 2
        opposite = np.cos(turned) < -0.7
        there = (forward > 0.1) & (aside < wide + 0.3) & (forward < LOOK_AHEAD) & ~opposite
        free = np.where(there, forward - long, 1e3)
        first = free.argmin(1)
        rows = np.arange(len(movers))
        return free[rows, first], speed[first] * np.clip(np.cos(turned[rows, first]), 0, 1)

    def red(self, mover):
        """Return the metres to a red signal that the mover still stops at, or a large number."""
        half = mover.actor.size()[0] / 2
        for place, name in mover.route.stops:
            left = place - mover.place - half
            if -0.5 < left < LOOK_AHEAD and not self.signals.open(name, self.time):
                if left > mover.speed ** 2 / (2 * 4.5) - 0.5:
                    return left + STANDSTILL - 0.3
        return 1e3

    def step(self, seconds):
        """Move everything by a part of a second."""
        self.time += seconds
        self.enter()
        free, fast = self.gaps()
        for i, mover in enumerate(self.movers):
            gap, other = free[i], fast[i]
            if mover.actor.kind == "person":
                gap, other = 1e3, 0.0
            red = self.red(mover)
            if red < gap:
                gap, other = red, 0.0
            mover.speed = max(0.0, mover.speed + seconds * drive(mover, gap, other))
            metres = mover.speed * seconds
            mover.place += metres
            self.put(mover, metres, seconds)
        self.movers = [m for m in self.movers if m.place < m.route.length]


def blend(old, new, metres):
    """Return a heading that follows a route's within a few metres."""
    if metres == 0:
        return new
    apart = (new - old + np.pi) % (2 * np.pi) - np.pi
    return float(old + apart * min(1.0, metres * 0.9))


def drive(mover, gap, other):
    """Return a mover's acceleration."""
    if mover.actor.kind == "person":
        wanted = mover.wish if gap > 2.2 else 0.0
        return np.clip((wanted - mover.speed) * 4, -4, 3)
    closing = mover.speed * (mover.speed - other) / (2 * np.sqrt(ACCELERATION * BRAKING))
    wanted = STANDSTILL + max(0.0, mover.speed * HEADWAY + closing)
    free = 1 - (mover.speed / mover.wish) ** 4
    return max(-7.0, ACCELERATION * (free - (wanted / max(gap, 0.3)) ** 2))
