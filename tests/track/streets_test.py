#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Writes a crowd as folders of MOTChallenge and KITTI, and checks what streets.py makes of them."""
import importlib.util
import pathlib
import sys
import tempfile

if importlib.util.find_spec('trackeval') is None:
    print('SKIP: no trackeval for Python')
    sys.exit(77)

import crowds  # noqa: E402
import streets  # noqa: E402

FRAMES = list(crowds.frames_of(crowds.Scene('short', people=6, seconds=2, alarms=0)))
SIZE = crowds.WIDTH, crowds.HEIGHT


def put(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(''.join(line + '\n' for line in lines), encoding='utf-8')


def write_mot(folder):
    put(folder / 'seqinfo.ini', ['[Sequence]', 'frameRate=30', f'seqLength={len(FRAMES)}',
                                 f'imWidth={SIZE[0]}', f'imHeight={SIZE[1]}'])
    there = [(i, number, box) for i, (_, truth, _) in enumerate(FRAMES, 1) for number, box in truth]
    for name, rest in (('gt', '1,1,1'), ('det', '0.9')):
        put(folder / name / f'{name}.txt', [
            f'{i},{number if name == "gt" else -1},{x1},{y1},{x2 - x1},{y2 - y1},{rest}'
            for i, number, (x1, y1, x2, y2) in there])


def write_kitti(folder):
    for name, end in (('label_02', ''), ('det_02', ' 0.9')):
        put(folder / name / '0000.txt', [
            f'{i} {number} Pedestrian 0 0 -10 {" ".join(map(str, box))} 1 1 1 0 0 0 0{end}'
            for i, (_, truth, _) in enumerate(FRAMES) for number, box in truth])


def ids_of(sequence, change_at):
    """Returns the true ids, others from a frame on."""
    return [[1 + number + (100 if i >= change_at else 0) for number, _ in truth]
            for i, (_, truth, _) in enumerate(FRAMES)]


def expect(right, text):
    if not right:
        sys.exit(f'expected {text}')


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        write_mot(folder / 'Crowds' / 'short')
        write_kitti(folder / 'Streets')
        groups = streets.groups_in(folder)
        expect([group.name for group in groups] == ['Crowds', 'Streets'], 'two groups')
        for group, column in zip(groups, ('Crowds', 'Streets pedestrians')):
            [sequence] = group.sequences
            right = streets.evaluate(group, [sequence], [ids_of(sequence, len(FRAMES))])[column][0]
            wrong = streets.evaluate(group, [sequence], [ids_of(sequence, 30)])[column][0]
            expect(min(right[:3]) > 99.9 and right[3] == 0, f'100 of {column}, found {right}')
            expect(wrong[0] < 80 and wrong[3] >= 6, f'switches of {column}, found {wrong}')
            expect(len(sequence.every(5).frames) == len(FRAMES) / 5, 'a fifth of the frames')
            low = sum(box[4] < 0.85 for frame in sequence.noisy(1).frames for box in frame.boxes)
            count = sum(len(frame.boxes) for frame in sequence.frames)
            expect(0.15 < low / count < 0.35, f'a quarter of low scores, found {low} of {count}')


main()
