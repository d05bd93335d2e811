# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws training samples: what a frame's points, masks and keypoints learn, and crops."""
import dataclasses

import cv2
import numpy as np

from . import people
from .actors import CLASSES, LABEL, VEHICLES, Maker
from .camera import Camera
from .canvas import Canvas
from .crossing import Crossing
from .font import PLATE_LETTERS
from .palette import COLOURS, MOODS, rgb
from .solids import hull
from .square import Square
from .street import Street
from .truth import inside
from .paintwork import draw_vehicle
from .vehicles import models

SIZE = (960, 544)              # width and height of the detectors' input
BORDER, GREY = 2, 114          # rows above and below a frame of 16:9 in it, and their value
MOST, IGNORED = 96, 48         # maximum number of objects, and of ignored boxes, of a sample
POINTS = len(people.KEYPOINTS)
PLATE = len(CLASSES)           # class of licence plates
NAMES = CLASSES + ("plate",)
# Columns of an object's row, the first ones as in shapes_net.
CLASS, BOX, ORIENTED, KEYPOINTS = 0, slice(1, 5), slice(5, 10), slice(10, 10 + 3 * POINTS)
ROW = KEYPOINTS.stop
CELL = 2                       # input pixels of a cell of the map of objects
CLEAR, SMALL = 0.34, 8.0       # visible part and longer side of the objects that are learned
HIDDEN, TINY = 0.22, 40        # small objects that are less visible count as scenery
PLATE_SIZE, CROP = (128, 32), 64
ALPHABET = "".join(sorted(set(PLATE_LETTERS))) + "0123456789"
PLATE_LENGTH = 6
MOOD_NAMES = tuple(MOODS)


@dataclasses.dataclass
class Sample:
    """A sample of a detector.

    image: the input. rows: objects, plates first. cells: the number of the object, from 1, that
    each cell shows; plates are not counted.
    """
    image: np.ndarray
    rows: np.ndarray
    cells: np.ndarray
    ignored: np.ndarray    # boxes x1, y1, x2, y2 of objects that are too small or too hidden


def fitted(image):
    """Return a frame of 16:9 as a detector gets it, and the scale from frame to input."""
    scale = SIZE[0] / image.shape[1]
    small = cv2.resize(image, (SIZE[0], SIZE[1] - 2 * BORDER), interpolation=cv2.INTER_AREA)
    out = np.full((SIZE[1], SIZE[0], 3), GREY, np.uint8)
    out[BORDER:-BORDER] = small
    return out, scale


