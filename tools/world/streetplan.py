# SPDX-License-Identifier: LGPL-2.1-or-later
"""The plan of the street, in metres, and the ways of people on it."""
import numpy as np

from .traffic import Route

LEFT, RIGHT = -6.2, 6.8                      # kerbs
LEFT_WALL, RIGHT_WALL = -11.0, 11.5
LANE_AWAY, LANE_NEAR, LANE_CYCLE = 1.75, -1.75, 4.0
PARKED_LEFT, PARKED_RIGHT = -5.1, 5.75
CROSS, CROSS_HALF = 40.0, 4.2                # the other road's middle and half width
ZEBRA = 17.0                                 # a pedestrian crossing without a road
FAR = 210.0


def walks(rng):
    """Return the routes of people, with the seconds between two of them."""
    left, right = LEFT - 2.6, RIGHT + 2.5
    low, high = CROSS - CROSS_HALF - .8, CROSS + CROSS_HALF + .8

    def stop(start, end):
        return abs(end - start)

    out = []
    for x in (left, right):
        up = Route([(x, -6), (x, 120)], [(stop(-6, low), "along")])
        down = Route([(x - .2, 120), (x - .2, -6)], [(stop(120, high), "along")])
        out += [(up, 7.0), (down, 6.0)]
    for x1, x2, edge in ((left, right, LEFT - .6), (right, left, RIGHT + .6)):
        shift = rng.uniform(-.5, .5)
        over = Route([(x1, -4), (x1, ZEBRA - 2 + shift), (x1 + np.sign(x2 - x1), ZEBRA + shift),
                      (x2, ZEBRA + shift), (x2, 90)],
                     [(4 + ZEBRA - 2 + shift + 2.2 + abs(edge - x1) - 1.0, "zebra")])
        back = Route([(x1, 90), (x1, ZEBRA + 2), (x1 + np.sign(x2 - x1), ZEBRA + .6),
                      (x2, ZEBRA + .6), (x2, -4)],
                     [(90 - ZEBRA - 2 + 1.7 + abs(edge - x1) - 1.0, "zebra")])
        far = Route([(x1, 20), (x1, low - 1.6), (x2, low - 1.6), (x2, 20)],
                    [(low - 21.6 + abs(edge - x1), "walk")])
        out += [(over, 7.5), (back, 7.5), (far, 9.0)]
    return out
