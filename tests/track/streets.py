# SPDX-License-Identifier: LGPL-2.1-or-later
"""Sequences of MOTChallenge and KITTI in folders of the user's, and their evaluation by TrackEval,
with these benchmarks' own rules for objects that do not count."""
import configparser
import contextlib
import dataclasses
import io
import random
import tempfile
from pathlib import Path

import numpy as np
import trackeval
from trackeval.metrics import CLEAR, HOTA, Identity

KITTI_RATE = 10
KITTI_CLASSES = ['Car', 'Pedestrian', 'Cyclist']
MOT17_COLUMNS = 8    # without the number of the frame


@dataclasses.dataclass
class Frame:
    at: float
    boxes: list      # x1, y1, x2, y2, score, class
    truth: list      # lines of the benchmark, without the number of the frame


@dataclasses.dataclass
class Sequence:
    name: str
    rate: float
    size: tuple
    frames: list

    def given(self):
        """Returns what trackers get."""
        return {'rate': self.rate, 'width': self.size[0], 'height': self.size[1],
                'frames': [[frame.at, frame.boxes] for frame in self.frames]}

    def every(self, step):
        """Returns what a camera with a lower rate would have seen."""
        return dataclasses.replace(self, rate=self.rate / step, frames=self.frames[::step])

    def noisy(self, seed):
        """Returns the sequence with a quarter of the scores multiplied by 0.15 to 0.9."""
        dice = random.Random(f'{seed} {self.name}')

        def fallen(box):
            part = dice.uniform(0.15, 0.9) if dice.random() < 0.25 else 1
            return [*box[:4], round(box[4] * part, 5), box[5]]

        return dataclasses.replace(self, frames=[
            dataclasses.replace(frame, boxes=[fallen(box) for box in frame.boxes])
            for frame in self.frames])


def lines_of(path, separator=None):
    """Yields the words of each line."""
    for line in path.read_text(encoding='utf-8').splitlines():
        if line.strip():
            yield [word.strip() for word in line.split(separator)]


class MotGroup:
    """Sequences of a MOTChallenge folder: SEQUENCE/seqinfo.ini, det/det.txt and gt/gt.txt."""

    def __init__(self, folder, sequences):
        self.name = folder.name
        self.sequences = sequences
        # MOT15 has places in the world instead of classes, which tell what need not be followed.
        columns = {len(words) for each in sequences for frame in each.frames
                   for words in frame.truth}
        self.benchmark = 'MOT17' if columns == {MOT17_COLUMNS} else 'MOT15'

    @staticmethod
    def read(folder):
        info = configparser.ConfigParser()
        info.read(folder / 'seqinfo.ini', encoding='utf-8')
        info = info['Sequence']
        rate = float(info['frameRate'])
        frames = [Frame(i / rate, [], []) for i in range(int(info['seqLength']))]
        for number, _, x, y, w, h, score, *_ in lines_of(folder / 'det' / 'det.txt', ','):
            x, y, w, h, score = map(float, (x, y, w, h, score))
            frames[int(float(number)) - 1].boxes.append([x, y, x + w, y + h, score, 0])
        for number, *words in lines_of(folder / 'gt' / 'gt.txt', ','):
            if int(number) <= len(frames):
                frames[int(number) - 1].truth.append(words)
        return Sequence(folder.name, rate, (int(info['imWidth']), int(info['imHeight'])), frames)

    def write(self, path, rows):
        """Writes [words] of each frame as a file of MOTChallenge."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(''.join(f'{number},{",".join(map(str, words))}\n'
                                for number, words in rows), encoding='utf-8')

    def row(self, number, box):
        x1, y1, x2, y2, score, _ = box
        return number, x1, y1, x2 - x1, y2 - y1, score, -1, -1, -1

    def evaluated(self, sequences, ids, folder):
        """Returns TrackEval's data of each sequence by class."""
        for each, numbers in zip(sequences, ids):
            self.write(folder / 'gt' / each.name / 'gt.txt', truth_rows(each, 1))
            self.write(folder / 'ours' / 'data' / f'{each.name}.txt',
                       found_rows(self, each, numbers, 1))
        with contextlib.redirect_stdout(io.StringIO()):
            data = trackeval.datasets.MotChallenge2DBox({
                'GT_FOLDER': str(folder / 'gt'), 'TRACKERS_FOLDER': str(folder),
                'SKIP_SPLIT_FOL': True, 'BENCHMARK': self.benchmark, 'TRACKERS_TO_EVAL': ['ours'],
                'GT_LOC_FORMAT': '{gt_folder}/{seq}/gt.txt', 'PRINT_CONFIG': False,
                'SEQ_INFO': {each.name: len(each.frames) for each in sequences}})
        return data, {'': 'pedestrian'}


