#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Compares the trackers of keepbox with those of other projects on real sequences.

usage: real.py FOLDER [--at CONDITION]... [--trackfile COMMAND] [--ours LINE]...
               [--peers COMMAND]... [--each] [--save FILE]

FOLDER has sequences of MOTChallenge (GROUP/SEQUENCE/seqinfo.ini, det/det.txt, gt/gt.txt) and of
KITTI (GROUP/label_02/NUMBER.txt, and boxes with scores in GROUP/det_02/NUMBER.txt, in the same
format). Prints HOTA, IDF1, MOTA and identity switches by TrackEval, with the rules of these
benchmarks, of each group's sequences together, and with --each of every sequence. Requires
trackeval for Python; trackers that are not installed are left out.

A CONDITION is clean, noise (a quarter of the scores falls), or 2, 5 and so on: a camera with
every 2nd or 5th frame. Without --at: clean, 5 and noise. A LINE is a row to print instead of the
usual ones, such as 'bytetrack match-iou=0.3'. COMMAND of --trackfile runs
build/tests/track/trackfile, and that of --peers is another Python, as for compare.py.
"""
import argparse
import importlib.util
import json
import sys
from pathlib import Path

if importlib.util.find_spec('trackeval') is None and not {'-h', '--help'} & set(sys.argv):
    print('SKIP: no trackeval for Python: pip install trackeval')
    sys.exit(77)

ROOT = Path(__file__).resolve().parents[2]
USUAL = ['clean', '5', 'noise']
SEED = 1


def changed(sequence, condition):
    """Returns a sequence as its trackers get it."""
    if condition == 'clean':
        return sequence
    return sequence.noisy(SEED) if condition == 'noise' else sequence.every(int(condition))


def title(group, condition):
    ends = {'clean': '', 'noise': ', score noise'}
    return group + ends.get(condition, f', 1 of {condition} frames')


def measure(groups, conditions, args):
    """Returns [total, by sequence] by column, by tracker."""
    import runs
    import streets
    out = {}
    for group in groups:
        for condition in conditions:
            chosen = [changed(each, condition) for each in group.sequences]
            for tracker, found in runs.all_of(args, chosen, args.lines).items():
                ids = [numbers for numbers, _ in found]
                for name, scores in streets.evaluate(group, chosen, ids).items():
                    out.setdefault(tracker, {})[title(name, condition)] = scores
            print(f'{title(group.name, condition)}: done', file=sys.stderr)
    return out


def cells_of(rows):
    """Returns a text per tracker and column, the best HOTA of a column in bold."""
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    best = {name: max(round(row[name][0], 1) for row in rows.values() if name in row)
            for name in columns}
    out = []
    for tracker, row in rows.items():
        cells = []
        for name in columns:
            hota, idf1, mota, switches = row.get(name, (0, 0, 0, 0))
            first = f'{hota:.1f}'
            if round(hota, 1) == best[name]:
                first = f'**{first}**'
            cells.append(f'{first} {idf1:.1f} {mota:.1f} {switches}')
        out.append((tracker, cells))
    return columns, out


def print_all(results, each):
    from runs import print_table
    totals = {tracker: {name: scores[0] for name, scores in row.items()}
              for tracker, row in results.items()}
    print_table('HOTA, IDF1, MOTA, switches', *cells_of(totals))
    if not each:
        return
    for column in next(iter(totals.values())):
        rows = {tracker: row[column][1] for tracker, row in results.items() if column in row}
        print_table(column, *cells_of(rows))


def condition_of(text):
    if text not in ('clean', 'noise') and not (text.isdecimal() and int(text) > 1):
        raise argparse.ArgumentTypeError('clean, noise, or a number of 2 or more')
    return text


def main():
    parser = argparse.ArgumentParser(
        usage=__doc__.split('usage: ')[1].split('\n\n', maxsplit=1)[0],
        description=__doc__.split('\n', maxsplit=1)[0])
    parser.add_argument('folder', type=Path)
    parser.add_argument('--at', action='append', type=condition_of)
    parser.add_argument('--trackfile',
                        default=f'{ROOT / "dev"} run {ROOT / "build/tests/track/trackfile"}')
    parser.add_argument('--ours', dest='lines', action='append')
    parser.add_argument('--peers', action='append', default=[])
    parser.add_argument('--each', action='store_true')
    parser.add_argument('--save', type=Path)
    args = parser.parse_args()
    import streets
    try:
        groups = streets.groups_in(args.folder)
    except (OSError, ValueError, LookupError) as error:
        sys.exit(f'{args.folder} cannot be read: {error}')
    if not groups:
        sys.exit(f'{args.folder} has no sequences: expected seqinfo.ini with det/det.txt and '
                 'gt/gt.txt beside it, or label_02 with det_02 beside it')
    results = measure(groups, args.at or USUAL, args)
    print_all(results, args.each)
    if args.save:
        args.save.write_text(json.dumps(results), encoding='utf-8')


if __name__ == '__main__':
    main()
