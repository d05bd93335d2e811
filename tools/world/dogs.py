# SPDX-License-Identifier: LGPL-2.1-or-later
"""Dogs."""
import math

from .cycles import toned
from .palette import TYRE, dim
from .solids import placed


def draw_dog(dog, canvas, camera, mood):
    """Draw a dog that trots, or stands if its speed is 0."""
    fur, swing = dog.second, 0.5 * min(1, dog.speed)
    side = 1 if camera.position[1] - dog.position[1] > 0 else -1

    def line(points, width, colour):
        at = camera.project(placed([(x * 1.25, y, z * 1.25) for x, y, z in points], dog.position,
                                   dog.heading))
        canvas.line(at[:, :2].tolist(), max(0.7, width * 1.25 * camera.focal / at[0, 2]),
                    toned(colour, mood))

    for x, turn in ((-0.27, 0), (0.2, 2.0)):
        for y in (-0.07 * side, 0.07 * side):
            angle = swing * math.sin(dog.phase + turn + (math.pi if y > 0 else 0))
            line([(x, y, 0.36), (x + 0.17 * math.sin(angle) + 0.02, y, 0.2),
                  (x + 0.3 * math.sin(angle), y, 0.03)], 0.07, dim(fur, 0.86 if y < 0 else 0.95))
    line([(-0.3, 0, 0.44), (-0.44, 0.04 * math.sin(2 * dog.phase), 0.6)], 0.05, fur)
    line([(-0.25, 0, 0.4), (0.0, 0, 0.39), (0.2, 0, 0.43)], 0.22, fur)
    line([(0.24, 0, 0.46), (0.38, 0, 0.62)], 0.14, fur)
    line([(0.38, 0, 0.64), (0.43, 0, 0.64)], 0.17, fur)
    line([(0.45, 0, 0.62), (0.55, 0, 0.6)], 0.09, dim(fur, 0.92))
    line([(0.57, 0, 0.62), (0.575, 0, 0.62)], 0.04, TYRE)
    for y in (-0.08, 0.08):
        line([(0.35, y, 0.71), (0.32, y * 1.2, 0.62)], 0.06, dim(fur, 0.75))
