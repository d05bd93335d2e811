# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws a frame, and keeps which object covers each pixel."""
import numpy as np

from .graphics import cairo

WHOLE = 2 ** 30


class Canvas:
    """A picture, and for each pixel the identity of the object that covers it.

    What is drawn between begin() and end() is one object. Its outline is drawn a second time,
    without antialiasing, into `outline`, from which end() takes the object's pixels. Details lie
    within the outline and are not drawn there.
    """

    def __init__(self, width, height):
        self.width, self.height = width, height
        self.surface = cairo.ImageSurface(cairo.FORMAT_RGB24, width, height)
        self.context = pen(self.surface)
        self.outline = cairo.ImageSurface(cairo.FORMAT_A8, width, height)
        self.outlines = pen(self.outline)
        self.outlines.set_antialias(cairo.ANTIALIAS_NONE)
        self.covered = pixels_of(self.outline, 1)[:, :, 0]
        self.ids = np.zeros((height, width), np.int32)
        self.haze, self.haze_part = (0, 0, 0), 0.0
        self.open, self.bounds = False, None

    def image(self):
        """Return the picture: uint8, height x width x 3, RGB."""
        self.surface.flush()
        return pixels_of(self.surface, 4)[:, :, 2::-1].copy()

    # --- objects

    def begin(self):
        """Begin an object."""
        self.open, self.bounds = True, [WHOLE, WHOLE, -WHOLE, -WHOLE]

    def end(self, identity):
        """End an object, and give its pixels an identity; 0 is scenery.

        Returns its full bounds x1, y1, x2, y2, which may reach outside of the picture, and the
        number of its pixels within the picture; or None if it has none there.
        """
        part = self.part()
        self.open = False
        if part is None:
            return None
        self.outline.flush()
        covered = self.covered[part]
        inside = covered != 0
        count = int(np.count_nonzero(inside))
        self.ids[part][inside] = identity
        covered[:] = 0
        self.outline.mark_dirty()
        return (tuple(self.bounds), count) if count else None

    def part(self):
        """Complete the outline; return the slices of the object's bounds, or None if outside."""
        self.outlines.fill()
        x1, y1, x2, y2 = self.bounds
        left, top = max(0, int(x1) - 1), max(0, int(y1) - 1)
        right, bottom = min(self.width, int(x2) + 2), min(self.height, int(y2) + 2)
        return (slice(top, bottom), slice(left, right)) if left < right and top < bottom else None

    def contexts(self, detail):
        """Return the contexts to draw in: also the outline, without the polygons left in it."""
        if detail or not self.open:
            return (self.context,)
        self.outlines.fill()
        return (self.context, self.outlines)

    def reach(self, points, margin):
        """Extend the open object's bounds by points and a margin around them."""
        x1, y1, x2, y2 = self.bounds
        for point in points:
            x, y = point[0], point[1]
            if x - margin < x1:
                x1 = x - margin
            if x + margin > x2:
                x2 = x + margin
            if y - margin < y1:
                y1 = y - margin
            if y + margin > y2:
                y2 = y + margin
        self.bounds = [x1, y1, x2, y2]

    # --- drawing; coordinates in pixels

    def ink(self, colour, alpha=1.0):
        """Choose the colour to draw with, seen through the air."""
        part = self.haze_part
        red, green, blue = (a + (b - a) * part for a, b in zip(colour, self.haze))
        self.context.set_source_rgba(red, green, blue, alpha)

    def polygon(self, points, colour, detail=False, alpha=1.0, edge=0.0):
        """Fill a polygon; an edge of some pixels in the same colour rounds and covers seams."""
        self.ink(colour, alpha)
        trace(self.context, points)
        if edge:
            self.context.set_line_width(edge)
            self.context.fill_preserve()
            self.context.stroke()
        else:
            self.context.fill()
        if self.open and not detail:
            self.reach(points, edge / 2)
            if edge > 1:
                self.outlines.fill()
            trace(self.outlines, points)
            if edge > 1:
                self.outlines.set_line_width(edge)
                self.outlines.fill_preserve()
                self.outlines.stroke()

    def line(self, points, width, colour, detail=False, alpha=1.0):
        """Draw a line through points, with round ends."""
        self.ink(colour, alpha)
        for context in self.contexts(detail):
            context.set_line_width(width)
            context.move_to(points[0][0], points[0][1])
            for point in points[1:]:
                context.line_to(point[0], point[1])
            context.stroke()
        if self.open and not detail:
            self.reach(points, width / 2)

    def disc(self, x, y, radius, colour, detail=False, alpha=1.0):
        """Fill a circle."""
        self.ink(colour, alpha)
        for context in self.contexts(detail):
            context.arc(x, y, radius, 0, 6.2832)
            context.fill()
        if self.open and not detail:
            self.reach(((x, y),), radius)

    def glow(self, x, y, radius, colour, alpha):
        """Add light that fades with the distance from a point."""
        fade = cairo.RadialGradient(x, y, 0, x, y, radius)
        fade.add_color_stop_rgba(0, *colour, alpha)
        fade.add_color_stop_rgba(0.35, *colour, alpha * 0.35)
        fade.add_color_stop_rgba(1, *colour, 0)
        self.context.set_operator(cairo.OPERATOR_SCREEN)
        self.context.set_source(fade)
        self.context.arc(x, y, radius, 0, 6.2832)
        self.context.fill()
        self.context.set_operator(cairo.OPERATOR_OVER)


def pen(surface):
    """Return a context with round joins and ends."""
    context = cairo.Context(surface)
    context.set_line_join(cairo.LINE_JOIN_ROUND)
    context.set_line_cap(cairo.LINE_CAP_ROUND)
    return context


def pixels_of(surface, bytes_per_pixel):
    """Return a surface's memory as an array, height x width x bytes; writes reach the surface."""
    height, stride = surface.get_height(), surface.get_stride()
    memory = np.frombuffer(surface.get_data(), np.uint8).reshape(height, stride)
    width = surface.get_width()
    return memory[:, :width * bytes_per_pixel].reshape(height, width, bytes_per_pixel)


def trace(context, points):
    """Add a closed polygon to a context's path."""
    context.move_to(points[0][0], points[0][1])
    for point in points[1:]:
        context.line_to(point[0], point[1])
    context.close_path()
