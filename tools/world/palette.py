# SPDX-License-Identifier: LGPL-2.1-or-later
"""Colours of the town, and its moods: where light comes from, and what air does to colours.

Colours are tuples of red, green and blue, 0..1.
"""
import dataclasses
import math


def rgb(text):
    """Return the colour of six hexadecimal digits."""
    return tuple(int(text[i:i + 2], 16) / 255 for i in (0, 2, 4))


def mix(one, other, part):
    """Return a colour between two: 0 is the first, 1 the second."""
    return tuple(a + (b - a) * part for a, b in zip(one, other))


def dim(colour, factor):
    """Return a colour multiplied by a number, at most 1."""
    return tuple(min(1.0, part * factor) for part in colour)


# Paint of vehicles; the names are the classes of the colour classifier.
PAINT = {
    "white": rgb("f4f1ea"), "silver": rgb("b9c0c4"), "grey": rgb("6f7a80"), "black": rgb("33383d"),
    "red": rgb("d8433b"), "orange": rgb("ee8a3a"), "yellow": rgb("f2c542"), "green": rgb("4d9a6a"),
    "blue": rgb("3f77b8"), "brown": rgb("8d6246"),
}
COLOURS = tuple(PAINT)
WALLS = tuple(map(rgb, ("f3dfc1", "e9c39b", "dd9f7e", "c9d3bf", "b8cdd3", "eacdc2", "f1e6d2",
                        "d7b98e", "cfa7a0", "e6d49a")))
ROOFS = tuple(map(rgb, ("b75a45", "a4503f", "8a5a4c", "68727c", "7c5f58")))
SHUTTERS = tuple(map(rgb, ("4f7f78", "5a7fa5", "8c4a46", "6c7a52", "e9e2d4")))
AWNINGS = tuple(map(rgb, ("cf4b42", "2f7f79", "e0a034", "3c6ea3", "8b5a84")))
LEAVES = tuple(map(rgb, ("6fa05a", "7fae5d", "5e9468", "93b35c", "c99a4a")))
CLOTHES = tuple(map(rgb, ("d9534f", "f0ad4e", "2f6f9f", "3b8f7c", "e8e2d5", "7a5aa0", "27394c",
                          "c86f98", "8fb339", "e07b4a", "5fa8c9", "b0483e", "f4d35e", "50606d")))
TROUSERS = tuple(map(rgb, ("2c3e57", "3d4a5c", "54514e", "6b5b4b", "8a8f96", "1f2a38", "b7a68c")))
SKIN = tuple(map(rgb, ("f3cfb3", "e4b48f", "c68e66", "9a6647", "6f4631")))
HAIR = tuple(map(rgb, ("2b211c", "4a3226", "7a4f2c", "b98746", "d9c08a", "9a9a98", "a4482c")))
FUR = tuple(map(rgb, ("7a5336", "c79a62", "3a322d", "e6ddcf", "a9855c")))
ASPHALT, KERB, PAVING = rgb("8b9097"), rgb("d8d3c8"), rgb("c9c1b4")
MARKING, CYCLE_LANE, GRASS = rgb("f1efe6"), rgb("b98577"), rgb("9dbb74")
TYRE, RIM, TRIM, GLASS = rgb("2b2e33"), rgb("b8bdc1"), rgb("3b4047"), rgb("44596b")
LAMP_WHITE, LAMP_RED, LAMP_AMBER = rgb("fff4d0"), rgb("e0352f"), rgb("f5a83c")


@dataclasses.dataclass(frozen=True)
class Mood:
    """A time of day or weather.

    sun: unit vector towards the light, in world axes.
    light, ambient: factors of colours on faces that the sun meets squarely, and on all faces.
    haze, reach: the air's colour, and the distance in metres at which it covers 63 %.
    shade: opacity of shadows.
    """
    name: str
    sky: tuple
    haze: tuple
    reach: float
    sun: tuple
    light: tuple
    ambient: tuple
    shadow: tuple
    shade: float
    lamps: bool = False
    wet: bool = False


def towards(azimuth, height):
    """Return the unit vector towards a light; degrees from the x axis, and above the ground."""
    azimuth, height = math.radians(azimuth), math.radians(height)
    return (math.cos(height) * math.cos(azimuth), math.cos(height) * math.sin(azimuth),
            math.sin(height))


MOODS = {
    "day": Mood("day", (rgb("6fb6e2"), rgb("a9d5ea"), rgb("f3ecd9")), rgb("dbe7e6"), 420,
                towards(215, 42), (0.47, 0.43, 0.34), (0.66, 0.69, 0.75), rgb("2b3350"), 0.36),
    "dusk": Mood("dusk", (rgb("38406f"), rgb("8a6a94"), rgb("f6b384")), rgb("b58c9a"), 300,
                 towards(20, 17), (0.36, 0.23, 0.15), (0.52, 0.48, 0.62), rgb("1b1b3c"), 0.30,
                 lamps=True),
    "rain": Mood("rain", (rgb("8e9fae"), rgb("aab8c2"), rgb("ccd4d6")), rgb("b9c5cb"), 190,
                 towards(240, 70), (0.12, 0.12, 0.12), (0.74, 0.78, 0.83), rgb("26303c"), 0.20,
                 lamps=True, wet=True),
}
