#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Draws the benchmarks' times against the number of candidates.

usage: plot_bench.py BENCH.json PLOT.svg   BENCH.json from `./dev bench --json BENCH.json`
       plot_bench.py --section SECTION GPU.json [TORCH.json] PLOT.svg
           inputs from `gpu-bench --json` and `torch_peer.py --json`: a section of the table
           ('84x8400 frames'), and where CPU and GPU are equally fast
       plot_bench.py --parts INFER.json PLOT.svg
           input from `infer-bench --json`: the parts of the frame time of one stream
       plot_bench.py --batches INFER.json... PLOT.svg
           inputs likewise: frames per second of pipelines whose model runs in batches, next to the
           model alone. That is a row's "alone" if it was added, frames per second measured by
           another program, otherwise the batch divided by the time of its run in the pipeline
"""
import collections
import json
import math
import sys

from charts import paint, subjects_of, svg

WIDTH, HEIGHT, LEFT, TOP, BOTTOM = 760, 420, 70, 40, 50
LETTER = 7  # pixels per letter of a label
CPU_LINES = {'simd': 'keepbox, vector backend', 'element boxdecode': 'the element boxdecode',
             'OpenCV NMSBoxes': 'a loop and OpenCV NMSBoxes',
             'element yolov8tensordec': 'the element yolov8tensordec',
             'reference': 'keepbox, scalar reference'}
CPU_PANELS = {'84x8400': '84x8400, score &gt; 0.25', '25200x85': '25200x85, score &gt; 0.25',
              'NMS alone': 'NMS alone, one class'}
PANEL = 390
GPU, CPU = 'keepbox cuda', 'keepbox simd'
WAYS = {'stock': 'videoconvertscale, onnxinference, CPU', 'cpu': 'tensorinfer, CPU',
        'gpu': 'tensorinfer, GPU (H200)'}
PARTS = {'input': 'input', 'model': 'model', 'boxes': 'element', 'rest': 'rest'}
BAR = 54


def read(paths, section, contenders=None):
    """Returns points (candidates, microseconds) of each contender."""
    lines = collections.defaultdict(list)
    for path in paths:
        with open(path, encoding='utf-8') as file:
            for row in json.load(file):
                wanted = row['section'] == section and row.get('state', '') in ('', 'in turn')
                if row['candidates'] and wanted:
                    lines[row['contender']].append((row['candidates'], row['p50_us']))
    return {name: sorted(lines[name]) for name in contenders or lines if name in lines}


def crossovers(lines):
    """Returns (candidates, microseconds, name) where a line of the GPU crosses the CPU's."""
    cpu = dict(lines.get(CPU, []))
    for name, points in lines.items():
        if not name.startswith(GPU):
            continue
        # distance above the CPU's line, in logarithms of both axes
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


def time_text(microseconds):
    for unit, size in (('s', 1e6), ('ms', 1e3), ('us', 1)):
        if microseconds >= size:
            return f'{microseconds / size:,g} {unit}'
    return f'{microseconds:g} us'


