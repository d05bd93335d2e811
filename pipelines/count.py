#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the objects of a class in each minute of a stream, live from boxsink's JSON Lines.

usage: ... ! boxsink | count.py CLASS [SECONDS]   or from a FIFO: count.py CLASS < FIFO
       SECONDS is the length of an interval (default: 60)

Writes CSV: the start of the interval in stream time, its number of frames, the mean and maximum
number of objects per frame, and the number of different objects if a tracker before boxsink assigns
ids (such as boxtrack). Frames that the model did not look at ("skipped") do not count.
"""
import json
import sys

SECOND = 1_000_000_000


def number_of_objects(tracked):
    """Returns the number of objects, which are an id of a model. Before the second model appears,
    boxes may be without its name.

    tracked: names of models, by id."""
    return sum(len(models - {None}) or 1 for models in tracked.values())


def minutes(lines, wanted, length, classes):
    """Yields start, objects per frame and their ids, for each interval of `length` that has frames
    which the model looked at. Adds the names of all classes to `classes`."""
    begin, counts, tracked = None, [], {}
    for line in lines:
        frame = json.loads(line)
        if 'timestamp' not in frame:
            sys.exit(f'count.py: a frame has no timestamp: {line[:80]}')
        if frame.get('skipped'):
            continue
        at = frame['timestamp'] // length * length
        if counts and at != begin:
            yield begin, counts, tracked
            counts, tracked = [], {}
        begin = at
        # an object without a detection has classes and text of the whole frame
        boxes = [each for each in frame.get('objects', []) if 'detection' in each]
        classes.update(box['detection'].get('label') for box in boxes)
        found = [box for box in boxes if box['detection'].get('label') == wanted]
        counts.append(len(found))
        for box in found:
            if 'id' in box:
                model = box['detection'].get('model', {}).get('name')
                tracked.setdefault(box['id'], set()).add(model)
    if counts:
        yield begin, counts, tracked


def length_of(word):
    """Parses seconds and returns nanoseconds."""
    try:
        length = round(float(word) * SECOND)
    except (ValueError, OverflowError):
        length = 0
    if length <= 0:
        sys.exit(f'count.py: SECONDS must be a number above 0, not {word}')
    return length


def seconds(nanoseconds):
    return f'{nanoseconds / SECOND:.9f}'.rstrip('0').rstrip('.')


def main():
    if sys.argv[1:] in (['-h'], ['--help']):
        print(__doc__.strip())
        return
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    wanted, length = sys.argv[1], length_of((sys.argv[2:] or ['60'])[0])
    classes = set()
    print('begin,frames,mean,max,tracked', flush=True)
    for begin, counts, tracked in minutes(sys.stdin, wanted, length, classes):
        print(f'{seconds(begin)},{len(counts)},{sum(counts) / len(counts):.2f},{max(counts)},'
              f'{number_of_objects(tracked) or ""}', flush=True)
    if wanted not in classes:
        others = ', '.join(sorted(map(str, classes)))
        print(f'count.py: no box has the class {wanted}; '
              f'{"the classes were " + others if classes else "there were no boxes"}',
              file=sys.stderr)


if __name__ == '__main__':
    main()
