# SPDX-License-Identifier: LGPL-2.1-or-later
"""Drawn shapes: scenes for the demo's models, and a score for boxes detected in them.

Shared by train_shapes.py and train_more.py, which train models on these scenes, and make_clip.py,
which draws the demo's clip.  It needs only numpy and OpenCV.

Boxes are rows [class, x1, y1, x2, y2] in pixels, the far edges excluded.  Angles are radians,
clockwise.
"""
import dataclasses
import math

import cv2
import numpy as np

CLASSES = ("circle", "square", "triangle", "star", "cross", "ring")
SIZE = 320                # side of the detector's square input, in pixels
MAX_TURN = 0.35           # the largest rotation of a scene's shapes, in radians
WIDE_TURN = 0.55          # the same for scenes with oriented boxes: below half a star's 72 degrees
MOST = 11                 # maximum number of objects per scene
POINTS = 5                # per object: its corners, tips or arms, clockwise from the top left
NO_POINT, UNSEEN, SEEN = 0, 1, 2
NOISE = np.random.default_rng(0).standard_normal(1 << 21, np.float32)
RING_HOLE = 0.6           # radius of a ring's hole, relative to the ring's
HIDDEN = 0.45             # objects whose box is covered by this part need not be found
SUBPIXEL_BITS = 4         # OpenCV's fixed-point coordinates: 1/16 pixel


def polygon(kind):
    """Return the corners of a shape that has any, for a unit radius."""
    if kind == "square":
        corners = [(-1, -1), (1, -1), (1, 1), (-1, 1)]
    elif kind == "triangle":
        corners = [(0, -1), (0.9, 0.8), (-0.9, 0.8)]
    elif kind == "star":
        corners = []
        for i in range(10):
            radius = (1, 0.42)[i % 2]
            corners.append((radius * math.sin(math.pi * i / 5),
                            -radius * math.cos(math.pi * i / 5)))
    elif kind == "cross":
        t = 0.33
        corners = [(-t, -1), (t, -1), (t, -t), (1, -t), (1, t), (t, t),
                   (t, 1), (-t, 1), (-t, t), (-1, t), (-1, -t), (-t, -t)]
    else:
        raise ValueError(f"{kind} has no corners")
    return np.array(corners, np.float64)


def turned(points, x, y, rx, ry, turn):
    """Map points for a unit radius to the picture."""
    cos, sin = math.cos(turn), math.sin(turn)
    return (points * [rx, ry]) @ np.array([[cos, sin], [-sin, cos]]) + [x, y]


def outline(kind):
    """Return minimum and maximum x and y of a shape for a unit radius."""
    if kind in ("circle", "ring"):
        return np.array([[-1, -1], [1, 1]], np.float64)
    return np.array([polygon(kind).min(0), polygon(kind).max(0)])


def tips(kind):
    """Return the keypoints of a shape, for a unit radius."""
    if kind in ("circle", "ring"):
        return np.zeros((0, 2))
    if kind == "cross":
        return np.array([(0, -1), (1, 0), (0, 1), (-1, 0)], np.float64)
    return polygon(kind)[::2 if kind == "star" else 1]


def shape_mask(kind, width, height, x, y, rx, ry, turn=0.0):
    """Return the coverage of one shape, 0..255, on a picture of width x height pixels.

    x, y: the centre; rx, ry: the radii; turn: the rotation in radians (circles and rings have
    none).
    """
    mask = np.zeros((height, width), np.uint8)
    unit = 1 << SUBPIXEL_BITS
    if kind in ("circle", "ring"):
        centre = (int(x * unit), int(y * unit))
        rings = [(1.0, 255), (RING_HOLE, 0)] if kind == "ring" else [(1.0, 255)]
        for part, value in rings:
            axes = (int(rx * part * unit), int(ry * part * unit))
            cv2.ellipse(mask, centre, axes, 0, 0, 360, value, -1, cv2.LINE_AA, SUBPIXEL_BITS)
    else:
        corners = turned(polygon(kind), x, y, rx, ry, turn)
        cv2.fillPoly(mask, [np.round(corners * unit).astype(np.int32)], 255, cv2.LINE_AA,
                     SUBPIXEL_BITS)
    return mask


def mask_box(mask):
    """Return the box x1, y1, x2, y2 around a mask's visible pixels, and their number."""
    visible = cv2.compare(mask, 127, cv2.CMP_GT)
    x, y, width, height = cv2.boundingRect(visible)
    if width == 0:
        return None, 0
    return (x, y, x + width, y + height), cv2.countNonZero(visible)


