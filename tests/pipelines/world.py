#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the drawn world: it is the same for a seed, and its truth agrees with its pixels."""
import ast
import importlib.util
import json
import sys

import numpy as np

from tap import SOURCE, Skip, main

sys.path.insert(0, str(SOURCE))
SIZE = (640, 360)


def world(name):
    """Imports a module of the world."""
    if not any(importlib.util.find_spec(each) for each in ('cairo', 'cairocffi')):
        raise Skip('no pycairo')
    return importlib.import_module(f'tools.world.{name}')


def street(seed, steps=0):
    scene = world('street').Street(seed, 'day', size=SIZE, warm=20.0)
    for _ in range(steps):
        scene.traffic.step(0.1)
    return scene


def facts(frame):
    return [(t.identity, t.kind, t.box, t.colour, t.text, t.mask.tobytes()) for t in frame.objects]


def test_a_seed_makes_the_same_frames(_folder):
    one, two, other = street(3, 5).render(), street(3, 5).render(), street(4, 5).render()
    assert (one.image == two.image).all() and facts(one) == facts(two)
    assert len(one.objects) > 10
    assert facts(one) != facts(other)


def drawn_alone(make, mood='day'):
    """Draws an actor over white; returns its pixels by colour, by outline, and its bounds."""
    actors, camera = world('actors'), world('camera')
    canvas = world('canvas').Canvas(*SIZE)
    canvas.context.set_source_rgb(1, 0, 1)
    canvas.context.paint()
    before = canvas.image().astype(int)
    view = camera.Camera(SIZE, (0, -12, 5), 0.0, 0.32, 560)
    actor = make(actors.Maker(np.random.default_rng(5)))
    if actor.rider:
        actors.seat(actor)
    canvas.begin()
    actors.draw(actor, canvas, view, world('palette').MOODS[mood])
    bounds, count = canvas.end(1)
    seen = np.abs(canvas.image().astype(int) - before).max(2) > 30
    assert count == np.count_nonzero(canvas.ids == 1)
    return seen, canvas.ids == 1, bounds


def limits(mask):
    rows, columns = np.flatnonzero(mask.any(1)), np.flatnonzero(mask.any(0))
    return np.array([columns[0], rows[0], columns[-1] + 1, rows[-1] + 1])


def test_outlines_are_what_is_drawn(_folder):
    names = world('vehicles').models()
    kinds = [lambda m, n=n: m.vehicle(n, (0.5, 0), 0.7) for n in names]
    kinds += [
    lambda m: m.person(
        (0, 0), 0.4), lambda m: m.person(
            (0, 0), 3.0, 'stand', 0.0), lambda m: m.cycle(
                'bicycle', (0, 0), 0.5), lambda m: m.cycle(
                    'motorcycle', (0, 0), 2.5), lambda m: m.dog(
                        (0, 0), 0.3)]
    for number, make in enumerate(kinds):
        seen, outline, bounds = drawn_alone(make)
        apart = np.abs(limits(seen) - limits(outline)).max()
        assert apart <= 1, f'{number}: the drawn pixels reach {apart} pixels beyond the outline'
        assert np.abs(limits(outline) - bounds).max() <= 1.5, (number, limits(outline), bounds)
        both, either = (seen & outline).sum(), (seen | outline).sum()
        assert both / either > 0.85, f'{number}: outline and drawn pixels share {both / either:.2f}'


def test_boxes_masks_and_visibility_agree(_folder):
    scene = street(3, 5)
    frame = scene.render()
    assert any(t.visible < 0.5 for t in frame.objects)
    assert any(t.visible > 0.99 for t in frame.objects)
    for truth in frame.objects:
        x1, y1, x2, y2 = truth.box
        part = scene.canvas.ids[y1:y2, x1:x2] == truth.identity
        assert (part == truth.mask).all()
        assert np.count_nonzero(scene.canvas.ids == truth.identity) == truth.mask.sum()
        assert truth.mask.any(0).all() or truth.visible < 1, truth.kind
        inner = np.array(truth.full) + (-1, -1, 1, 1)
        assert x1 >= inner[0] and y1 >= inner[1] and x2 <= inner[2] and y2 <= inner[3], truth.kind
        assert 0 < truth.visible <= 1
        if truth.keypoints is not None:
            for x, y, seen in truth.keypoints:
                assert seen != 2 or scene.canvas.ids[int(y), int(x)] == truth.identity
    assert len({t.identity for t in frame.objects}) == len(frame.objects)


