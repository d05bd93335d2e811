# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws test pictures: noise, rectangles, discs and lines."""
import cv2
import numpy as np
import torch


def draw(width, height, seed):
    """Returns height x width x (B, G, R)."""
    rng = np.random.default_rng(seed)
    coarse = rng.integers(40, 216, (height // 40 + 2, width // 40 + 2, 3), np.uint8)
    picture = cv2.resize(coarse, (width, height), interpolation=cv2.INTER_CUBIC)
    for _ in range(60):
        colour = tuple(int(v) for v in rng.integers(0, 256, 3))
        x, y = int(rng.integers(0, width)), int(rng.integers(0, height))
        w, h = (int(v) for v in rng.integers(8, max(width, height) // 4, 2))
        filled = -1 if rng.random() < 0.7 else 3
        shape = rng.integers(0, 3)
        if shape == 0:
            cv2.rectangle(picture, (x, y), (x + w, y + h), colour, filled)
        elif shape == 1:
            angle = int(rng.integers(0, 180))
            cv2.ellipse(picture, (x, y), (w // 2, h // 2), angle, 0, 360, colour, filled)
        else:
            cv2.line(picture, (x, y), (x + w, y - h), colour, 5)
    noise = rng.normal(0, 3, picture.shape)
    return np.clip(picture + noise, 0, 255).astype(np.uint8)


def write(folder, width, height):
    """Draws the picture of that size, once. Returns its path."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f'{width}x{height}.png'
    if not path.exists():
        cv2.imwrite(str(path), draw(width, height, width * 10000 + height))
    return path


def read(path):
    """Returns height x width x (R, G, B)."""
    return cv2.imread(str(path))[:, :, ::-1].copy()


def scale(picture, size, **_):
    """Scales the picture, linearly between four pixels and rounded to nearest. OpenCV sometimes
    rounds down, by a tenth of a level on average; others smooth first."""
    given = torch.from_numpy(np.ascontiguousarray(picture)).permute(2, 0, 1)[None].double()
    made = torch.nn.functional.interpolate(given, (size[1], size[0]), mode='bilinear')
    return made[0].permute(1, 2, 0).round().byte().numpy()
