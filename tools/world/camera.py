# SPDX-License-Identifier: LGPL-2.1-or-later
"""A pinhole camera over the town.

World axes in metres: x to the east, y to the north, z up; the ground is z = 0. Yaw 0 looks north,
a positive one to the east; pitch is downwards; both are in radians.
"""
import math

import numpy as np

NEAR = 0.4    # metres; nothing nearer is drawn


class Camera:
    """Maps points of the world to pixels."""

    def __init__(self, size, position, yaw, pitch, focal):
        """Create a camera; size and focal length are in pixels."""
        self.width, self.height = size
        self.position = np.array(position, float)
        self.focal = float(focal)
        sin, cos = math.sin(pitch), math.cos(pitch)
        ahead = (math.sin(yaw) * cos, math.cos(yaw) * cos, -sin)
        right = (math.cos(yaw), -math.sin(yaw), 0.0)
        self.axes = np.array((right, -np.cross(right, ahead), ahead))
        self.ahead = self.axes[2]

    def view(self, points):
        """Return points, N x 3, in the camera's axes: right, down, ahead."""
        return (np.asarray(points, float) - self.position) @ self.axes.T

    def pixels(self, view):
        """Return x, y and depth of points in the camera's axes that are ahead of it."""
        depth = np.maximum(view[:, 2], 1e-3)
        out = np.empty((len(view), 3))
        out[:, 0] = self.width / 2 + self.focal * view[:, 0] / depth
        out[:, 1] = self.height / 2 + self.focal * view[:, 1] / depth
        out[:, 2] = view[:, 2]
        return out

    def project(self, points):
        """Return x and y in pixels, and the depth in metres, of points N x 3."""
        return self.pixels(self.view(points))

    def polygon(self, points):
        """Return the pixels of a polygon's part ahead of the camera, N x 2; it may be empty."""
        view = self.view(points)
        if (view[:, 2] > NEAR).all():
            return self.pixels(view)[:, :2]
        return self.pixels(ahead_of(view))[:, :2]

    def horizon(self):
        """Return the y of the horizon in pixels."""
        slope = -self.ahead[2] / math.hypot(self.ahead[0], self.ahead[1])
        return self.height / 2 - self.focal * slope

    def ground(self, x, y):
        """Return the point of the ground, x and y in metres, that is drawn at a pixel."""
        ray = np.array(((x - self.width / 2) / self.focal, (y - self.height / 2) / self.focal, 1))
        ray = ray @ self.axes
        return (self.position - ray * self.position[2] / ray[2])[:2]


def ahead_of(view):
    """Return the part of a polygon, in the camera's axes, that is ahead of NEAR."""
    out = []
    for one, other in zip(view, np.roll(view, -1, 0)):
        if one[2] > NEAR:
            out.append(one)
        if (one[2] > NEAR) != (other[2] > NEAR):
            out.append(one + (other - one) * ((NEAR - one[2]) / (other[2] - one[2])))
    return np.array(out).reshape(-1, 3)
