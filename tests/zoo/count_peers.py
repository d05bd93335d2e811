#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs boxcount and other counters of line crossings on small cases, each with its right count.

usage: count_peers.py [BOXCOUNT]    BOXCOUNT is a command that runs this script with --boxcount in
                                    an environment with the plugin (default: ./dev run python3
                                    and this script)

supervision (PyPI) is run if Python has it. gvaanalytics is its published rule (open-edge-platform's
dlstreamer, gvaanalyticsimpl.cpp, 2026): the last and this position are strictly on opposite sides,
and so are the ends of the line; positions are whole pixels. nvdsanalytics is what NVIDIA documents:
the bottom centre of boxes with a tracker's id, and a line that is extended beyond its ends unless
extended=0; what it does with positions on the line or near it and with missing frames is not
documented, so these cells are empty. Writes the table of docs/tracking.md. The exit status is 1 if
boxcount is wrong in any case."""
import json
import math
import pathlib
import shlex
import subprocess
import sys

NEAR = 5  # pixels
WIDE = (0, 300), (640, 300)


def down(*ys, x=320):
    return [None if y is None else {1: (x, y)} for y in ys]


def path(*points):
    return [{1: point} for point in points]


# What it is, the frames (places of feet by id; None: nothing was found), the right count as
# "in/out" of a line from left to right, and the line.
CASES = [
    ('straight through', down(200, 240, 280, 320, 360, 400, 440), '0/1', WIDE),
    ('not found for three frames at the line', down(200, 240, 280, None, None, None, 440, 480),
     '0/1', WIDE),
    ('jitter of 2 pixels on the line', down(260, 298, 302, 298, 302, 298, 302, 298, 260), '0/0',
     WIDE),
    ('the same, then through', down(260, 298, 302, 298, 302, 298, 302, 340), '0/1', WIDE),
    ('passes beside an end', down(*range(200, 441, 40), x=700), '0/0', WIDE),
    ('walks around an end', path((600, 200), (700, 260), (700, 380), (600, 440)), '0/0', WIDE),
    ('and back through', path((600, 200), (700, 260), (700, 380), (600, 440), (600, 200)), '1/0',
     WIDE),
    ('stands exactly on the line, then goes on', down(280, 300, 300, 320, 360, 440), '0/1', WIDE),
    ('stands exactly on the line, then goes back', down(280, 300, 300, 280, 240), '0/0', WIDE),
    ('begins on the line', down(300, 320, 440), '0/0', WIDE),
    ('one step of 300 pixels', down(200, 500), '0/1', WIDE),
    ('through and back', down(200, 280, 340, 440, 440, 340, 280, 200), '1/1', WIDE),
    ('a box that is taller than the space above', down(*range(20, 200, 20)), '0/1',
     ((0, 40), (640, 40))),
    ('two objects cross at the same time', [{1: (200, 280), 2: (400, 320)},
                                            {1: (200, 320), 2: (400, 280)}], '1/1', WIDE),
    ('a vertical line', path(*((x, 240) for x in range(100, 500, 50))), '1/0',
     ((300, 0), (300, 480))),
    ('another id behind the line', [{1: (320, 200)}, {1: (320, 280)}, {2: (320, 320)},
                                    {2: (320, 440)}], '0/0', WIDE),
    ('a pixel per frame', down(*range(280, 321)), '0/1', WIDE),
    ('stops 3 pixels behind the line', down(280, 298, 301, 303, 303, 303), '0/0', WIDE),
]


def box(point):
    """Returns the edges of a box of 40 x 80 with these feet."""
    x, y = point
    return x - 20, y - 80, x + 20, y


def boxcount_frames(Gst, GstAnalytics, GLib, frames):
    for number, frame in enumerate(frames):
        buffer = Gst.Buffer.new()
        buffer.pts = number * 40 * Gst.MSECOND
        meta = GstAnalytics.buffer_add_analytics_relation_meta(buffer)
        for key, point in (frame or {}).items():
            left, top, right, bottom = box(point)
            _, found = meta.add_od_mtd(GLib.quark_from_string('person'), left, top, right - left,
                                       bottom - top, 0.9)
            _, track = meta.add_tracking_mtd(key, 0)
            meta.set_relation(GstAnalytics.RelTypes.RELATE_TO, found.id, track.id)
        yield buffer


def boxcount_of(frames, line):
    import gi
    gi.require_version('Gst', '1.0')
    gi.require_version('GstAnalytics', '1.0')
    from gi.repository import GLib, Gst, GstAnalytics
    Gst.init(None)
    numbers = ','.join(str(number) for point in line for number in point)
    pipeline = Gst.parse_launch(
        'appsrc name=in format=time caps=video/x-raw,format=GRAY8,width=1280,height=720,'
        f'framerate=25/1 ! boxcount name=count lines=gate={numbers} ! fakesink')
    pipeline.set_state(Gst.State.PLAYING)
    source = pipeline.get_by_name('in')
    for buffer in boxcount_frames(Gst, GstAnalytics, GLib, frames):
        source.emit('push-buffer', buffer)
    source.emit('end-of-stream')
    counts, kinds = {'in': 0, 'out': 0}, Gst.MessageType
    while True:
        message = pipeline.get_bus().timed_pop_filtered(10 * Gst.SECOND,
                                                        kinds.EOS | kinds.ERROR | kinds.ELEMENT)
        if message.type != kinds.ELEMENT:
            break
        if message.get_structure().get_name() == 'boxcount-crossed':
            counts[message.get_structure().get_string('direction')] += 1
    assert message.type == kinds.EOS, message.parse_error()
    pipeline.set_state(Gst.State.NULL)
    return '{in}/{out}'.format(**counts)


def supervision_of(sv, frames, line, anchors):
    import numpy as np
    zone = sv.LineZone(sv.Point(*line[0]), sv.Point(*line[1]), **anchors)
    for frame in frames:
        found = frame or {}
        zone.trigger(sv.Detections(
            xyxy=np.array([box(point) for point in found.values()], float).reshape(-1, 4),
            tracker_id=np.array(list(found), int), class_id=np.zeros(len(found), int),
            confidence=np.ones(len(found))))
    return f'{zone.in_count}/{zone.out_count}'


def side(a, b, p):
    return (b[0] - a[0]) * (p[1] - a[1]) - (b[1] - a[1]) * (p[0] - a[0])


def opposite(a, b):
    return a < 0 < b or b < 0 < a


def gvaanalytics_of(frames, line):
    before, counts = {}, [0, 0]
    for frame in frames:
        for key, now in (frame or {}).items():
            last = before.get(key)
            if last and opposite(side(*line, last), side(*line, now)) and opposite(
                    side(last, now, line[0]), side(last, now, line[1])):
                counts[side(*line, now) > 0] += 1
            before[key] = now
    return '{}/{}'.format(*counts)


def nvdsanalytics_of(frames, line):
    """Returns None where the count depends on what is not documented."""
    before, counts = {}, [0, 0]
    for frame in frames:
        if frame is None:
            return None
        for key, now in frame.items():
            last, at = before.get(key), side(*line, now)
            if abs(at) <= NEAR * math.dist(*line):
                return None
            if last and opposite(side(*line, last), at):
                counts[at > 0] += 1
            before[key] = now
    return '{}/{}'.format(*counts)


def columns():
    """Returns the name and the function of each peer that is there."""
    out = {}
    try:
        import supervision as sv
        anchors = {'triggering_anchors': [sv.Position.BOTTOM_CENTER]}
        name = f'supervision {sv.__version__}'
        out[f'{name}, four corners'] = lambda *case: supervision_of(sv, *case, {})
        out[f'{name}, bottom centre'] = lambda *case: supervision_of(sv, *case, anchors)
    except ImportError:
        print('count_peers.py: no supervision for Python', file=sys.stderr)
    out['gvaanalytics, its rule'] = gvaanalytics_of
    out['nvdsanalytics, as documented'] = nvdsanalytics_of
    return out


def main():
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    if sys.argv[1:] == ['--boxcount']:
        print(json.dumps([boxcount_of(frames, line) for _, frames, _, line in CASES]))
        return
    script = pathlib.Path(__file__).resolve()
    command = sys.argv[1] if len(sys.argv) > 1 else f'./dev run python3 {shlex.quote(str(script))}'
    done = subprocess.run([*shlex.split(command), '--boxcount'], check=True, text=True,
                          stdout=subprocess.PIPE)
    found = {'`boxcount`': json.loads(done.stdout.splitlines()[-1])}
    for name, count in columns().items():
        found[name] = [count(frames, line) for _, frames, _, line in CASES]
    print('| | right |', ' | '.join(found), '|')
    print('| --- | ---: |', ' | '.join('---:' for _ in found), '|')
    for row, (what, _, right, _) in enumerate(CASES):
        cells = [('' if each[row] is None else each[row] if each[row] == right
                  else f'**{each[row]}**') for each in found.values()]
        print(f'| {what} | {right} |', ' | '.join(cells), '|')
    sys.exit(found['`boxcount`'] != [right for _, _, right, _ in CASES])


if __name__ == '__main__':
    main()
