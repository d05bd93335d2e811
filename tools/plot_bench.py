#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the benchmark's times against the number of candidates.

usage: plot_bench.py BENCH.json PLOT.svg   where `./dev bench --json BENCH.json` made the first
"""
import collections
import json
import math
import sys

WIDTH, HEIGHT, LEFT, RIGHT, TOP, BOTTOM = 760, 420, 70, 190, 40, 50
COLOURS = ['#d6336c', '#868e96', '#f08c00', '#1971c2', '#2f9e44', '#7048e8']
ORDER = ['simd', 'element boxdecode', 'OpenCV NMSBoxesBatched', 'element yolov8tensordec',
         'reference']


def read(path):
    """Points (candidates, microseconds) of each contender."""
    lines = collections.defaultdict(list)
    with open(path, encoding='utf-8') as file:
        for row in json.load(file):
            if row['candidates'] and row['contender'] in ORDER:
                lines[row['contender']].append((row['candidates'], row['p50_us']))
    return {name: sorted(lines[name]) for name in ORDER if name in lines}


def scale(low, high, start, end):
    """A logarithmic axis."""
    return lambda v: start + (math.log10(v / low)) / math.log10(high / low) * (end - start)


def decades(low, high):
    return [10 ** k for k in range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)]


def draw(lines):
    xs = [x for points in lines.values() for x, _ in points]
    ys = [y for points in lines.values() for _, y in points]
    x_ticks, y_ticks = decades(min(xs), max(xs)), decades(min(ys), max(ys))
    x_of = scale(x_ticks[0], x_ticks[-1], LEFT, WIDTH - RIGHT)
    y_of = scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
           'font-family="sans-serif" font-size="13"><rect width="100%" height="100%" fill="#fff"/>',
           f'<text x="{LEFT}" y="24" font-size="15">One 84x8400 frame, score &gt; 0.25: '
           'microseconds (p50) against candidates</text>']
    for tick in x_ticks:
        out.append(f'<line x1="{x_of(tick):.1f}" x2="{x_of(tick):.1f}" y1="{TOP}" '
                   f'y2="{HEIGHT - BOTTOM}" stroke="#dee2e6"/><text x="{x_of(tick):.1f}" '
                   f'y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{tick:g}</text>')
    for tick in y_ticks:
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y_of(tick):.1f}" '
                   f'y2="{y_of(tick):.1f}" stroke="#dee2e6"/><text x="{LEFT - 8}" '
                   f'y="{y_of(tick) + 4:.1f}" text-anchor="end">{tick:,.0f}</text>')
    labels = sorted(((y_of(points[-1][1]), name) for name, points in lines.items()))
    place = -1e9
    for colour, (name, points) in zip(COLOURS, lines.items()):
        path = ' '.join(f'{x_of(x):.1f},{y_of(y):.1f}' for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" fill="{colour}"/>'
                for x, y in points]
    colour_of = dict(zip(lines, COLOURS))
    for y, name in labels:
        place = max(y, place + 16)
        out.append(f'<text x="{x_of(lines[name][-1][0]) + 10:.1f}" y="{place + 4:.1f}" '
                   f'fill="{colour_of[name]}">{name}</text>')
    return '\n'.join(out + ['</svg>', ''])


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[2], 'w', encoding='utf-8') as file:
        file.write(draw(read(sys.argv[1])))


main()
