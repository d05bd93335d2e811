#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the resources held by a soaked process, over its frames and over its starts.

usage: plot_soak.py SOAK.json PLOT.svg   SOAK.json from `soak --json SOAK.json`
"""
import json
import sys

from charts import paint, svg

HEIGHT, LEFT, TOP, BOTTOM, PANEL, GAP = 380, 70, 60, 80, 330, 75
LINES = (('rss', 'resident memory', 'memory'), ('heap', 'heap in use', 'heap'))
COUNTS = (('files', 'open descriptors'), ('threads', 'threads'))
MIB = 1 << 20
TICKS = 5


def step(maximum):
    """Returns a round number such that a few of it make `maximum`."""
    size = 1
    while maximum / size > TICKS:
        size *= 2 if str(size)[0] in '15' else 2.5
        size = int(size)
    return size


def ticks(maximum):
    size = step(maximum)
    return [size * i for i in range(int(maximum / size) + 2)]


def number(count):
    return f'{count // 10 ** 6} million' if count >= 10 ** 6 else f'{count:,}'


def axes(left, x_ticks, y_ticks, x_of, y_of):
    right, low = left + PANEL, HEIGHT - BOTTOM
    for tick in y_ticks:
        y = f'{y_of(tick):.1f}'
        yield (f'<line x1="{left}" x2="{right}" y1="{y}" y2="{y}" {paint("faint", "stroke")}/>'
               f'<text x="{left - 8}" y="{y_of(tick) + 4:.1f}" text-anchor="end">{tick} MiB</text>')
    for tick in x_ticks:
        x = f'{x_of(tick):.1f}'
        yield (f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{low}" {paint("faint", "stroke")}/>'
               f'<text x="{x}" y="{low + 20}" text-anchor="middle">{number(tick)}</text>')


def spread(samples, key, name):
    minimum, maximum = min(s[key] for s in samples), max(s[key] for s in samples)
    return f'{name}: {minimum:.0f}' + (f' to {maximum:.0f}' if maximum > minimum else '')


def panel(left, title, samples):
    x_max = samples[-1]['at']
    y_ticks = ticks(max(s['rss'] for s in samples) / MIB)
    x_ticks = [tick for tick in ticks(x_max) if tick <= x_max]
    low = HEIGHT - BOTTOM

    def x_of(v):
        return left + v / x_max * PANEL

    def y_of(v):
        return low - v / y_ticks[-1] * (low - TOP)
    out = [f'<text x="{left}" y="{TOP - 14}">{title}</text>',
           *axes(left, x_ticks, y_ticks, x_of, y_of)]
    for key, name, subject in LINES:
        points = ' '.join(f'{x_of(s["at"]):.1f},{y_of(s[key] / MIB):.1f}' for s in samples)
        last = y_of(samples[-1][key] / MIB)
        out.append(f'<polyline points="{points}" fill="none" {paint(subject, "stroke")} '
                   'stroke-width="2"/>'
                   f'<text x="{left + PANEL - 6}" y="{last + 18:.1f}" text-anchor="end" '
                   f'{paint(subject)}>{name}: {samples[-1][key] / MIB:.1f} MiB</text>')
    counts = ', '.join(spread(samples, key, name) for key, name in COUNTS)
    out.append(f'<text x="{left}" y="{low + 46}">{counts}</text>')
    return out


def main():
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding='utf-8') as file:
        soak = json.load(file)
    if not soak['frames'] or not soak['cycles']:
        sys.exit(f'plot_soak: {sys.argv[1]} has no samples')
    second = LEFT + PANEL + GAP
    parts = ['<text x="16" y="24" font-size="15">What one process holds, sampled</text>',
             *panel(LEFT, 'over the frames of one start', soak['frames']),
             *panel(second, 'over making, starting and stopping the elements', soak['cycles'])]
    with open(sys.argv[2], 'w', encoding='utf-8') as file:
        file.write(svg(second + PANEL + 30, HEIGHT, parts))


main()