def test_what_is_nearer_hides(_folder):
    actors, traffic = world('actors'), world('traffic')
    scene = street(3)
    make = actors.Maker(np.random.default_rng(1))
    bus, person = make.vehicle('bus', (-1.7, 14), 1.57), make.person((-1.2, 26), 0.0, 'stand', 0)
    bus.identity, person.identity = 9001, 9002
    for actors_ in ([person], [person, bus]):
        scene.traffic = traffic.Traffic(scene.rng, [], scene.signals, actors_)
        found = {t.identity: t.visible for t in scene.render().objects}
        assert (found.get(9002, 0) > 0.9) == (len(actors_) == 1), found


def test_identities_stay_with_their_objects(_folder):
    scene, known, places = street(5), {}, {}
    for _ in range(15):
        scene.traffic.step(0.04)
        for truth in scene.render().objects:
            now = (truth.kind, truth.colour)
            assert known.setdefault(truth.identity, now) == now
            centre = np.array(truth.full).reshape(2, 2).mean(0)
            last = places.get(truth.identity, centre)
            size = max(truth.full[2] - truth.full[0], truth.full[3] - truth.full[1])
            assert np.abs(centre - last).max() < 3 + 0.3 * size, (truth.kind, centre, last)
            places[truth.identity] = centre


def test_oriented_boxes_hold_their_pixels(_folder):
    scene = world('crossing').Crossing(3, 'day', size=SIZE, warm=10.0)
    corners_of, oriented = world('writers').corners_of, 0
    for truth in scene.render().objects:
        corners = np.array(corners_of(truth.oriented))
        rows, columns = np.nonzero(truth.mask)
        pixels = np.stack([columns + truth.box[0] + .5, rows + truth.box[1] + .5], 1)
        centre = corners.mean(0)
        for i in range(4):
            out = corners[i] - corners[(i + 1) % 4]
            out = np.array((-out[1], out[0])) / np.hypot(*out)
            out = out if out @ (corners[i] - centre) > 0 else -out
            assert ((pixels - corners[i]) @ out).max() < 1, truth.kind
        oriented += truth.kind == 'car'
    assert oriented > 2


def decoded(lengths):
    """Returns the mask of COCO's uncompressed run lengths."""
    height, width = lengths['size']
    values = np.repeat(np.arange(len(lengths['counts'])) % 2 == 1, lengths['counts'])
    assert len(values) == height * width
    return values.reshape(width, height).T


def test_files_hold_the_truth(folder):
    writers = world('writers')
    frame, coco, mot = street(3, 5).render(), writers.Coco(), writers.Mot()
    coco.add('a.png', frame)
    mot.add(frame)
    coco.write(folder / 'coco.json')
    mot.write(folder, 'street', 25)
    read = json.loads((folder / 'coco.json').read_text())
    lines = (folder / 'gt/gt.txt').read_text().splitlines()
    assert len(read['annotations']) == len(lines) == len(frame.objects)
    for truth, found, line in zip(frame.objects, read['annotations'], lines):
        mask = decoded(found['segmentation'])
        x, y, wide, high = found['bbox']
        assert (x, y, x + wide, y + high) == truth.box
        assert (mask[y:y + high, x:x + wide] == truth.mask).all() and mask.sum() == found['area']
        assert line.split(',')[:6] == [str(v) for v in (1, truth.identity, x, y, wide, high)]
    writers.write_png(folder / 'a.png', frame.image)
    assert (folder / 'a.png').read_bytes()[:4] == b'\x89PNG'


def test_models_of_crops_name_their_outputs(_folder):
    if not importlib.util.find_spec('onnxruntime'):
        raise Skip('no ONNX Runtime for Python')
    import onnxruntime
    plates, vehicles = (onnxruntime.InferenceSession(
        SOURCE / f'pipelines/models/world-{name}.onnx', providers=['CPUExecutionProvider'])
        for name in ('plates', 'vehicles'))
    characters = plates.get_modelmeta().custom_metadata_map['character'].split('\n')
    assert set(characters) == set(world('font').PLATE_LETTERS) | set('0123456789'), characters
    text, = plates.run(None, {'images': np.zeros((3, 3, 32, 128), np.float32)})
    assert text.shape == (3, 32, len(characters) + 1), text.shape
    named = vehicles.get_modelmeta().custom_metadata_map
    made = vehicles.run(None, {'images': np.zeros((2, 3, 64, 64), np.float32)})
    for output, scores in zip(vehicles.get_outputs(), made, strict=True):
        names = ast.literal_eval(named[f'names.{output.name}'])
        assert list(names) == list(range(scores.shape[1])), output.name
    assert tuple(ast.literal_eval(named['names.colour']).values()) == world('palette').COLOURS


main(globals())
