#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Changes the sources token by token and reports changes that no test detects.

usage: mutate.py TOP [FILES] [TIME] [--seed N] [--again] [--list]
  FILES   files, folders, or FILE:LINE (default: all of core/, kernels/simd/ and gst/)
  TIME    time to run for, such as 90s, 20m or 2h (default: 10m)
  --seed  order of the changes (default: 1)
  --again retry changes that were not caught, or took too long to compile
  --list  show the results so far, without trying anything

Works only in build-mutate/: a copy of the tree with a separate build folder, and results.jsonl,
from which the next run continues. tools/mutate.ignore lists changes that have no relevant effect.
"""
import argparse
import collections
import fcntl
import json
import pathlib
import re
import signal
import sys
import time

from mutate_changes import changes
from mutate_tests import Scratch

FOLDERS = ['core', 'kernels/simd', 'gst']
# Changes per file: between files the original objects are restored, which takes seconds.
IN_A_ROW = 6
# Objects of a file, which the compiler cache restores faster than the next change is built.
MANY = 3
# Headers with so many users take minutes per change, so they are last.
MOST = 12


def read_ignored(path):
    """(file, text of the line, change or '*') of changes without effect."""
    ignored, file, text = set(), '', ''
    for line in path.read_text().splitlines():
        depth = len(line) - len(line.lstrip())
        if not line.strip() or line.startswith('#'):
            continue
        if depth == 0:
            file = line.strip()
        elif depth == 2:
            text = line.strip()
        else:
            ignored.add((file, text, line.strip().split(': ')[0]))
    return ignored


def is_ignored(change, ignored):
    return any((file, change.text, words) in ignored
               for file in (change.file, '*') for words in (change.words, '*'))


class Results:
    """Reads one JSON line per change; for changes that were retried the last line counts."""

    def __init__(self, path):
        self.path, self.rows = path, {}
        if path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self.rows[row['key']] = row

    def add(self, change, outcome, seconds):
        row = {'key': change.key(), 'file': change.file, 'line': change.line, 'text': change.text,
               'change': change.words, 'verdict': outcome.verdict, 'by': outcome.by,
               'seconds': round(seconds, 1)}
        self.rows[row['key']] = row
        with self.path.open('a') as file:
            file.write(json.dumps(row) + '\n')


def wanted_files(top, names):
    """Returns {file: wanted line or None}."""
    found = {}
    for name in names or FOLDERS:
        name, _, line = name.partition(':')
        path = top / name
        inside = [p for p in sorted(path.rglob('*')) if p.suffix in ('.cpp', '.h')]
        paths = inside if path.is_dir() else [path]
        if not path.exists():
            raise SystemExit(f'mutate: {name} is neither a file, a folder nor a time')
        for p in paths:
            found.setdefault(str(p.relative_to(top)), set()).add(int(line) if line else None)
    return found


def all_changes(top, files):
    found = []
    for file, lines in files.items():
        for change in changes(file, (top / file).read_text()):
            if None in lines or change.line in lines:
                found.append(change)
    return found


def in_runs(found, seed):
    """Picks random files, a few changes of one file in a row."""
    by_file = collections.defaultdict(list)
    for change in sorted(found, key=lambda c: c.order(seed)):
        by_file[change.file].append(change)
    runs = [rows[i:i + IN_A_ROW]
            for rows in by_file.values() for i in range(0, len(rows), IN_A_ROW)]
    return sorted(runs, key=lambda rows: rows[0].order(seed + 1))


def try_all(scratch, runs, results, until):
    for rows in sorted(runs, key=lambda rows: len(scratch.sources.get(rows[0].file, ())) > MOST):
        file = rows[0].file
        if time.monotonic() > until:
            return
        scratch.check_unchanged(file)
        if file not in scratch.sources:  # everything that can be built is built
            print(f'mutate: nothing here compiles {file}', file=sys.stderr)
            continue
        text = (scratch.tree / file).read_text()
        for change in rows:
            if time.monotonic() > until:
                return
            outcome, seconds = scratch.try_change(change, text)
            results.add(change, outcome, seconds)
            print(f'{change.file}:{change.line}: {change.words}: {outcome.verdict} {outcome.by}'
                  f' ({seconds:.0f} s)', flush=True)
        if len(scratch.sources[file]) > MANY:
            scratch.build_unchanged(scratch.steps(file))


def print_table(found, results, ignored):
    rows = [(c, results.rows[c.key()]) for c in found if c.key() in results.rows]
    for change, row in rows:
        if row['verdict'] == 'not caught' and is_ignored(change, ignored):
            row['verdict'] = 'equivalent'
        print(change.file, change.line, change.words, row['verdict'], row['by'], change.text,
              sep='\t')
    rooms = collections.defaultdict(collections.Counter)
    for change, row in rows:
        parts = change.file.split('/')
        room = parts[0] if parts[0] == 'core' else '/'.join(parts[:2])
        for name in (room, 'all'):
            rooms[name][row['verdict']] += 1
            rooms[name]['seconds'] += row['seconds']
    print('room\tchanges\tcaught\tnot caught\tequivalent\tdo not compile\tshare\tseconds each')
    for name, n in sorted(rooms.items(), key=lambda item: (item[0] == 'all', item[0])):
        total = sum(n[v] for v in ('caught', 'not caught', 'equivalent', 'does not compile',
                                   'not tried'))
        counted = n['caught'] + n['not caught']
        print(name, total, n['caught'], n['not caught'], n['equivalent'], n['does not compile'],
              f'{n["caught"] / counted:.0%}' if counted else '-', f'{n["seconds"] / total:.1f}',
              sep='\t')


def seconds_of(text):
    return float(text[:-1]) * {'s': 1, 'm': 60, 'h': 3600}[text[-1]]


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition('usage: ')[2])
    parser.add_argument('top', type=pathlib.Path)
    parser.add_argument('words', nargs='*')
    parser.add_argument('--seed', type=int, default=1)
    parser.add_argument('--again', action='store_true')
    parser.add_argument('--list', action='store_true')
    options = parser.parse_intermixed_args()
    times = [w for w in options.words if re.fullmatch(r'[\d.]+[smh]', w)]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    folder = options.top / 'build-mutate'
    folder.mkdir(exist_ok=True)
    lock = (folder / 'lock').open('w')
    if not options.list:
        fcntl.flock(lock, fcntl.LOCK_EX)
    ignored = read_ignored(options.top / 'tools/mutate.ignore')
    results = Results(folder / 'results.jsonl')
    names = [w for w in options.words if w not in times]
    found = all_changes(options.top, wanted_files(options.top, names))
    if not options.list:
        scratch = Scratch(options.top, folder)
        scratch.prepare()
        missed = {key for key, row in results.rows.items()
                  if row['verdict'] in ('not caught', 'not tried')}
        wanted = missed if options.again else {c.key() for c in found} - results.rows.keys()
        open_ones = [c for c in found if c.key() in wanted and not is_ignored(c, ignored)]
        until = time.monotonic() + seconds_of(times[0] if times else '10m')
        try:
            try_all(scratch, in_runs(open_ones, options.seed), results, until)
        except KeyboardInterrupt:
            print('mutate: stopped; the next run goes on', file=sys.stderr)
    print_table(found, results, ignored)


if __name__ == '__main__':
    main()