def covered(box, mask):
    """Return the part of a box, 0..1, that a mask covers."""
    x1, y1, x2, y2 = box
    return float((mask[y1:y2, x1:x2] > 127).mean())


def random_colour(rng):
    """Return a random colour."""
    return rng.integers(0, 256, 3)


def draw_background(rng, size):
    """Return a plain, patched, dark, graded or scribbled picture."""
    kind = rng.integers(5)
    if kind == 0:
        return np.full((size, size, 3), random_colour(rng), np.uint8)
    if kind == 1:
        rows, columns = rng.integers(2, 24), rng.integers(2, 24)
        patches = rng.integers(0, 256, (rows, columns, 3), dtype=np.uint8)
        how = int(rng.choice([cv2.INTER_NEAREST, cv2.INTER_CUBIC]))
        return cv2.resize(patches, (size, size), interpolation=how)
    if kind == 2:
        return np.full((size, size, 3), rng.integers(0, 40), np.uint8)
    if kind == 3:
        ramp = np.linspace(0, 1, size)[:, None, None]
        if rng.random() >= 0.5:
            ramp = ramp.transpose(1, 0, 2)
        image = ramp * random_colour(rng) + (1 - ramp) * random_colour(rng)
        return (image + np.zeros((size, size, 3))).astype(np.uint8)
    image = np.full((size, size, 3), random_colour(rng), np.uint8)
    for _ in range(rng.integers(5, 30)):
        x1, y1, x2, y2 = (int(v) for v in rng.integers(0, size, 4))
        colour = [int(v) for v in random_colour(rng)]
        cv2.line(image, (x1, y1), (x2, y2), colour, int(rng.integers(1, 4)))
    return image


@dataclasses.dataclass
class Drawn:
    """An object that is to be found in a scene; pixels."""
    kind: int            # index of its class
    box: tuple           # x1, y1, x2, y2 of the part in the picture, hidden or not
    oriented: tuple      # cx, cy, width, height and angle of its oriented box, not clipped
    points: np.ndarray   # POINTS rows of x, y and NO_POINT, UNSEEN or SEEN
    mask: np.ndarray     # 0..255: visible coverage of each pixel


def oriented_box(kind, x, y, rx, ry, turn):
    """Return the oriented box of a shape: cx, cy, width, height, angle."""
    low, high = outline(kind)
    centre = turned((low + high) / 2, x, y, rx, ry, turn)
    return (*centre, *((high - low) * [rx, ry]), turn)


def point_rows(kind, size, x, y, rx, ry, turn):
    """Return the keypoints of a shape: rows x, y and their visibility."""
    rows, places = np.zeros((POINTS, 3)), turned(tips(kind), x, y, rx, ry, turn)
    inside = ((places >= 0) & (places < size)).all(1)
    rows[:len(places)] = np.column_stack([places, np.where(inside, SEEN, UNSEEN)])
    return rows


def hide(drawn, mask):
    """Remove the part of an object that a mask covers."""
    drawn.mask = np.minimum(drawn.mask, 255 - mask)
    columns, rows = (np.clip(drawn.points[:, i].astype(int), 0, len(mask) - 1) for i in (0, 1))
    drawn.points[(drawn.points[:, 2] == SEEN) & (mask[rows, columns] > 127), 2] = UNSEEN


def paint(image, mask, colour):
    """Blend a colour into the picture where the mask covers it."""
    x, y, width, height = cv2.boundingRect(mask)
    part = image[y:y + height, x:x + width]
    alpha = mask[y:y + height, x:x + width, None].astype(np.float32) / 255
    part[:] = part * (1 - alpha) + colour.astype(np.float32) * alpha


def add_object(rng, image, objects, max_turn):
    """Draw one random shape on top; return the objects that can still be found."""
    size = image.shape[0]
    index = int(rng.integers(len(CLASSES)))
    kind = CLASSES[index]
    radius = math.exp(rng.uniform(math.log(9), math.log(80)))
    x, y = rng.uniform(radius * 0.6, size - radius * 0.6, 2)
    aspect = math.exp(rng.uniform(-0.25, 0.25))
    turn = 0.0 if kind in ("circle", "ring") else rng.uniform(-max_turn, max_turn)
    colour = random_colour(rng)
    at_x, at_y = (int(min(max(v, 0), size - 1)) for v in (x, y))
    if np.abs(image[at_y, at_x].astype(int) - colour).sum() < 150:
        colour = (colour + 128) % 256
    place = (x, y, radius * aspect, radius / aspect, turn)
    mask = shape_mask(kind, size, size, *place)
    box, pixels = mask_box(mask)
    if pixels < 40:
        return objects
    objects = [o for o in objects if covered(o.box, mask) < HIDDEN]
    for other in objects:
        hide(other, mask)
    paint(image, mask, colour)
    return objects + [Drawn(index, box, oriented_box(kind, *place), point_rows(kind, size, *place),
                            mask)]


