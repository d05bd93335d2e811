# SPDX-License-Identifier: LGPL-2.1-or-later
"""HOTA, IDF1 and MOTA of ids by TrackEval, the evaluator of MOTChallenge."""
import numpy as np
from trackeval.metrics import CLEAR, HOTA, Identity

MATCH = 0.5


def ious(a, b):
    """Returns the IoU of all pairs of boxes."""
    a, b = (np.array(boxes, float).reshape(-1, 1, 4) for boxes in (a, b))
    b = b.reshape(1, -1, 4)
    sides = (np.minimum(a[..., 2:], b[..., 2:]) - np.maximum(a[..., :2], b[..., :2])).clip(0)
    common = sides.prod(-1)
    return common / ((a[..., 2:] - a[..., :2]).prod(-1) + (b[..., 2:] - b[..., :2]).prod(-1) -
                     common)


def shown(frame, ids):
    """Returns the boxes with ids, without those of objects that need not be followed."""
    rows = [(number, box[:4]) for number, box in zip(ids, frame.boxes) if number > 0]
    if rows and frame.others:
        boxes = [box for _, box in rows]
        other = ious(boxes, frame.others).max(1)
        own = ious(boxes, [box for _, box in frame.truth]).max(1, initial=0)
        rows = [row for row, far, near in zip(rows, other, own) if far < MATCH or near >= MATCH]
    return rows


def numbered(lists):
    """Returns ids that count from 0, and how many there are."""
    names = {name: i for i, name in enumerate(sorted({x for row in lists for x in row}))}
    return [np.array([names[x] for x in row], int) for row in lists], len(names)


def score(frames, ids):
    """Returns HOTA, IDF1 and MOTA in percent, and the number of identity switches."""
    rows = [shown(frame, numbers) for frame, numbers in zip(frames, ids)]
    there, there_count = numbered([[number for number, _ in frame.truth] for frame in frames])
    here, here_count = numbered([[number for number, _ in each] for each in rows])
    data = {
        'num_timesteps': len(frames), 'gt_ids': there, 'tracker_ids': here,
        'num_gt_ids': there_count, 'num_tracker_ids': here_count,
        'num_gt_dets': sum(map(len, there)), 'num_tracker_dets': sum(map(len, here)),
        'similarity_scores': [ious([box for _, box in frame.truth], [box for _, box in each])
                              for frame, each in zip(frames, rows)],
    }
    quiet = {'PRINT_CONFIG': False}
    clear = CLEAR(quiet).eval_sequence(data)
    return (100 * HOTA().eval_sequence(data)['HOTA'].mean(),
            100 * Identity(quiet).eval_sequence(data)['IDF1'], 100 * clear['MOTA'],
            int(clear['IDSW']))
