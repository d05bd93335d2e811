#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests keepbox.ray on a cluster of this machine."""
import importlib.util
import os
import pathlib
import subprocess
import sys

from common import MODEL
from scancommon import CONFIDENCE, Killer, corpus, need_arrow, rows_of, scan, tables_of
from tap import Skip, main

PROGRAM = f"""
import sys, ray, keepbox, keepbox.ray
ray.init(num_cpus=2, include_dashboard=False, _node_ip_address='127.0.0.1', logging_level='error',
         log_to_driver=False)
ray.data.DataContext.get_current().enable_progress_bars = False
try:
    found = keepbox.ray.scan(sys.argv[1], model={str(MODEL)!r}, out=sys.argv[2], actors=2,
                             confidence={CONFIDENCE})
except keepbox.Error as error:
    sys.exit(str(error))
each = [f'{{row["key"]}}:{{row["status"]}}:{{row["attempts"]}}' for row in found.rows]
print()
print('result', found.folder, len(found.rows), *each)
"""


def need_ray():
    need_arrow()
    if importlib.util.find_spec('ray') is None:
        raise Skip('no ray')


def start(folder):
    """Starts a scan in a process of its own, which has the cluster."""
    return subprocess.Popen([sys.executable, '-c', PROGRAM, str(folder / 'in'),
                             str(folder / 'out')], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                            text=True, start_new_session=True,
                            env={**os.environ, 'RAY_raylet_start_wait_time_s': '200'})


def result(process):
    out, err = process.communicate(timeout=280)
    assert process.returncode == 0, err[-3000:]
    line = next(line for line in out.splitlines() if line.startswith('result '))
    _, folder, count, *rows = line.split(' ')
    return pathlib.Path(folder), int(count), [row.split(':') for row in rows]


def test_a_killed_actor(folder):
    """The files are those of keepbox.scan(), and only the input of the killed actor is tried
    twice."""
    need_ray()
    source = corpus(folder / 'in')
    expected = tables_of(scan(source, folder / 'one', workers=1).folder)
    seventh = sorted(expected)[6]
    with Killer(folder / 'out', seventh) as killer:
        place, count, rows = result(start(folder))
    assert killer.killed and count == 12, (killer.killed, count)
    assert tables_of(place) == expected
    attempts = {key: number for key, _, number in rows}
    assert attempts.pop(seventh) == '2' and set(attempts.values()) == {'1'}, rows
    assert sorted(status for _, status, _ in rows) == ['error'] + ['ok'] * 10 + ['partial']
    assert len(rows_of(place)) == 12 and not list(place.glob('*.part-*'))
    assert scan(source, folder / 'out', workers=1).done == 0, 'nothing is left for keepbox scan'


if __name__ == '__main__':
    main(globals())
