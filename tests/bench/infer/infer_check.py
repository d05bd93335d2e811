#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the benchmark of whole pipelines on a few small frames and checks its output.

usage: infer_check.py INFER_BENCH
"""
import json
import pathlib
import subprocess
import sys
import tempfile

ROUNDS, FRAMES = 2, 12
SECONDS, PER_SECOND = 1, 30
STREAMS = (1, 2)


CLASSIFIER = pathlib.Path(__file__).parents[3] / 'pipelines/models/world-vehicles.onnx'


def measured(program, folder, *options):
    """Returns its output, or the reason why nothing can run."""
    path = pathlib.Path(folder) / 'bench.json'
    run = subprocess.run([program, '--size', '640x360', '--frames', str(FRAMES), '--rounds',
                          str(ROUNDS), '--warmup', '3', '--seconds', str(SECONDS), '--json', path,
                          '--streams', ','.join(map(str, STREAMS)), *options],
                         capture_output=True, text=True, check=False)
    bench = json.loads(path.read_text())
    reasons = [row.get('skipped', '') for row in bench['rows'] if row['row'].startswith('cpu')]
    if any('ONNX Runtime' in reason for reason in reasons):
        return None, reasons[0]
    assert run.returncode == 0, f'{run.stdout}{run.stderr}'
    return bench, ''


def rows(bench, name):
    return {row['streams']: row for row in bench['rows'] if row['row'] == name}


def check_cpu(bench):
    found = rows(bench, 'cpu')
    assert set(found) == set(STREAMS), found
    for streams, row in found.items():
        assert row['provider'] == 'cpu' and row['rounds'] == ROUNDS, row
        assert row['frames'] == streams * FRAMES / ROUNDS, row
        assert row['input_us'] > 0 and row['model_us'] > 0, row
        assert 0 < row['infer_us'] < row['p50_us'], row
        assert row['p50_us'] <= row['p99_us'] and row['boxes'] > 1, row
        assert row['frames_per_second'] > 0 and row['boxdecode_us'] > 0, row
        assert row['downloaded_frames'] == 0 and row['cpu_ms'] > 0, row


def check_objects(bench):
    assert set(rows(bench, 'cpu-objects')) == set(STREAMS), bench['rows']
    for streams, row in rows(bench, 'cpu-objects').items():
        assert row['frames'] == streams * FRAMES / ROUNDS and row['model_us'] > 0, row


def check_paced(bench):
    row = rows(bench, 'cpu-paced')[max(STREAMS)]
    assert row['frames'] + row['dropped_frames'] == max(STREAMS) * SECONDS * PER_SECOND, row
    assert row['frames_per_second'] < 1.1 * max(STREAMS) * PER_SECOND, row


def check_gpu(bench):
    for row in rows(bench, 'gpu').values():
        assert row.get('skipped') or row['zero_copy_frames'] > 0, row


def check_stock(bench):
    for row in rows(bench, 'stock').values():
        assert row.get('skipped', '').startswith('no element') or row['boxes'] > 1, row
    if any('skipped' in row for row in rows(bench, 'stock').values()):
        return
    same = bench['comparison']
    assert same['tensors_equal'] and same['tensor_bytes'] > 0 and same['boxes'] > 0, same
    assert same['fitted_boxes'] > 0 and same['fitted_score_difference'] < 0.1, same
    assert len(bench['onnxruntime']) == 1, bench['onnxruntime']


def main():
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    with tempfile.TemporaryDirectory() as folder:
        bench, why = measured(sys.argv[1], folder, '--rows', 'gpu,cpu,stock,cpu-paced')
        if bench is not None:
            objects, why = measured(sys.argv[1], folder, '--rows', 'cpu-objects',
                                    '--model', CLASSIFIER)
            bench['rows'] += objects['rows']
    if bench is None:
        print(f'1..0 # SKIP {why}')
        return
    checks = [check_cpu, check_objects, check_paced, check_gpu, check_stock]
    print(f'1..{len(checks)}')
    for number, check in enumerate(checks, 1):
        try:
            check(bench)
            print(f'ok {number} - {check.__name__}')
        except (AssertionError, KeyError) as error:
            print(f'not ok {number} - {check.__name__}: {error!r}')


main()