def sample_of(frame, oriented=False, whole=False):
    """Return the sample of a frame; whole: the frame has the size of the input."""
    image, scale = (frame.image, 1.0) if whole else fitted(frame.image)
    image = packed(image)
    border = 0 if whole else BORDER
    shape = (SIZE[1] // CELL, SIZE[0] // CELL)
    rows, ignored, cells = [], [], np.zeros(shape, np.uint8)
    for truth in frame.objects if not oriented else ():
        add_plate(truth, scale, border, rows, ignored)
    plates = len(rows)
    for truth in sorted(frame.objects, key=lambda t: -t.visible * (t.box[2] - t.box[0])):
        x1, y1, x2, y2 = (v * scale + (border if i % 2 else 0) for i, v in enumerate(truth.box))
        if truth.visible < CLEAR or max(x2 - x1, y2 - y1) < SMALL or len(rows) == MOST or \
                min(x2 - x1, y2 - y1) < 2:
            if truth.visible > HIDDEN or max(x2 - x1, y2 - y1) > TINY:
                ignored.append((x1, y1, x2, y2))
            continue
        row = np.zeros(ROW, np.float32)
        row[CLASS] = LABEL[truth.kind]
        row[BOX] = ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1)
        if oriented:
            cx, cy, wide, high, angle = truth.oriented
            row[ORIENTED] = (cx * scale, cy * scale + border, wide * scale, high * scale, angle)
        if truth.keypoints is not None:
            points = truth.keypoints * (scale, scale, 1)
            points[:, 1] += border * (points[:, 2] > 0)
            row[KEYPOINTS] = points.ravel()
        rows.append(row)
        mark(cells, truth, len(rows) - plates, scale / CELL, border // CELL)
    return Sample(image, np.array(rows, np.float32).reshape(-1, ROW), cells,
                  np.array(ignored, np.float32).reshape(-1, 4))


def packed(image):
    """Return every third image as a codec leaves it; the choice depends on its pixels."""
    dice = int(image[::61, ::61].sum())
    if dice % 3:
        return image
    _, data = cv2.imencode(".jpg", image[:, :, ::-1], [cv2.IMWRITE_JPEG_QUALITY, 40 + dice % 50])
    return cv2.imdecode(data, cv2.IMREAD_COLOR)[:, :, ::-1]


def add_plate(truth, scale, border, rows, ignored):
    """Add a plate that can be seen to the rows, or to what is ignored."""
    if truth.plate is None:
        return
    (x1, y1), (x2, y2) = (edge(truth.plate, 0) * scale + (0, border) for edge in (np.min, np.max))
    high = np.linalg.norm(truth.plate[3] - truth.plate[0]) * scale
    if high < 3.5:
        if high > 2:
            ignored.append((x1, y1, x2, y2))
        return
    row = np.zeros(ROW, np.float32)
    row[CLASS], row[BOX] = PLATE, ((x1 + x2) / 2, (y1 + y2) / 2, x2 - x1, y2 - y1)
    rows.append(row)


def mark(cells, truth, number, scale, border):
    """Give a mask's cells a number."""
    x1, y1, x2, y2 = truth.box
    columns = np.arange(int(x1 * scale), min(cells.shape[1], int(x2 * scale) + 1))
    rows = np.arange(int(y1 * scale), int(y2 * scale) + 1)
    across = ((columns + 0.5) / scale).astype(int) - x1
    down = ((rows + 0.5) / scale).astype(int) - y1
    columns, across = columns[(across >= 0) & (across < x2 - x1)
                               ], across[(across >= 0) & (across < x2 - x1)]
    rows, down = rows[(down >= 0) & (down < y2 - y1)], down[(down >= 0) & (down < y2 - y1)]
    rows = rows + border
    keep = rows < cells.shape[0]
    part = cells[np.ix_(rows[keep], columns)]
    part[truth.mask[np.ix_(down[keep], across)]] = number
    cells[np.ix_(rows[keep], columns)] = part


def street_samples(seed, count):
    """Yield samples of one street; every sixth seed draws small people of a square."""
    rng = np.random.default_rng([seed, 11])
    mood = str(rng.choice(MOOD_NAMES, p=(0.46, 0.3, 0.24)))
    if seed % 6 == 5:
        yield from square_samples(seed, mood, rng, count)
        return
    scene = Street(seed, mood, standard=bool(rng.random() < 0.35), crowd=rng.uniform(0.45, 1.05),
                   warm=rng.uniform(25, 60))
    for _ in range(count):
        for _ in range(int(rng.integers(3, 14))):
            scene.traffic.step(0.2)
        yield sample_of(scene.render())


def square_samples(seed, mood, rng, count):
    """Yield samples of parts of a square, as tiles of a 4K picture are."""
    for number in range(0, count, 4):
        camera = Camera(SIZE, (0, 0, 70), rng.uniform(-0.5, 0.5), rng.uniform(0.24, 0.62),
                        rng.uniform(0.5, 0.85) * 3840)
        scene = Square(seed + number, mood, size=SIZE, people=int(rng.integers(300, 800)),
                       warm=0.2, camera=camera, town=False)
        for _ in range(min(4, count - number)):
            for _ in range(40):
                scene.traffic.step(0.25)
            yield sample_of(scene.render(), whole=True)


def crossing_samples(seed, count):
    """Yield samples of one crossing."""
    rng = np.random.default_rng([seed, 12])
    mood = str(rng.choice(MOOD_NAMES, p=(0.5, 0.25, 0.25)))
    scene = Crossing(seed, mood, standard=bool(rng.random() < 0.35), crowd=rng.uniform(0.6, 1.6),
                     warm=rng.uniform(15, 45))
    for _ in range(count):
        for _ in range(int(rng.integers(3, 12))):
            scene.traffic.step(0.2)
        yield sample_of(scene.render(), oriented=True)


# --- crops of vehicles and plates

@dataclasses.dataclass
class Portrait:
    """A crop of a vehicle, or of its plate, and their labels; the other one is None.

    high: pixels of the plate's height.
    """
    vehicle: np.ndarray | None
    colour: int
    kind: int
    plate: np.ndarray | None
    text: np.ndarray
    high: float = 0.0


def portrait(rng):
    """Draw a vehicle from near, and return its crops."""
    mood = MOODS[str(rng.choice(MOOD_NAMES, p=(0.5, 0.28, 0.22)))]
    vehicle = Maker(rng).vehicle(str(rng.choice(list(models()))), (0, 0), rng.uniform(0, 6.283))
    vehicle.parked = bool(rng.random() < 0.5)
    far, high, near = rng.uniform(6, 26), rng.uniform(2.5, 7), rng.random() < 0.6
    size, focal = (320, 224), 10 ** rng.uniform(2.1, 2.95) * (far / 12) ** 0.7
    if near:    # at the plate
        vehicle.heading = np.pi / 2 * rng.choice((-1, 1)) + rng.normal(0, 0.42)
        length = vehicle.size()[0] / 2
        vehicle.position[:] = (rng.uniform(-.2, .2), length * abs(np.sin(vehicle.heading)))
        focal = rng.uniform(8.5, 42) * np.hypot(far, high) / 0.16
    camera = Camera(size, (0, -far, high), rng.uniform(-.03, .03), np.arctan2(high - 0.6, far),
                    focal)
    canvas = Canvas(*size)
    backdrop(canvas, rng, mood)
    canvas.begin()
    plate = draw_vehicle(vehicle, canvas, camera, mood)
    done = canvas.end(1)
    if not done or not near and inside(done[0], *size) < 0.5:
        return portrait(rng)
    image = spoil(canvas.image(), rng)
    text = np.array([ALPHABET.index(letter) for letter in vehicle.plate])
    whole = None if near else crop(image, done[0], (CROP, CROP), rng, 0.1)
    return Portrait(whole, COLOURS.index(vehicle.colour), VEHICLES.index(vehicle.kind),
                    plate_crop(image, plate, rng) if near else None, text,
                    0.0 if plate is None else float(np.linalg.norm(plate[3] - plate[0])))


def backdrop(canvas, rng, mood):
    """Fill a canvas with something like a street behind a vehicle."""
    tones = [rgb("8b9097"), rgb("c9c1b4"), rgb("dd9f7e"), rgb("6fa05a"), rgb("f1efe6")]
    canvas.ink(tuple(a * b for a, b in zip(tones[0], mood.ambient)))
    canvas.context.paint()
    for _ in range(rng.integers(2, 9)):
        tone = tones[rng.integers(len(tones))]
        points = hull(rng.uniform((-40, -40), (360, 264), (4, 2)))
        canvas.polygon(points, tuple(a * b for a, b in zip(tone, mood.ambient)))


def crop(image, box, size, rng, slack):
    """Return a box of an image, with random margins, in a size."""
    x1, y1, x2, y2 = box
    wide, high = x2 - x1, y2 - y1
    x1, x2 = x1 + rng.uniform(-slack, slack) * wide, x2 + rng.uniform(-slack, slack) * wide
    y1, y2 = y1 + rng.uniform(-slack, slack) * high, y2 + rng.uniform(-slack, slack) * high
    source = np.array(((x1, y1), (x2, y1), (x1, y2)), np.float32)
    target = np.array(((0, 0), (size[0], 0), (0, size[1])), np.float32)
    return cv2.warpAffine(image, cv2.getAffineTransform(source, target), size,
                          flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)


def plate_crop(image, plate, rng):
    """Return the crop of a plate that is large enough to be read, or None."""
    if plate is None:
        return None
    low, high = plate.min(0), plate.max(0)
    if np.linalg.norm(plate[3] - plate[0]) < 9 or high[0] - low[0] < 28 or (low < 0).any() or \
            (high > image.shape[1::-1]).any():
        return None
    return crop(image, (*low, *high), PLATE_SIZE, rng, 0.07)


def spoil(image, rng):
    """Return an image as a codec and a sensor leave it."""
    if rng.random() < 0.5:
        image = cv2.GaussianBlur(image, (3, 3), rng.uniform(0.3, 0.9))
    image = image.astype(np.float32) * rng.uniform(0.85, 1.12)
    image += rng.normal(0, rng.uniform(0, 5), image.shape)
    image = np.clip(image, 0, 255).astype(np.uint8)
    if rng.random() < 0.4:
        _, data = cv2.imencode(".jpg", image, [cv2.IMWRITE_JPEG_QUALITY, int(rng.integers(45, 95))])
        image = cv2.imdecode(data, cv2.IMREAD_COLOR)
    return image
