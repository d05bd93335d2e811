#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests lines and zones of a detector: in this process, and in a worker process."""
import json
import os
import pathlib
import pickle
import subprocess
import sys

from common import CLIP, MODEL, detector, fails, need_inference
from tap import main, need, run

import keepbox

LINES = {'middle': (.5, 1, .5, 0, 'right', 'left'), 'upper': ((0, 200), (1280, 200))}
ZONES = {'left': [(0, 0), (.5, 0), (.5, 1), (0, 1)]}
FRAMES = 60
# What a program prints of the counts of a frame.
PROGRAM = f"""
import dataclasses, json, keepbox, pickle
detector = keepbox.Detector({str(MODEL)!r}, confidence=.5, lines={LINES}, zones={ZONES})
for frame in detector({str(CLIP)!r}):
    if frame.index == {FRAMES}:
        break
again = pickle.loads(pickle.dumps(frame))
assert again.counts == frame.counts and isinstance(again.counts.zones['left'].present, tuple)
print(json.dumps(dataclasses.asdict(frame.counts)))
"""


def counted():
    """Returns the counts that the elements alone have."""
    need_inference()
    need('boxcount')
    out, _ = run('gst-launch-1.0', '-q', 'filesrc', f'location={CLIP}', '!', 'decodebin', '!',
                 'videoconvert', '!', 'identity', f'eos-after={FRAMES + 2}', '!', 'tensorinfer',
                 f'model-file={MODEL}', '!', 'boxdecode', 'score-threshold=0.5', '!', 'boxtrack',
                 '!', 'boxcount', 'lines=middle=0.5,1,0.5,0,right,left;upper=0,200,1280,200',
                 'zones=left=0,0,0.5,0,0.5,1,0,1', '!', 'boxsink')
    return json.loads(out.splitlines()[FRAMES])


def program(**environment):
    """Returns what the program prints."""
    done = subprocess.run([sys.executable, '-c', PROGRAM], capture_output=True, text=True,
                          timeout=300, check=False, env={**os.environ, **environment})
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def check(found):
    """Compares counts with what boxsink writes."""
    wanted = counted()
    for name, line in wanted['lines'].items():
        uncertain = line.pop('uncertain', {})
        assert found['lines'][name]['crossed'] == line, (found, line)
        unsure = found['lines'][name]['uncertain']
        assert all(unsure[way] == uncertain.get(way, 0) for way in line), (found, uncertain)
    assert set(wanted['lines']['middle']) == {'right', 'left'}
    zone, here = wanted['zones']['left'], found['zones']['left']
    assert here['visits'] == zone['visits'] > 2 and not here['crowded']
    assert abs(here['max'] - zone['max']) < 1e-3 and abs(here['mean'] - zone['mean']) < 1e-3
    assert [each['id'] for each in here['present']] == [each['id'] for each in zone['present']]
    assert sum(sum(line['crossed'].values()) for line in found['lines'].values()) > 0
    assert all(each['name'] and each['seconds'] >= 0 for each in here['present']), here


def test_counts_in_this_process(folder):
    del folder
    check(program(KEEPBOX_RUNTIME='host'))


def test_counts_in_a_worker_process(folder):
    del folder
    check(program(KEEPBOX_RUNTIME=str(pathlib.Path(__file__).parent / 'runtime')))


def test_a_tracker_of_ones_own(folder):
    del folder
    need('boxcount')
    detect = detector(tracker='boxtrack method=sort', lines='"a\\b"=0,0.5,1,0.5')
    frame = detect.detect(CLIP)
    assert list(frame.counts.lines) == ['"a\\b"'] and frame.boxes.ids is not None
    assert frame.counts.lines['"a\\b"'].crossed == {'in': 0, 'out': 0}
    assert not frame.counts.zones


def test_without_lines_and_zones(folder):
    del folder
    frame = detector(lines=None, zones={}).detect(CLIP)
    assert frame.counts == keepbox.Counts({}, {}) and frame.boxes.ids is None
    assert pickle.loads(pickle.dumps(frame)).counts == keepbox.Counts()


def test_wrong_lines_and_zones(folder):
    del folder
    need('boxcount')
    need_inference()
    fails(keepbox.Error, 'gate', lambda: detector(lines={'gate': (.1, .5, .9)}))
    fails(keepbox.Error, 'queue', lambda: detector(zones={'queue': [(0, 0), (1, 1)]}))
    fails(ValueError, 'without = and ;', lambda: detector(lines={'a;b': (0, 0, 1, 1)}))
    fails(ValueError, 'must not have , and ;',
          lambda: detector(lines={'a': (0, 0, 1, 1, 'in;', 'out')}))
    fails(TypeError, 'make another Detector', lambda: detector().set(lines='a=0,0,1,1'))


if __name__ == '__main__':
    main(globals())