class KittiGroup:
    """Sequences of a KITTI folder: label_02/NUMBER.txt, and det_02/NUMBER.txt in the same format
    with a score at the end of each line."""

    def __init__(self, folder):
        self.name = folder.name
        self.sequences = [self.read(folder, path) for path in
                          sorted((folder / 'label_02').glob('*.txt'))
                          if (folder / 'det_02' / path.name).exists()]

    @staticmethod
    def read(folder, path):
        truth, boxes = (list(lines_of(each)) for each in (path, folder / 'det_02' / path.name))
        count = 1 + max(int(words[0]) for words in truth + boxes)
        frames = [Frame(i / KITTI_RATE, [], []) for i in range(count)]
        for number, *words in truth:
            frames[int(number)].truth.append(words)
        for words in boxes:
            if words[2] in KITTI_CLASSES:
                frames[int(words[0])].boxes.append(
                    [*map(float, words[6:10]), float(words[-1]), KITTI_CLASSES.index(words[2])])
        return Sequence(path.stem, KITTI_RATE, (1242, 375), frames)

    def write(self, path, rows):
        """Writes [words] of each frame as a file of KITTI."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(''.join(f'{number} {" ".join(map(str, words))}\n'
                                for number, words in rows), encoding='utf-8')

    def row(self, number, box):
        kind = KITTI_CLASSES[box[5]]
        return number, kind, -1, -1, -10, *box[:4], *[-1] * 3, *[-1000] * 3, -10, box[4]

    def evaluated(self, sequences, ids, folder):
        """Returns TrackEval's data of each sequence by class."""
        seqmap = ''
        for each, numbers in zip(sequences, ids):
            self.write(folder / 'label_02' / f'{each.name}.txt', truth_rows(each, 0))
            self.write(folder / 'ours' / 'data' / f'{each.name}.txt',
                       found_rows(self, each, numbers, 0))
            seqmap += f'{each.name} empty 0 {len(each.frames)}\n'
        (folder / 'evaluate_tracking.seqmap.training').write_text(seqmap, encoding='utf-8')
        with contextlib.redirect_stdout(io.StringIO()):
            data = trackeval.datasets.Kitti2DBox({
                'GT_FOLDER': str(folder), 'TRACKERS_FOLDER': str(folder),
                'TRACKERS_TO_EVAL': ['ours'], 'PRINT_CONFIG': False})
        return data, {' cars': 'car', ' pedestrians': 'pedestrian'}


def truth_rows(sequence, first):
    for number, frame in enumerate(sequence.frames, first):
        for words in frame.truth:
            yield number, words


def found_rows(group, sequence, ids, first):
    for number, (frame, names) in enumerate(zip(sequence.frames, ids), first):
        for name, box in zip(names, frame.boxes):
            if name > 0:
                yield number, group.row(name, box)


def groups_in(folder):
    """Returns the groups of a folder."""
    motchallenge = {}
    for path in sorted(folder.glob('**/seqinfo.ini')):
        if all((path.parent / each / f'{each}.txt').exists() for each in ('det', 'gt')):
            motchallenge.setdefault(path.parent.parent, []).append(MotGroup.read(path.parent))
    groups = [MotGroup(*each) for each in motchallenge.items()]
    groups += [KittiGroup(path.parent) for path in sorted(folder.glob('**/label_02'))]
    return [group for group in groups if group.sequences]


def evaluate(group, sequences, ids):
    """Returns HOTA, IDF1 and MOTA in percent and the number of identity switches of all sequences
    together, by the group's name with the class, and of each sequence."""
    quiet = {'PRINT_CONFIG': False}
    metrics = {'HOTA': HOTA(), 'Identity': Identity(quiet), 'CLEAR': CLEAR(quiet)}
    out = {}
    with tempfile.TemporaryDirectory() as folder:
        data, classes = group.evaluated(sequences, ids, Path(folder))
        raw = [data.get_raw_seq_data('ours', each.name) for each in sequences]
    for suffix, kind in classes.items():
        each = {name: {} for name in metrics}
        for sequence, found in zip(sequences, raw):
            given = data.get_preprocessed_seq_data(found, kind)
            for name, metric in metrics.items():
                each[name][sequence.name] = metric.eval_sequence(given)
        total = {name: metric.combine_sequences(each[name]) for name, metric in metrics.items()}
        by_name = {sequence.name: numbers({name: each[name][sequence.name] for name in metrics})
                   for sequence in sequences}
        out[group.name + suffix] = numbers(total), by_name
    return out


def numbers(found):
    return (100 * float(np.mean(found['HOTA']['HOTA'])), 100 * float(found['Identity']['IDF1']),
            100 * float(found['CLEAR']['MOTA']), int(found['CLEAR']['IDSW']))
