# SPDX-License-Identifier: LGPL-2.1-or-later
"""Truth of a frame: each object's boxes, mask, keypoints, plate, colour and identity."""
import dataclasses

import numpy as np

HIDDEN, SEEN = 1, 2      # values of a keypoint, as in COCO; 0 is outside of the picture


@dataclasses.dataclass
class Truth:
    """An object of a frame; coordinates in pixels, boxes x1, y1, x2, y2.

    box: bounds of its visible pixels. full: bounds with what others hide and what is outside
    of the picture. visible: visible part of all of its area, 0..1.
    oriented: oriented box cx, cy, width, height, radians from the x axis to its width, or None.
    keypoints: 17 x 3 with x, y and one of 0, HIDDEN, SEEN, or None.
    plate: corners 4 x 2 from its upper left if it can be seen, or None.
    """
    identity: int
    kind: str
    box: tuple
    full: tuple
    visible: float
    mask: np.ndarray             # bool, of the box's size
    oriented: tuple | None = None
    keypoints: np.ndarray | None = None
    plate: np.ndarray | None = None
    text: str = ""
    colour: str = ""


@dataclasses.dataclass
class Frame:
    """A frame: RGB image, and its objects."""
    image: np.ndarray
    objects: list


@dataclasses.dataclass
class Drawn:
    """An actor that was drawn: its bounds, and its pixels if nothing hid it."""
    actor: object
    bounds: tuple
    pixels: int
    keypoints: np.ndarray | None
    plate: np.ndarray | None
    oriented: tuple | None = None


def inside(bounds, width, height):
    """Return the part of an area that is in the picture, 0..1."""
    x1, y1, x2, y2 = bounds
    wide = min(x2, width) - max(x1, 0)
    high = min(y2, height) - max(y1, 0)
    return max(0, wide) * max(0, high) / max(1e-6, (x2 - x1) * (y2 - y1))


def find(drawn, ids, smallest):
    """Return the truth of drawn actors of which enough pixels can be seen."""
    height, width = ids.shape
    out = []
    for each in drawn:
        x1, y1, x2, y2 = each.bounds
        left, top = max(0, int(x1) - 1), max(0, int(y1) - 1)
        part = ids[top:min(height, int(y2) + 2), left:min(width, int(x2) + 2)]
        mask = part == each.actor.identity
        count = int(np.count_nonzero(mask))
        if count < smallest:
            continue
        rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
        box = (left + int(columns[0]), top + int(rows[0]), left + int(columns[-1]) + 1,
               top + int(rows[-1]) + 1)
        visible = count / each.pixels * inside(each.bounds, width, height)
        mask = mask[rows[0]:rows[-1] + 1, columns[0]:columns[-1] + 1].copy()
        out.append(Truth(each.actor.identity, each.actor.kind, box, each.bounds,
                         min(1.0, visible), mask, each.oriented,
                         with_visibility(each.keypoints, ids, each.actor.identity),
                         *plate_of(each, ids), each.actor.colour))
    return out


def with_visibility(keypoints, ids, identity):
    """Return keypoints with their visibility."""
    if keypoints is None:
        return None
    out = np.zeros((len(keypoints), 3), np.float32)
    head = keypoints[3:5, 2].mean()
    for i, (x, y, depth) in enumerate(keypoints):
        if not (0 <= x < ids.shape[1] and 0 <= y < ids.shape[0]):
            continue
        behind = i < 3 and depth > head + 0.02 or i in (3, 4) and depth > head + 0.06
        seen = ids[int(y), int(x)] == identity and not behind
        out[i] = (x, y, SEEN if seen else HIDDEN)
    return out


def plate_of(each, ids):
    """Return a plate's corners and text if all of it can be seen."""
    if each.plate is None:
        return None, ""
    height, width = ids.shape
    middle = each.plate.mean(0)
    for corner in each.plate:
        x, y = (corner + (middle - corner) * 0.08).astype(int)
        if not (0 <= x < width and 0 <= y < height) or ids[y, x] != each.actor.identity:
            return None, ""
    return each.plate, each.actor.plate


def heading_box(points, pixels, heading):
    """Return the oriented box around an object: cx, cy, width, height, radians.

    points: two points of the picture along the object's axis. pixels: x and y of its pixels.
    """
    ahead = np.array(points[1]) - points[0]
    ahead = ahead / max(1e-6, np.linalg.norm(ahead))
    across = np.array((-ahead[1], ahead[0]))
    along, aside = pixels @ ahead, pixels @ across
    centre = (along.min() + along.max()) / 2 * ahead + (aside.min() + aside.max()) / 2 * across
    angle = float(np.arctan2(ahead[1], ahead[0])) if heading is None else heading
    return (*centre, np.ptp(along) + 1, np.ptp(aside) + 1, angle)
