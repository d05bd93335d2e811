#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts objects that cross lines, and how long they stay in zones, from boxsink's JSON Lines.

usage: ... ! boxtrack ! boxsink | crossings.py [OPTION]...   or: crossings.py [OPTION]... < FILE

  --line NAME=X1,Y1,X2,Y2         a line; crossings from its right to its left, seen from the first
                                  point to the second, are "in", others "out"
  --zone NAME=X1,Y1,X2,Y2,X3,Y3   a polygon of three or more corners
  --class CLASS                   count only this class; may be repeated
  --point center|bottom           point of a box that counts (default: bottom, where feet are)
  --lost SECONDS                  an object that is not seen for that long has left (default: 2)
  --events                        write a row for each crossing, entry and exit as it happens

Frames that the model did not look at ("skipped") move nothing: neither a missing nor a predicted
box of theirs counts.

Coordinates are pixels, or fractions of the frame if all of a line or zone are at most 1. Boxes need
ids: put boxtrack before boxsink.

Writes CSV at the end: name, in, out (of lines), visits, mean and maximum seconds (of zones). With
--events: time in seconds of stream time, event, name, id, class, seconds that a visit took.
"""
import csv
import json
import sys

SECOND = 1_000_000_000


def fail(text):
    sys.exit(f'crossings.py: {text}')


def side(line, point):
    """Returns a number above 0 to the left of the line, below 0 to its right; y points down."""
    (x1, y1), (x2, y2) = line
    x, y = point
    return (y2 - y1) * (x - x1) - (x2 - x1) * (y - y1)


def meet(line, way):
    """True if an object that moved along `way` passed between the ends of the line."""
    return (side(way, line[0]) > 0) != (side(way, line[1]) > 0)


def is_inside(polygon, point):
    x, y = point
    inside = False
    for (x1, y1), (x2, y2) in zip(polygon, polygon[1:] + polygon[:1]):
        if (y1 > y) != (y2 > y) and x < (x2 - x1) * (y - y1) / (y2 - y1) + x1:
            inside = not inside
    return inside


class Line:
    def __init__(self, name, points):
        self.name, self.points, self.counts, self.before = name, points, {'in': 0, 'out': 0}, {}

    def see(self, frame, time, number, point):
        """Yields the crossing of an object, if there is one. A point on the line is still where it
        was."""
        line = frame.scaled(self.points)
        now = side(line, point)
        if now == 0:
            return
        old = self.before.get(number)
        self.before[number] = (point, now)
        if old is not None and (old[1] > 0) != (now > 0) and meet(line, (old[0], point)):
            event = 'in' if now > 0 else 'out'
            self.counts[event] += 1
            yield time, event, ''

    def end(self, number, time):
        self.before.pop(number, None)
        return ()

    def rename(self, old, new):
        if old in self.before:
            self.before[new] = self.before.pop(old)

    def row(self):
        return f'{self.name},{self.counts["in"]},{self.counts["out"]},,,'


class Zone:
    def __init__(self, name, points):
        self.name, self.points, self.visits, self.since = name, points, [], {}

    def see(self, frame, time, number, point):
        """Yields the entry or exit of an object, if there is one."""
        if is_inside(frame.scaled(self.points), point):
            if number not in self.since:
                self.since[number] = time
                yield time, 'enter', ''
        else:
            yield from self.end(number, time)

    def end(self, number, time):
        """Yields the exit of an object that is in the zone until then."""
        if number in self.since:
            self.visits.append((time - self.since.pop(number)) / SECOND)
            yield time, 'leave', f'{self.visits[-1]:.3f}'

    def rename(self, old, new):
        if old in self.since:
            self.since[new] = self.since.pop(old)

    def row(self):
        count = len(self.visits)
        mean, maximum = (sum(self.visits) / count, max(self.visits)) if count else (0, 0)
        return f'{self.name},,,{count},{mean:.3f},{maximum:.3f}'


class Frame:
    def __init__(self, line):
        data = json.loads(line)
        if 'timestamp' not in data:
            fail(f'a frame has no timestamp: {line[:80]}')
        self.time, self.skipped = data['timestamp'], data.get('skipped', False)
        # an object without a detection has classes and text of the whole frame
        self.boxes = [each for each in data.get('objects', []) if 'detection' in each]
        self.size = data['resolution']['width'], data['resolution']['height']

    def scaled(self, points):
        if max(max(point) for point in points) > 1:
            return points
        return [(x * self.size[0], y * self.size[1]) for x, y in points]


class Counter:
    def __init__(self, parts, options):
        self.parts, self.options = parts, options
        self.seen, self.labels, self.classes = {}, {}, set()
        self.boxes = self.ids = 0

    def write(self, part, number, events):
        for time, event, took in events:
            if self.options.events:
                csv.writer(sys.stdout, lineterminator='\n').writerow(
                    [f'{time / SECOND:.3f}', event, part.name, number[1], self.labels[number],
                     took])
                sys.stdout.flush()

    def see(self, frame):
        for box in frame.boxes:
            label = box['detection'].get('label', '')
            self.classes.add(label)
            self.boxes += 1
            self.ids += 'id' in box
            if 'id' not in box or (self.options.classes and label not in self.options.classes):
                continue
            number = self.key_of(box)
            self.seen[number], self.labels[number] = frame.time, label
            down = 1 if self.options.point == 'bottom' else 0.5
            point = box['x'] + box['w'] / 2, box['y'] + box['h'] * down
            for part in self.parts:
                self.write(part, number, part.see(frame, frame.time, number, point))
        self.forget(frame.time - self.options.lost)

    def key_of(self, box):
        """Returns the model and the id of an object: ids count per model. Before the second model
        appears, boxes may be without its name."""
        key = box['detection'].get('model', {}).get('name', ''), box['id']
        unnamed = '', box['id']
        if key not in self.seen and unnamed in self.seen:
            self.seen[key], self.labels[key] = self.seen.pop(unnamed), self.labels.pop(unnamed)
            for part in self.parts:
                part.rename(unnamed, key)
        return key

    def forget(self, before):
        """Ends the visits of objects that were last seen before a time."""
        for number in [number for number, time in self.seen.items() if time < before]:
            time = self.seen.pop(number)
            for part in self.parts:
                self.write(part, number, part.end(number, time))
            del self.labels[number]

    def check(self):
        if self.boxes and not self.ids:
            fail('no box has an id: put boxtrack before boxsink')
        missing = set(self.options.classes) - self.classes
        if missing and self.classes:
            print(f'crossings.py: no box has the class {", ".join(sorted(missing))}; the classes '
                  f'were {", ".join(sorted(self.classes))}', file=sys.stderr)


class Options:
    def __init__(self):
        self.events, self.classes, self.point, self.lost = False, [], 'bottom', 2 * SECOND


def points_of(option, word, minimum, maximum):
    name, _, text = word.partition('=')
    try:
        numbers = [float(number) for number in text.split(',')]
    except ValueError:
        numbers = []
    points = list(zip(numbers[::2], numbers[1::2]))
    if not name or ',' in name or len(numbers) % 2 or not minimum <= len(points) <= maximum:
        form = f'NAME=X1,Y1,X2,Y2{"" if maximum == 2 else ",X3,Y3,..."}'
        fail(f'{option} {word} is not of the form {option} {form}')
    return name, points


def parse(words):
    options, parts = Options(), []
    while words:
        option = words.pop(0)
        if option == '--events':
            options.events = True
            continue
        if option not in ('--line', '--zone', '--class', '--point', '--lost') or not words:
            fail(f'{option} is not an option, or has no value; see --help')
        word = words.pop(0)
        if option == '--line':
            parts.append(Line(*points_of(option, word, 2, 2)))
        elif option == '--zone':
            parts.append(Zone(*points_of(option, word, 3, 1000)))
        elif option == '--class':
            options.classes.append(word)
        elif option == '--point':
            options.point = word
        else:
            try:
                options.lost = round(float(word) * SECOND)
            except (ValueError, OverflowError):
                options.lost = -1
    if options.point not in ('center', 'bottom'):
        fail(f'--point must be center or bottom, not {options.point}')
    if options.lost < 0:
        fail('--lost must be a number of seconds')
    if not parts:
        fail('nothing to count: give a --line or a --zone; see --help')
    return options, parts


def main():
    if sys.argv[1:] in (['-h'], ['--help']):
        print(__doc__.strip())
        return
    options, parts = parse(sys.argv[1:])
    counter = Counter(parts, options)
    if options.events:
        print('time,event,name,id,class,seconds', flush=True)
    for line in sys.stdin:
        frame = Frame(line)
        if not frame.skipped:
            counter.see(frame)
    counter.forget(float('inf'))
    counter.check()
    if not options.events:
        print('name,in,out,visits,mean,max')
        for part in parts:
            print(part.row())


if __name__ == '__main__':
    main()
