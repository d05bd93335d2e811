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
import pathlib
import statistics
import sys

if importlib.util.find_spec('trackeval') is None and not {'-h', '--help'} & set(sys.argv):
    print('SKIP: no trackeval for Python')
    sys.exit(77)

import sequences  # noqa: E402
from runs import COUNTERPARTS, all_of, print_table, same_ids  # noqa: E402


def means(names, chosen, values):
    """Returns the mean of a value per sequence over those of each name."""
    return [statistics.mean(value for value, sequence in zip(values, chosen)
                            if sequence.name == name) for name in names]


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
