#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the benchmarks' times against the number of candidates.

usage: plot_bench.py BENCH.json PLOT.svg   where `./dev bench --json BENCH.json` made the first
       plot_bench.py --section SECTION GPU.json [TORCH.json] PLOT.svg
           where `gpu-bench --json` and `torch_peer.py --json` made the first ones: a section of the
           table ('84x8400 frames'), and where the CPU is as fast as the GPU
"""
import collections
import json
import math
import sys

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 420, 70, 40, 50
LETTER = 7  # pixels a letter of a label takes
COLOURS = ['#d6336c', '#868e96', '#f08c00', '#1971c2', '#2f9e44', '#7048e8']
FRAMES = ['simd', 'element boxdecode', 'OpenCV NMSBoxesBatched', 'element yolov8tensordec',
          'reference']
GPU, CPU = 'keepbox cuda', 'keepbox simd'


def read(paths, section):
    """Points (candidates, microseconds) of each contender."""
    lines = collections.defaultdict(list)
    for path in paths:
        with open(path, encoding='utf-8') as file:
            for row in json.load(file):
                wanted = (row['contender'] in FRAMES if section is None else
                          row['section'] == section and row['state'] in ('', 'in turn'))
                if row['candidates'] and wanted:
                    lines[row['contender']].append((row['candidates'], row['p50_us']))
    names = FRAMES if section is None else lines
    return {name: sorted(lines[name]) for name in names if name in lines}


def crossovers(lines):
    """(candidates, microseconds, name) where a line of the GPU meets the CPU's."""
    cpu = dict(lines.get(CPU, []))
    for name, points in lines.items():
        if not name.startswith(GPU):
            continue
        # how far above the CPU's line, by the logarithms of both axes
        above = [(math.log(x), math.log(y / cpu[x]), math.log(y)) for x, y in points if x in cpu]
        for (x0, d0, y0), (x1, d1, y1) in zip(above, above[1:]):
            if d0 * d1 < 0:
                at = d0 / (d0 - d1)
                yield math.exp(x0 + at * (x1 - x0)), math.exp(y0 + at * (y1 - y0)), name


def scale(low, high, start, end):
    """A logarithmic axis."""
    return lambda v: start + (math.log10(v / low)) / math.log10(high / low) * (end - start)


def decades(values):
    low, high = math.floor(math.log10(min(values))), math.ceil(math.log10(max(values)))
    return [10 ** k for k in range(low, max(high, low + 1) + 1)]


def grid(x_ticks, y_ticks, x_of, y_of, right):
    for tick in x_ticks:
        x = f'{x_of(tick):.1f}'
        yield (f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" stroke="#dee2e6"/>'
               f'<text x="{x}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{tick:,g}</text>')
    for tick in y_ticks:
        y = y_of(tick)
        yield (f'<line x1="{LEFT}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" stroke="#dee2e6"/>'
               f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{tick:,.0f}</text>')


def curve(points, colour, x_of, y_of):
    path = ' '.join(f'{x_of(x):.1f},{y_of(y):.1f}' for x, y in points)
    yield f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>'
    for x, y in points:
        yield f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>'


def names(lines, colours, x_of, y_of):
    """Names beside the lines' ends, moved apart."""
    place = -1e9
    for y, name in sorted((y_of(points[-1][1]), name) for name, points in lines.items()):
        place = max(y, place + 16)
        yield (f'<text x="{x_of(lines[name][-1][0]) + 10:.1f}" y="{place + 4:.1f}" '
               f'fill="{colours[name]}">{name}</text>')


def marks(lines, colours, x_of, y_of):
    for number, (x, y, name) in enumerate(crossovers(lines)):
        colour, left, top = colours[name], x_of(x), y_of(y)
        yield (f'<line x1="{left:.1f}" x2="{left:.1f}" y1="{top:.1f}" y2="{HEIGHT - BOTTOM}" '
               f'stroke="{colour}" stroke-dasharray="4 3"/><text x="{left + 5:.1f}" '
               f'y="{HEIGHT - BOTTOM - 8 - 16 * number}" fill="{colour}">{x:,.0f}</text>')


def draw(lines, title):
    right = WIDTH - 20 - LETTER * max(map(len, lines))
    x_ticks = decades([x for points in lines.values() for x, _ in points])
    y_ticks = decades([y for points in lines.values() for _, y in points])
    x_of = scale(x_ticks[0], x_ticks[-1], LEFT, right)
    y_of = scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    colours = dict(zip(lines, COLOURS))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="{LEFT}" y="24" font-size="15">{title}</text>',
           *grid(x_ticks, y_ticks, x_of, y_of, right)]
    for name, points in lines.items():
        out += curve(points, colours[name], x_of, y_of)
    return '\n'.join([*out, *names(lines, colours, x_of, y_of), *marks(lines, colours, x_of, y_of),
                      '</svg>', ''])


def main():
    arguments, section = sys.argv[1:], None
    if arguments[:1] == ['--section']:
        section, arguments = arguments[1], arguments[2:]
    if len(arguments) < 2:
        sys.exit(__doc__)
    lines = read(arguments[:-1], section)
    if not lines:
        sys.exit(f'plot_bench: expected rows to draw in {arguments[0]}, found none')
    what = 'One 84x8400 frame, score &gt; 0.25' if section is None else section
    with open(arguments[-1], 'w', encoding='utf-8') as file:
        file.write(draw(lines, f'{what}: microseconds (p50) against candidates'))


main()
