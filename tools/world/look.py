# SPDX-License-Identifier: LGPL-2.1-or-later
"""Pictures of what models find."""
import cv2
import numpy as np

from . import samples


def draw(path, image, boxes, labels, scores, scale):
    """Write a picture with boxes."""
    picture = image[..., ::-1].copy()
    for box, label, score in zip(boxes, labels, scores):
        x1, y1, x2, y2 = np.round((box - (0, samples.BORDER) * 2) / scale).astype(int).tolist()
        cv2.rectangle(picture, (x1, y1), (x2, y2), (60, 60, 255), 2)
        cv2.putText(picture, f"{samples.NAMES[label]} {score:.2f}", (x1, y1 - 3),
                    cv2.FONT_HERSHEY_SIMPLEX, 0.4, (255, 255, 255), 1, cv2.LINE_AA)
    cv2.imwrite(str(path), picture)


def draw_oriented(path, image, rows, scale):
    """Write a picture with oriented boxes."""
    picture = image[..., ::-1].copy()
    for x, y, wide, high, angle, *_ in rows:
        corners = cv2.boxPoints(((x / scale, (y - samples.BORDER) / scale),
                                 (wide / scale, high / scale), np.degrees(angle)))
        cv2.polylines(picture, [np.round(corners).astype(int)], True, (60, 60, 255), 2, cv2.LINE_AA)
    cv2.imwrite(str(path), picture)
