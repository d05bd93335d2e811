# SPDX-License-Identifier: LGPL-2.1-or-later
"""Matches and compares the objects of two detectors."""
import math

import numpy as np

from line import covers

# Tolerances if the model sees the same pixels, and if two scalers made them: pixels of boxes and
# points, scores, and the minimum overlap of masks. A box whose score is within `edge` of the
# threshold may be missing on either side; `share` is the minimum part that must match.
SAME = {'pixels': 0.1, 'score': 1e-3, 'mask': 0.5, 'edge': 1e-3, 'share': 0.97}
# Models with 16 bits inside, or to which a rounding of the input makes a difference.
HALF = {'pixels': 1.0, 'score': 0.01, 'mask': 0.5, 'edge': 0.01, 'share': 0.9}
SCALED = {'pixels': 6.0, 'score': 0.1, 'mask': 0.4, 'edge': 0.1, 'share': 0.7}

LEAST_SIDE = 0.01
# Pixels of a mask: of smaller ones, frameworks drop the boxes whose mask is empty at the size of
# the input, and keepbox those whose mask is empty at the size of the prototypes.
LEAST_COVERED = 100


def corners(each):
    """Returns the corners of an upright or oriented box, 4x2."""
    if 'box' in each:
        x1, y1, x2, y2 = each['box']
        return np.array([[x1, y1], [x2, y1], [x2, y2], [x1, y2]])
    x, y, w, h, angle = each['oriented']
    along = np.array([math.cos(angle), math.sin(angle)]) * w / 2
    across = np.array([-math.sin(angle), math.cos(angle)]) * h / 2
    centre = np.array([x, y])
    return np.array([centre - along - across, centre + along - across, centre + along + across,
                     centre - along + across])


def distance(a, b):
    """Returns the largest distance between corresponding corners, starting at any corner."""
    if 'box' in a:
        return float(np.abs(corners(a) - corners(b)).max())
    b = corners(b)
    return min(float(np.abs(corners(a) - np.roll(b, turn, 0)).max()) for turn in range(4))


def clipped(each, width, height):
    """Returns the object with its upright box and its points clipped to the frame: keepbox clips
    boxes but not points; frameworks differ."""
    out = dict(each)
    if 'box' in each:
        x1, y1, x2, y2 = each['box']
        out['box'] = [max(x1, 0), max(y1, 0), min(x2, width), min(y2, height)]
    if 'points' in each:
        out['points'] = [[min(max(x, 0), width), min(max(y, 0), height), *more]
                         for x, y, *more in each['points']]
    return out


def has_area(each):
    """True if the box is more than a line; keepbox drops lines."""
    if 'oriented' in each:
        return True
    x1, y1, x2, y2 = each['box']
    return min(x2 - x1, y2 - y1) > LEAST_SIDE


def from_line(each):
    """Converts an object of boxsink to the form of the expected ones."""
    box = {'score': each['detection']['confidence'], 'class': each['detection'].get('label_id'),
           'label': each['detection'].get('label')}
    x, y, w, h = (each[key] for key in 'xywh')
    if 'rotation' in each:
        box['oriented'] = [x + w / 2, y + h / 2, w, h, each['rotation']]
    else:
        box['box'] = [x, y, x + w, y + h]
    if 'keypoints' in each:
        box['points'] = each['keypoints']['points']
    if 'mask' in each:
        box['mask'] = each['mask']
        box['covers'] = covers(each['mask'])
    return box


def match(wanted, found, limits):
    """Returns pairs of indices in both lists, nearest first, with equal class and score."""
    pairs, free = [], set(range(len(found)))
    for i, each in enumerate(wanted):
        near = [(distance(each, found[j]), j) for j in free if found[j]['class'] == each['class']
                and abs(found[j]['score'] - each['score']) <= limits['score']]
        near = [(d, j) for d, j in near if d <= limits['pixels']]
        if near:
            _, j = min(near)
            free.discard(j)
            pairs.append((i, j))
    return pairs


def points_differ(a, b, limits):
    """Returns the largest difference of points visible to both, relative to the tolerance."""
    if len(a) != len(b):
        return math.inf
    a, b = np.array(a, float), np.array(b, float)
    worst = float(np.abs(a[:, :2] - b[:, :2]).max()) / limits['pixels']
    if a.shape[1] > 2 and b.shape[1] > 2:
        worst = max(worst, float(np.abs(a[:, 2] - b[:, 2]).max()) / limits['score'])
    return worst


def only(objects, taken, threshold, limits):
    """Returns objects that lack a required counterpart."""
    return [each for i, each in enumerate(objects)
            if i not in taken and each['score'] > threshold + limits['edge']
            and each.get('covers', LEAST_COVERED) >= LEAST_COVERED]


def show(each):
    place = [round(v, 2) for v in each.get('box') or each['oriented']]
    return f'class {each["class"]} {each["score"]:.4f} at {place}'


def compare(wanted, found, threshold, limits):
    """Returns a list of differences; empty if equal."""
    pairs = match(wanted, found, limits)
    missing = only(wanted, {i for i, _ in pairs}, threshold, limits)
    extra = only(found, {j for _, j in pairs}, threshold, limits)
    differences = []
    most = max(len(wanted), len(found), 1)
    if max(len(missing), len(extra)) / most > 1 - limits['share']:
        differences.append(f'{len(wanted)} expected, {len(found)} found, {len(pairs)} the same')
        for text, objects in (('not found', missing), ('not expected', extra)):
            if objects:
                differences.append(f'{text}: {show(objects[0])}')
    pointed = [points_differ(wanted[i]['points'], found[j].get('points', []), limits)
               for i, j in pairs if 'points' in wanted[i]]
    wrong = sum(worst > 1 for worst in pointed)
    if pointed and wrong / len(pointed) > 1 - limits['share']:
        differences.append(f'points differ in {wrong} of {len(pointed)}')
    return differences, pairs
