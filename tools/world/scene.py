# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scene: scenery that does not move, traffic, and how a frame is drawn from back to front."""
import dataclasses

import numpy as np

from . import actors, truth, weather
from .canvas import Canvas, pixels_of
from .graphics import cairo
from .order import in_front, sorted_by
from .palette import LAMP_RED, LAMP_WHITE
from .people import AT
from .sky import air
from .solids import cast, hull, placed

SHADOWS = 4          # pixels of the picture per pixel of the layer of shadows
SMALLEST = 12        # pixels that have to be visible of an object in the truth


@dataclasses.dataclass
class Prop:
    """Scenery that can hide objects: a picture, its place, and where it stands on the ground.

    feet: corners of its footprint, or its only point.
    """
    ground: np.ndarray
    feet: np.ndarray
    left: int
    top: int
    picture: object
    covers: np.ndarray


class Scene:
    """A camera's view of a part of the town; what is in it comes from `traffic`."""

    def __init__(self, camera, mood, traffic, canvas_scale=1):
        self.camera, self.mood, self.traffic = camera, mood, traffic
        self.canvas = Canvas(camera.width, camera.height)
        self.background, self.still_shadows, self.props = None, None, []
        self.oriented = False
        self.rng = np.random.default_rng(int(canvas_scale) + 99)

    # --- before the first frame

    def finish(self, paint_scenery):
        """Draw the scenery once, and keep it."""
        self.still_shadows = cairo.ImageSurface(cairo.FORMAT_A8, -(-self.camera.width // SHADOWS),
                                                -(-self.camera.height // SHADOWS))
        paint_scenery()
        self.background = cairo.ImageSurface(cairo.FORMAT_RGB24, self.camera.width,
                                             self.camera.height)
        pixels_of(self.background, 4)[:] = pixels_of(self.canvas.surface, 4)
        self.background.mark_dirty()

    def still_shadow(self, points):
        """Add a shadow of scenery: a polygon of the ground."""
        self.shadow(cairo.Context(self.still_shadows), [self.camera.polygon(points)])

    def add_prop(self, ground, paint, feet=None):
        """Keep the picture of scenery that can hide objects; paint(canvas) draws it.

        feet: corners of its footprint, if it is larger than a post.
        """
        canvas = Canvas(self.camera.width, self.camera.height)
        layer = cairo.ImageSurface(cairo.FORMAT_ARGB32, canvas.width, canvas.height)
        canvas.surface, canvas.context = layer, cairo.Context(layer)
        canvas.context.set_line_cap(cairo.LINE_CAP_ROUND)
        canvas.context.set_line_join(cairo.LINE_JOIN_ROUND)
        far = self.camera.project(np.array([[*ground, 0]]))[0, 2]
        if far < 0.6:
            return
        canvas.haze, canvas.haze_part = self.mood.haze, air(far, self.mood)
        canvas.begin()
        paint(canvas)
        part = canvas.part()
        if part is None:
            return
        small = cairo.ImageSurface(cairo.FORMAT_ARGB32, part[1].stop - part[1].start,
                                   part[0].stop - part[0].start)
        layer.flush()
        canvas.outline.flush()
        pixels_of(small, 4)[:] = pixels_of(layer, 4)[part]
        small.mark_dirty()
        feet = np.array([ground] if feet is None else feet, float)
        self.props.append(Prop(np.array(ground), feet, part[1].start, part[0].start, small,
                               canvas.covered[part] != 0))

    # --- each frame

    def render(self):
        """Return the frame of now."""
        canvas = self.canvas
        canvas.context.set_source_surface(self.background, 0, 0)
        canvas.context.paint()
        canvas.ids[:] = 0
        shown = [actor for actor in self.traffic.actors() if self.near(actor)]
        self.draw_shadows(shown)
        self.before_objects()
        drawn = []
        for item in self.arranged(shown):
            if isinstance(item, Prop):
                self.put_prop(item)
            else:
                drawn += self.draw_actor(item)
        canvas.haze_part = 0
        self.draw_lamps(shown)
        weather.finish(self)
        return truth.Frame(canvas.image(), truth.find(drawn, canvas.ids, SMALLEST))

    def before_objects(self):
        """Draw what changes from frame to frame and is under the objects."""

    def near(self, actor):
        """True if an actor may be in the picture."""
        length, _, height = actor.size()
        points = [(*actor.position[:2], z) for z in (0, height)]
        view = self.camera.view(points)
        reach = length * 0.75
        far = view[:, 2].max()
        if far < -reach or far < 0.8 and actor.kind not in actors.VEHICLES:
            return False
        wide = self.camera.width / 2 / self.camera.focal
        return bool((np.abs(view[:, 0]) < np.maximum(view[:, 2], 0) * wide + 2 * reach).any())

    def arranged(self, shown):
        """Return actors and props from the farthest to the nearest."""
        items = self.props + [actor for actor in shown if actor.pose != "ride"]
        feet = [item.feet if isinstance(item, Prop) else item.corners() for item in items]
        spans = self.spans(feet)
        where = np.array([[*(i.ground if isinstance(i, Prop) else i.position)[:2], 0.0]
                          for i in items]).reshape(-1, 3)
        depth = self.camera.project(where)[:, 2]
        long = [i for i, points in enumerate(feet) if len(points) == 4
                and np.abs(points[0] - points[2]).sum() > 1.5]
        first, waits = [[] for _ in items], [0] * len(items)
        eye = self.camera.position[:2]
        for place, i in enumerate(long):
            meets = (spans[:, 0] < spans[i, 1]) & (spans[:, 1] > spans[i, 0])
            meets &= (np.abs(depth - depth[i]) < 26)
            meets[i] = False
            meets[long[:place]] = False
            for j in np.flatnonzero(meets).tolist():
                front = in_front(feet[i], feet[j], eye)
                if front:
                    a, b = (i, j) if front > 0 else (j, i)
                    first[a].append(b)
                    waits[b] += 1
        return [items[i] for i in sorted_by(depth, first, waits)]

    def spans(self, feet):
        """Return the least and the largest x in pixels of footprints, with a margin."""
        out = np.empty((len(feet), 2))
        flat = np.concatenate(feet) if feet else np.empty((0, 2))
        x = self.camera.project(np.column_stack([flat, np.zeros(len(flat))]))
        wide = np.where(x[:, 2] < 0.5, 1e5 * np.sign(x[:, 0] - self.camera.width / 2), x[:, 0])
        margin = self.camera.focal / np.maximum(x[:, 2], 1)
        start = 0
        for i, points in enumerate(feet):
            mine = slice(start, start + len(points))
            out[i] = (wide[mine] - margin[mine]).min(), (wide[mine] + margin[mine]).max()
            start += len(points)
        return out

    def draw_actor(self, actor):
        """Draw an actor, and its rider; return what was drawn."""
        camera, canvas, out = self.camera, self.canvas, []
        for each in (actor, actor.rider) if actor.rider else (actor,):
            far = np.linalg.norm(camera.position[:2] - each.position[:2])
            canvas.haze, canvas.haze_part = self.mood.haze, air(far, self.mood)
            canvas.begin()
            keypoints, plate = actors.draw(each, canvas, camera, self.mood)
            oriented = self.oriented_box(each) if self.oriented else None
            done = canvas.end(each.identity)
            if done:
                out.append(truth.Drawn(each, *done, keypoints, plate, oriented))
        return out

    def oriented_box(self, actor):
        """Return the oriented box of the actor that is being drawn."""
        part = self.canvas.part()
        if part is None:
            return None
        self.canvas.outline.flush()
        rows, columns = np.nonzero(self.canvas.covered[part])
        if len(rows) == 0:
            return None
        pixels = np.stack([columns + part[1].start + 0.5, rows + part[0].start + 0.5], 1)
        _, _, height = actor.size()
        ends = [actor.along(ahead, height / 2) for ahead in (-0.5, 0.5)]
        return truth.heading_box(self.camera.project(np.array(ends))[:, :2], pixels, None)

    def put_prop(self, prop):
        """Paint scenery over the frame."""
        context = self.canvas.context
        context.set_source_surface(prop.picture, prop.left, prop.top)
        context.paint()
        high, wide = prop.covers.shape
        part = self.canvas.ids[prop.top:prop.top + high, prop.left:prop.left + wide]
        part[prop.covers] = 0

    def shadow(self, context, polygons):
        """Fill polygons of pixels in the layer of shadows."""
        context.scale(1 / SHADOWS, 1 / SHADOWS)
        for points in polygons:
            if len(points) > 2:
                context.move_to(points[0][0], points[0][1])
                for point in points[1:]:
                    context.line_to(point[0], point[1])
                context.fill()

    def draw_shadows(self, shown):
        """Paint the shadows of scenery and objects."""
        layer = cairo.ImageSurface(cairo.FORMAT_A8, self.still_shadows.get_width(),
                                   self.still_shadows.get_height())
        pixels_of(layer, 1)[:] = pixels_of(self.still_shadows, 1)
        layer.mark_dirty()
        context = cairo.Context(layer)
        context.set_line_cap(cairo.LINE_CAP_ROUND)
        polygons = []
        for actor in shown:
            if actor.kind in actors.VEHICLES:
                points = self.camera.project(cast(actor.solid(), self.mood.sun))
                if (points[:, 2] > 0.5).all():
                    polygons.append(hull(points))
        self.shadow(context, polygons)
        for actor in shown:
            if actor.kind not in actors.VEHICLES:
                self.figure_shadow(context, actor)
        target = self.canvas.context
        target.save()
        target.scale(SHADOWS, SHADOWS)
        target.set_source_rgba(*self.mood.shadow, self.mood.shade)
        pattern = cairo.SurfacePattern(layer)
        pattern.set_filter(cairo.FILTER_BILINEAR)
        target.mask(pattern)
        target.restore()

    def figure_shadow(self, context, actor):
        """Draw the shadow of a person, a cycle or a dog as lines."""
        if actor.kind == "person":
            points, lines = actor.points(), PERSON_LINES
        else:
            length, _, height = actor.size()
            points = np.array([actor.along(a * length / 2, z) for a, z in
                               ((-.7, .1), (.7, .1), (0, height * .8), (-.7, .5), (.7, .5))])
            lines = CYCLE_LINES
        at = self.camera.project(cast(points, self.mood.sun))
        if (at[:, 2] < 0.5).any():
            return
        unit = self.camera.focal / at[0, 2]
        for names, width in lines:
            context.set_line_width(max(2.0, width * unit))
            context.move_to(*at[names[0]][:2])
            for name in names[1:]:
                context.line_to(*at[name][:2])
            context.stroke()

    def draw_lamps(self, shown):
        """Draw the glow of lamps at dusk."""
        if not self.mood.lamps:
            return
        strength = 0.9 if self.mood.name == "dusk" else 0.45
        for actor in shown:
            if actor.kind not in actors.VEHICLES or actor.parked:
                continue
            length, width, _ = actor.size()
            eye = self.camera.position[:2] - actor.position
            facing = eye @ np.array((np.cos(actor.heading), np.sin(actor.heading)))
            front = facing > 0
            x = (length / 2 - 0.02) * (1 if front else -1)
            for side in (-1, 1):
                self.lamp(actor, x, side * width * 0.36, LAMP_WHITE if front else LAMP_RED,
                          strength if front else strength * 0.7)

    def lamp(self, actor, x, y, colour, strength):
        """Draw the glow of one lamp, if nothing hides it."""
        at = self.camera.project(placed([(x, y, 0.68)], actor.position, actor.heading))[0]
        px, py = int(at[0]), int(at[1])
        if at[2] < 1 or not (0 <= px < self.canvas.width and 0 <= py < self.canvas.height):
            return
        if self.canvas.ids[py, px] == actor.identity:
            unit = self.camera.focal / at[2]
            self.canvas.glow(at[0], at[1], max(3.0, 0.75 * unit), colour, strength)


PERSON_LINES = tuple(
    (tuple(AT[name] for name in names), width) for names, width in (
        (("left_ankle", "left_knee", "left_hip"), 0.16),
        (("right_ankle", "right_knee", "right_hip"), 0.16), (("left_hip", "neck"), 0.34),
        (("right_hip", "neck"), 0.34), (("neck", "head"), 0.2), (("head", "hair"), 0.25),
        (("left_shoulder", "left_elbow", "left_wrist"), 0.1),
        (("right_shoulder", "right_elbow", "right_wrist"), 0.1)))
CYCLE_LINES = (((0, 1), 0.12), ((3, 2, 4), 0.14), ((3, 4), 0.12))