def degrade(rng, image):
    """Add noise, blur and JPEG compression, each to a part of the scenes."""
    if rng.random() < 0.6:
        begin = rng.integers(len(NOISE) - image.size)    # generating it again takes far longer
        noise = NOISE[begin:begin + image.size] * np.float32(rng.uniform(2, 18))
        noise += image.ravel()
        image = np.clip(noise, 0, 255, out=noise).astype(np.uint8).reshape(image.shape)
    if rng.random() < 0.3:
        image = cv2.GaussianBlur(image, (3, 3), 0)
    if rng.random() < 0.3:
        quality = [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(30, 95))]
        image = cv2.imdecode(cv2.imencode(".jpg", image, quality)[1], cv2.IMREAD_COLOR)
    return image


def draw_objects(rng, size=SIZE, max_turn=MAX_TURN):
    """Return a random scene: a picture, size x size x 3 uint8 RGB, and the objects to be found."""
    image, objects = draw_background(rng, size), []
    for _ in range(rng.integers(1, MOST + 1)):
        objects = add_object(rng, image, objects, max_turn)
    return degrade(rng, image), objects


def box_rows(objects):
    """Return the boxes of a scene's objects as a float32 array."""
    return np.array([(o.kind, *o.box) for o in objects], np.float32).reshape(-1, 5)


def iou(box, boxes):
    """Return the IoU of one box with each of the others; rows x1, y1, x2, y2."""
    low = np.maximum(box[:2], boxes[:, :2])
    high = np.minimum(box[2:], boxes[:, 2:])
    both = np.clip(high - low, 0, None).prod(1)
    either = (box[2:] - box[:2]).prod() + (boxes[:, 2:] - boxes[:, :2]).prod(1) - both
    return both / np.maximum(either, 1e-9)


def decode(output, score_threshold=0.4, iou_threshold=0.45, class_aware=True):
    """Return detections from an output (4 + classes and more, points) of a model, after NMS.

    class_aware: only boxes of one class suppress each other.

    Returns rows [class, x1, y1, x2, y2] in input pixels, best first, and the point of each.
    """
    scores = output[4:4 + len(CLASSES)]
    classes, scores = scores.argmax(0), scores.max(0)
    chosen = np.flatnonzero(scores > score_threshold)
    chosen = chosen[np.argsort(-scores[chosen], kind="stable")]
    centre, extent = output[:2, chosen].T, output[2:4, chosen].T
    rows = np.concatenate([classes[chosen, None], centre - extent / 2, centre + extent / 2], 1)
    kept = []
    for i, row in enumerate(rows):
        rivals = [k for k in kept if not class_aware or rows[k, 0] == row[0]]
        if not rivals or iou(row[1:], rows[rivals, 1:]).max() <= iou_threshold:
            kept.append(i)
    return rows[kept], chosen[kept]


def match(found, truth, iou_threshold=0.5):
    """Return the numbers of true and false detections and of missed objects, for one picture."""
    used = set()
    for row in found:
        overlaps = iou(row[1:], truth[:, 1:]) if len(truth) else []
        free = [(overlap, j) for j, overlap in enumerate(overlaps)
                if j not in used and truth[j, 0] == row[0]]
        best = max(free, default=(0, -1))
        if best[0] > iou_threshold:
            used.add(best[1])
    return len(used), len(found) - len(used), len(truth) - len(used)


def draw_boxes(image, found, scale=1.0):
    """Return a copy of a picture with the detections and their names drawn on it."""
    image = image.copy()
    for row in found:
        x1, y1, x2, y2 = (int(round(float(v))) for v in row[1:])
        white = (255, 255, 255)
        cv2.rectangle(image, (x1, y1), (x2, y2), white, max(1, round(scale)))
        cv2.putText(image, CLASSES[int(row[0])], (x1, max(int(12 * scale), y1 - 3)),
                    cv2.FONT_HERSHEY_SIMPLEX, 0.35 * scale, white, max(1, round(scale)),
                    cv2.LINE_AA)
    return image
