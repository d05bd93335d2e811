# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the trackers of keepbox, and those of peers.py, on sequences; prints tables."""
import json
import pathlib
import shlex
import subprocess
import sys

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
    'oc-sort nominal-rate=0 low-threshold=1': ('oc-sort', False, 'low-threshold=1'),
    'sort nominal-rate=0': ('sort', False, 'high-threshold=0.5'),
}
# Trackers that count frames: the row of ours with the same method, and the least part of the boxes
# that has the same ids, in percent; 0 for methods that only share their name.
COUNTERPARTS = {
    'supervision ByteTrack': ('bytetrack nominal-rate=0', 96),
    'trackers ByteTrack': ('bytetrack nominal-rate=0 recover-lost=true', 60),
    'SORT, its own code': ('sort nominal-rate=0', 93),
    'trackers SORT': ('sort nominal-rate=0', 0),
    'OC-SORT, its own code': ('oc-sort nominal-rate=0 low-threshold=1', 95),
    'trackers OC-SORT': ('oc-sort nominal-rate=0 low-threshold=1', 94),
}


def follow(program, sequence, method, by_time, *words):
    """Returns the ids of each frame's boxes, and microseconds per frame."""
    interval = round(SECOND / sequence.rate)
    step = round(SECOND / 30) if by_time else interval
    text = ''.join(f'{round(frame.at * SECOND)} ' + ' '.join(
        f'{x1} {y1} {x2} {y2} {score} {kind}' for x1, y1, x2, y2, score, kind in frame.boxes)
        + '\n' for frame in sequence.frames)
    by_time_word = ['by-time=true'] if by_time else []
    done = subprocess.run([*shlex.split(program), method, str(step), str(interval), *by_time_word,
                           *words],
                          input=text, text=True, capture_output=True, check=True)
    return [list(map(int, line.split())) for line in done.stdout.splitlines()], float(done.stderr)


def settings_of(line):
    """Returns method, whether noise is by time, and parameters of a row such as
    'bytetrack nominal-rate=0 match-iou=0.1'."""
    method, *words = line.split()
    by_frames = 'nominal-rate=0'
    return method, by_frames not in words, *(word for word in words if word != by_frames)


def all_of(args, chosen, lines=None):
    """Returns [ids, microseconds] of each sequence by tracker. @param lines rows of ours; the usual
    ones if None."""
    ours = {line: settings_of(line) for line in lines} if lines else OURS
    out = {name: [follow(args.trackfile, sequence, *how) for sequence in chosen]
           for name, how in ours.items()}
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


def print_table(title, names, rows):
    """Prints a row per tracker, with a text per name."""
    print(f'\n| {title} | ' + ' | '.join(names) + ' |')
    print('| --- |' + ' ---: |' * len(names))
    for tracker, cells in rows:
        print(f'| {tracker} | ' + ' | '.join(cells) + ' |', flush=True)
