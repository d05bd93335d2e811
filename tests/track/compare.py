#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the trackers of keepbox with those of other projects on the same boxes.

usage: compare.py TRACKFILE [--town FOLDER] [--peers COMMAND]... [SEQUENCE]...

TRACKFILE is build/tests/track/trackfile, or './dev run build/tests/track/trackfile', FOLDER what
town.py wrote; without it only generated crowds are followed. Prints HOTA, IDF1 and MOTA by
TrackEval, and the part of boxes that have the same id as with other implementations of a method:
the exit status is 1 if it is smaller than usual. Requires trackeval for Python. Trackers that are
not installed are left out. Each COMMAND runs peers.py elsewhere: with the Python of an environment
that has other versions, or in a root with another GStreamer.
"""
import argparse
import importlib.util
import json
import pathlib
import shlex
import statistics
import subprocess
import sys

if importlib.util.find_spec('trackeval') is None and not {'-h', '--help'} & set(sys.argv):
    print('SKIP: no trackeval for Python')
    sys.exit(77)

import sequences  # noqa: E402

SECOND = 1_000_000_000
PEERS = pathlib.Path(__file__).with_name('peers.py')
# Name: method, whether noise is by time, parameters.
OURS = {
    'bytetrack': ('bytetrack', True),
    'bytetrack recover-lost=true': ('bytetrack', True, 'recover-lost=true'),
    'bytetrack per-class=true': ('bytetrack', True, 'per-class=true'),
    'oc-sort': ('oc-sort', True),
    'sort': ('sort', True, 'high-threshold=0.5'),
    'bytetrack nominal-rate=0': ('bytetrack', False),
    'bytetrack nominal-rate=0 recover-lost=true': ('bytetrack', False, 'recover-lost=true'),
    'oc-sort nominal-rate=0': ('oc-sort', False),
    'sort nominal-rate=0': ('sort', False, 'high-threshold=0.5'),
}
# Trackers that count frames: the row of ours with the same method, and the least part of the boxes
# that has the same ids, in percent; 0 for methods that only share their name.
COUNTERPARTS = {
    'supervision ByteTrack': ('bytetrack nominal-rate=0', 96),
    'trackers ByteTrack': ('bytetrack nominal-rate=0 recover-lost=true', 60),
    'SORT, its own code': ('sort nominal-rate=0', 93),
    'trackers SORT': ('sort nominal-rate=0', 0),
    'OC-SORT, its own code': ('oc-sort nominal-rate=0', 95),
    'trackers OC-SORT': ('oc-sort nominal-rate=0', 94),
}


def follow(program, sequence, method, by_time, *words):
    """Returns the ids of each frame's boxes, and microseconds per frame."""
    interval = round(SECOND / sequence.rate)
    step = round(SECOND / 30) if by_time else interval
    text = ''.join(f'{round(frame.at * SECOND)} ' + ' '.join(
        f'{x1} {y1} {x2} {y2} {score} {kind}' for x1, y1, x2, y2, score, kind in frame.boxes)
        + '\n' for frame in sequence.frames)
    done = subprocess.run([*shlex.split(program), method, str(step), str(interval), *words],
                          input=text, text=True, capture_output=True, check=True)
    return [list(map(int, line.split())) for line in done.stdout.splitlines()], float(done.stderr)


def all_of(args, chosen):
    """Returns [ids, microseconds] of each sequence by tracker."""
    out = {name: [follow(args.trackfile, sequence, *how) for sequence in chosen]
           for name, how in OURS.items()}
    text = ''.join(json.dumps(sequence.given()) + '\n' for sequence in chosen)
    for command in [[sys.executable], *map(shlex.split, args.peers)]:
        done = subprocess.run([*command, PEERS], input=text, text=True, stdout=subprocess.PIPE,
                              check=True)
        for line in done.stdout.splitlines():
            name, results = json.loads(line)
            out.setdefault(name, results)
    return out


def same_ids(a, b):
    """Returns the part of boxes with ids on both sides, or none, that are the same up to names."""
    names, back, same, count = {}, {}, 0, 0
    for here, there in zip(a, b):
        for x, y in zip(here, there):
            count += 1
            if x == 0 or y == 0:
                same += x == y
            else:
                same += names.setdefault(x, y) == y and back.setdefault(y, x) == x
    return 100 * same / max(count, 1)


def means(names, chosen, values):
    """Returns the mean of a value per sequence over those of each name."""
    return [statistics.mean(value for value, sequence in zip(values, chosen)
                            if sequence.name == name) for name in names]


def print_table(title, names, rows):
    """Prints a row per tracker, with a text per name."""
    print(f'\n| {title} | ' + ' | '.join(names) + ' |')
    print('| --- |' + ' ---: |' * len(names))
    for tracker, cells in rows:
        print(f'| {tracker} | ' + ' | '.join(cells) + ' |', flush=True)


def print_scores(names, chosen, results):
    """Prints HOTA, IDF1 and MOTA in each cell, the best HOTA of a column in bold."""
    import scores
    found = {}
    for tracker, runs in results.items():
        each = [scores.score(sequence.frames, ids) for sequence, (ids, _) in zip(chosen, runs)]
        found[tracker] = [means(names, chosen, numbers) for numbers in zip(*each)]
    best = [max(f'{row[0][i]:.1f}' for row in found.values()) for i in range(len(names))]
    rows = []
    for tracker, (hotas, idf1s, motas, _) in found.items():
        firsts = [f'{hota:.1f}' for hota in hotas]
        rows.append((tracker, [f'{f"**{first}**" if first == top else first} {idf1:.1f} {mota:.0f}'
                               for first, top, idf1, mota in zip(firsts, best, idf1s, motas)]))
    print_table('HOTA, IDF1, MOTA', names, rows)
    print_table('identity switches', names, [(tracker, [f'{cell:.1f}' for cell in row[3]])
                                             for tracker, row in found.items()])


def print_tables(chosen, results):
    """Returns texts about too few boxes with the same ids."""
    names = list(dict.fromkeys(sequence.name for sequence in chosen))
    print_scores(names, chosen, results)
    print_table('us per frame', names, [
        (tracker, [f'{us:.1f}' for us in means(names, chosen, [us for _, us in runs])])
        for tracker, runs in results.items()])
    rows, wrong = [], []
    for tracker, (own, least) in COUNTERPARTS.items():
        if tracker not in results:
            continue
        parts = means(names, chosen, [same_ids(a, b) for (a, _), (b, _) in
                                      zip(results[own], results[tracker])])
        rows.append((f'{tracker}, `{own}`', [f'{part:.1f}' for part in parts]))
        wrong += [f'{name}: expected at least {least} % of the ids of {tracker}, found {part:.1f} %'
                  for name, part in zip(names, parts) if part < least]
    print_table('boxes with the same ids, %', names, rows)
    return wrong


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split('usage: ')[1].split('\n')[0],
                                     description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('trackfile')
    parser.add_argument('--town', type=pathlib.Path)
    parser.add_argument('--peers', action='append', default=[])
    parser.add_argument('sequences', nargs='*')
    args = parser.parse_intermixed_args()
    groups = [sequences.of_crowds(), sequences.of_town(args.town) if args.town else []]
    wrong = []
    for group in groups:
        chosen = [each for each in group if not args.sequences or each.name in args.sequences]
        if chosen:
            wrong += print_tables(chosen, all_of(args, chosen))
    sys.exit('\n'.join(wrong) or 0)


main()