def grid(x_ticks, y_ticks, x_of, y_of):
    left, right = x_of(x_ticks[0]), x_of(x_ticks[-1])
    for tick in x_ticks:
        x = f'{x_of(tick):.1f}'
        yield (f'<line x1="{x}" x2="{x}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
               f'{paint("faint", "stroke")}/>'
               f'<text x="{x}" y="{HEIGHT - BOTTOM + 20}" text-anchor="middle">{tick:,g}</text>')
    for tick in y_ticks:
        y = y_of(tick)
        yield (f'<line x1="{left}" x2="{right}" y1="{y:.1f}" y2="{y:.1f}" '
               f'{paint("faint", "stroke")}/>'
               f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{time_text(tick)}</text>')


def curve(points, subject, x_of, y_of):
    path = ' '.join(f'{x_of(x):.1f},{y_of(y):.1f}' for x, y in points)
    yield (f'<polyline points="{path}" fill="none" {paint(subject, "stroke")} '
           'stroke-width="2"/>')
    for x, y in points:
        yield f'<circle cx="{x_of(x):.1f}" cy="{y_of(y):.1f}" r="3" {paint(subject)}/>'


def names(lines, subjects, x_of, y_of):
    """Draws names next to the ends of lines, moved apart."""
    place = -1e9
    for y, name in sorted((y_of(points[-1][1]), name) for name, points in lines.items()):
        place = max(y, place + 16)
        yield (f'<text x="{x_of(lines[name][-1][0]) + 10:.1f}" y="{place + 4:.1f}" '
               f'{paint(subjects[name])}>{name}</text>')


def marks(lines, subjects, x_of, y_of):
    for number, (x, y, name) in enumerate(crossovers(lines)):
        left, top = x_of(x), y_of(y)
        yield (f'<line x1="{left:.1f}" x2="{left:.1f}" y1="{top:.1f}" y2="{HEIGHT - BOTTOM}" '
               f'{paint(subjects[name], "stroke")} stroke-dasharray="4 3"/>'
               f'<text x="{left + 5:.1f}" '
               f'y="{HEIGHT - BOTTOM - 8 - 16 * number}" {paint(subjects[name])}>{x:,.0f}</text>')


def panel(lines, subjects, title, left, right):
    """A panel of the picture, and its axes."""
    x_ticks = decades([x for points in lines.values() for x, _ in points])
    y_ticks = decades([y for points in lines.values() for _, y in points])
    x_of = scale(x_ticks[0], x_ticks[-1], left, right)
    y_of = scale(y_ticks[0], y_ticks[-1], HEIGHT - BOTTOM, TOP)
    out = [f'<text x="{left}" y="24" font-size="15">{title}</text>',
           *grid(x_ticks, y_ticks, x_of, y_of)]
    for name, points in lines.items():
        out += curve(points, subjects[name], x_of, y_of)
    return out, x_of, y_of


def draw_section(lines, section):
    subjects = subjects_of(lines)
    right = WIDTH - 20 - LETTER * max(map(len, lines))
    out, x_of, y_of = panel(lines, subjects, f'{section}: time (p50) against candidates', LEFT,
                            right)
    return svg(WIDTH, HEIGHT, [*out, *names(lines, subjects, x_of, y_of),
                               *marks(lines, subjects, x_of, y_of)])


def legend(subjects, top):
    left = LEFT
    for name, title in CPU_LINES.items():
        yield (f'<line x1="{left}" x2="{left + 20}" y1="{top - 4}" y2="{top - 4}" '
               f'{paint(subjects[name], "stroke")} stroke-width="3"/>'
               f'<text x="{left + 26}" y="{top}">{title}</text>')
        left += 50 + LETTER * len(title)


def draw_panels(panels):
    """Arranges panels side by side."""
    subjects, out = subjects_of(CPU_LINES), []
    for number, (title, lines) in enumerate(panels.items()):
        left = LEFT + number * PANEL
        out += panel(lines, subjects, title, left, left + PANEL - 75)[0]
    out.append(f'<text x="{LEFT}" y="{HEIGHT}">time of a frame (p50) against its candidates</text>')
    return svg(LEFT + len(panels) * PANEL, HEIGHT + 40, [*out, *legend(subjects, HEIGHT + 26)])


def parts_of(row):
    """Returns microseconds of PARTS. onnxinference includes the conversion of pixels in its model's
    time; on a GPU boxes are in the rest, because boxdecode waits for the model there."""
    stock, cuda = row['row'] == 'stock', row['provider'] == 'cuda'
    parts = [row['before_us'] if stock else row['input_us'],
            row['infer_us'] if stock else row['model_us'], 0 if cuda else row['boxdecode_us']]
    return [*parts, max(row['p50_us'] - sum(parts), 0)]


def bars(rows, left, right):
    longest = max(row['p50_us'] for row in rows)
    for number, row in enumerate(rows):
        x, y = left, TOP + number * BAR
        yield f'<text x="{left - 8}" y="{y + 20}" text-anchor="end">{WAYS[row["row"]]}</text>'
        parts = []
        for (name, subject), time in zip(PARTS.items(), parts_of(row)):
            width = time / longest * (right - left)
            yield (f'<rect x="{x:.1f}" y="{y}" width="{width:.1f}" height="30" {paint(subject)}/>')
            parts += [f'{name} {time:,.0f}'] if time >= 0.5 else []
            x += width
        yield (f'<text x="{left}" y="{y + 44}" font-size="11" {paint("note")}>'
               f'{", ".join(parts)}</text>'
               f'<text x="{x + 6:.1f}" y="{y + 20}">{row["p50_us"]:,.0f}</text>')


def draw_parts(path):
    with open(path, encoding='utf-8') as file:
        bench = json.load(file)
    there = {row['row']: row for row in bench['rows'] if row['streams'] == 1 and 'p50_us' in row}
    rows = [there[name] for name in WAYS if name in there]
    if not rows:
        sys.exit(f'plot_bench: {path} has no rows of one stream')
    left, model = LEFT + LETTER * max(map(len, WAYS.values())) - 50, bench['model'].split('/')[-1]
    height = TOP + BAR * len(rows) + 40
    out = [f'<text x="16" y="24" font-size="15">microseconds (p50) from a frame of {bench["size"]} '
           f'to its boxes, {model}</text>', *bars(rows, left, WIDTH - 70)]
    for number, (name, subject) in enumerate(PARTS.items()):
        x = left + 90 * number
        out.append(f'<rect x="{x}" y="{height - 32}" width="14" height="14" {paint(subject)}/>'
                   f'<text x="{x + 20}" y="{height - 20}">{name}</text>')
    return svg(WIDTH, height, out)


def batched_rows(paths):
    """Returns (name, {'cuda': frames/s of the pipeline, 'model': of the model alone}) per row."""
    for path in paths:
        with open(path, encoding='utf-8') as file:
            bench = json.load(file)
        for row in bench['rows']:
            if row.get('batch_size', 1) <= 1 or not row.get('model_us'):
                continue
            model = bench['model'].rsplit('/', 1)[-1].removesuffix('.onnx')
            streams = f'{row["streams"]} streams' if row['streams'] > 1 else 'one file, lookahead'
            alone = row.get('alone', row['batch_size'] * 1e6 / row['model_us'])
            yield f'{model}, {streams}', {'cuda': row['frames_per_second'], 'model': alone}


def draw_batches(paths):
    rows = list(batched_rows(paths))
    if not rows:
        sys.exit(f'plot_bench: {", ".join(paths)} have no rows with batches')
    longest = max(max(each.values()) for _, each in rows)
    left = 24 + LETTER * max(len(name) for name, _ in rows)
    out = ['<text x="16" y="24" font-size="15">frames of 1080p per second: from frames to boxes, '
           'and the model alone in the same batches</text>']
    for number, (name, each) in enumerate(rows):
        y = TOP + number * BAR
        out.append(f'<text x="{left - 8}" y="{y + 25}" text-anchor="end">{name}</text>')
        for place, (subject, rate) in enumerate(each.items()):
            width = rate / longest * (WIDTH - 70 - left)
            out.append(f'<rect x="{left}" y="{y + 18 * place}" width="{width:.1f}" height="16" '
                       f'{paint(subject)}/>'
                       f'<text x="{left + width + 6:.1f}" y="{y + 13 + 18 * place}">{rate:,.0f}'
                       '</text>')
    height = TOP + BAR * len(rows) + 30
    for number, (name, subject) in enumerate((('pipeline', 'cuda'), ('model alone', 'model'))):
        x = left + 110 * number
        out.append(f'<rect x="{x}" y="{height - 28}" width="14" height="14" {paint(subject)}/>'
                   f'<text x="{x + 20}" y="{height - 16}">{name}</text>')
    return svg(WIDTH, height, out)


def main():
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    arguments, section = sys.argv[1:], None
    if arguments[:1] == ['--parts'] and len(arguments) == 3:
        with open(arguments[2], 'w', encoding='utf-8') as file:
            file.write(draw_parts(arguments[1]))
        return
    if arguments[:1] == ['--batches']:
        if len(arguments) < 3:
            sys.exit(__doc__)
        with open(arguments[-1], 'w', encoding='utf-8') as file:
            file.write(draw_batches(arguments[1:-1]))
        return
    if arguments[:1] == ['--section']:
        section, arguments = arguments[1], arguments[2:]
    if len(arguments) < 2:
        sys.exit(__doc__)
    *sources, target = arguments
    if section is None:
        drawn = {title: read(sources, name, CPU_LINES) for name, title in CPU_PANELS.items()}
    else:
        drawn = {section: read(sources, section)}
    if not all(drawn.values()):
        sys.exit(f'plot_bench: {sources[0]} has no rows to draw')
    with open(target, 'w', encoding='utf-8') as file:
        file.write(draw_panels(drawn) if section is None else draw_section(drawn[section], section))


main()
