#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs lines with the tracer keepboxstats, and reads its file as Prometheus would."""
import os
import re
import subprocess
import time

from tap import PIPELINES, SOURCE, Skip, blocks_of, main, need_inference, run

LABEL = r'[a-z_]+="(?:[^"\\\n]|\\["\\n])*"'
SAMPLE = re.compile(rf'(keepbox_[a-z0-9_]+)\{{({LABEL}(?:,{LABEL})*)\}} (\S+)')
BOXES = (f'tensorreplay location={PIPELINES}/media/shapes-tensors.f16.raw dims=1,10,2100'
         ' type=float16 ! boxdecode name=decode ! boxtrack')


def samples(text):
    """Returns the values of a whole file in the text format, by name and labels."""
    assert text.endswith('\n'), text
    found, typed = {}, []
    for line in text.splitlines():
        if re.fullmatch('# HELP \\w+ (?!The statistic )[A-Z1][^.]{15,}[^.]', line):
            continue
        if messages := re.fullmatch('# TYPE (\\w+) (counter|gauge)', line):
            typed.append(messages[1])
            assert (messages[2] == 'counter') == messages[1].endswith('_total'), line
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        assert name == typed[-1] and (name, labels) not in found, line
        found[name, labels] = float(value)
    assert len(typed) == len(set(typed)), typed
    return found


def traced(line, params, **options):
    environment = {**os.environ, 'GST_TRACERS': f'keepboxstats({params})'}
    return run('bash', '-c', f'gst-launch-1.0 -q {line}', env=environment, **options)[1]


def need_tracer():
    if 'keepboxstats' not in run('gst-inspect-1.0', 'keepbox')[0]:
        raise Skip('no tracer keepboxstats')


def test_the_file_has_the_figures_of_the_whole_stream(folder):
    need_tracer()
    file = folder / 'front.prom'
    messages = traced(f'videotestsrc num-buffers=20 ! {BOXES} ! boxsink location={folder}/b.jsonl',
                      f'file={file},source="front door"')
    assert not messages, messages
    found = samples(file.read_text())
    of = 'source="front door",pipeline="pipeline0",element='
    assert found['keepbox_boxdecode_frames_total', of + '"decode"'] == 20, found
    assert found['keepbox_boxtrack_frames_total', of + '"boxtrack0"'] == 20, found
    assert any(name == 'keepbox_boxdecode_info' and ',detector="yolov8"' in labels
               for name, labels in found), found
    assert not any('boxsink' in name for name, _ in found), 'a sink of its own has no statistics'
    assert [path.name for path in sorted(folder.iterdir())] == ['b.jsonl', 'front.prom']
    mode = file.stat().st_mode
    assert mode & 0o777 == 0o644 & ~os.umask(os.umask(0o022)), oct(mode)


def test_the_file_is_replaced_while_the_stream_runs(folder):
    need_tracer()
    file, seen = folder / 'live.prom', []
    environment = {**os.environ, 'GST_TRACERS': f'keepboxstats(file={file},interval=0.1)'}
    line = f'gst-launch-1.0 -q videotestsrc is-live=true ! {BOXES} ! fakesink'
    with subprocess.Popen(line.split(), env=environment) as process:
        try:
            end = time.monotonic() + 60
            while len(set(seen)) < 3:
                assert time.monotonic() < end and process.poll() is None, seen
                if file.exists():
                    found = samples(file.read_text())
                    seen.append(found['keepbox_boxdecode_frames_total',
                                      'pipeline="pipeline0",element="decode"'])
                time.sleep(0.02)
        finally:
            process.kill()
    assert seen == sorted(seen), seen


def test_the_file_is_there_before_the_first_interval(folder):
    need_tracer()
    file = folder / 'early.prom'
    environment = {**os.environ, 'GST_TRACERS': f'keepboxstats(file={file},interval=3600)'}
    line = f'gst-launch-1.0 -q videotestsrc is-live=true ! {BOXES} ! fakesink'
    with subprocess.Popen(line.split(), env=environment) as process:
        try:
            end = time.monotonic() + 60
            while not file.exists():
                assert time.monotonic() < end and process.poll() is None, 'no file'
                time.sleep(0.02)
            found = samples(file.read_text())
        finally:
            process.kill()
    for element in 'decode', 'boxtrack0':
        assert any(f'element="{element}"' in labels for _, labels in found), found


def test_a_file_that_cannot_be_written_is_one_message(folder):
    need_tracer()
    messages = traced(f'videotestsrc is-live=true num-buffers=20 ! {BOXES}'
                      f' ! boxsink location={folder}/b.jsonl',
                      f'file={folder}/nosuch/x.prom,interval=0.1')
    assert messages.count('keepboxstats: Cannot write the statistics') == 1, messages
    assert len((folder / 'b.jsonl').read_text().splitlines()) == 20


def test_wrong_parameters_are_a_message(folder):
    need_tracer()
    for params, words in (('', 'file= is not set'),
                          (f'file={folder}/x.prom,interval=0', 'seconds from 0.1 to 86,400')):
        messages = traced(f'videotestsrc num-buffers=2 ! {BOXES} ! fakesink', params)
        assert words in messages and 'GST_TRACERS=' in messages, messages
    assert not list(folder.iterdir())


def test_the_line_of_the_page(folder):
    need_tracer()
    need_inference()
    line, = (block for block in blocks_of(SOURCE / 'docs/operations.md', 'sh')
             if 'keepboxstats' in block)
    (folder / 'pipelines').symlink_to(PIPELINES)
    run('bash', '-c', line, cwd=folder)
    found = samples((folder / 'front.prom').read_text())
    page = (SOURCE / 'docs/operations.md').read_text()
    shown = re.findall(r'^(keepbox_[a-z_]+)\{', page, re.M)
    asked = re.findall(r'`[^`]*?(keepbox_[a-z]+_[a-z_]+)', page)
    there = {name for name, _ in found} | {f'keepbox_boxpublish_{name}' for name in
                                           ('connected', 'queued', 'dropped_total')}
    there.add('keepbox_boxcount_lines_in_total')
    assert len(shown) == 6 and len(asked) > 5 and there.issuperset([*shown, *asked]), (shown, asked)


def test_the_health_check_of_the_page(folder):
    """It fails when frames stop, although the file is still written."""
    need_tracer()
    page = (SOURCE / 'docs/operations.md').read_text()
    check, = re.findall(r'^```\n(find .*?)^```$', page, re.M | re.S)
    file = folder / 'front.prom'
    check = check.replace('/run/keepbox/front/front.prom', str(file)).replace('> 60', '> 2')

    def healthy():
        return subprocess.run(['bash', '-c', check], check=False).returncode == 0
    assert not healthy(), 'no file'
    environment = {**os.environ, 'GST_TRACERS': f'keepboxstats(file={file},interval=0.2)'}
    # the source stops after 40 frames at 25 per second, but the stream does not end
    line = ('gst-launch-1.0 -q videotestsrc is-live=true num-buffers=40'
            f' ! video/x-raw,framerate=25/1 ! concat name=all ! {BOXES} ! fakesink'
            ' appsrc ! all.')
    with subprocess.Popen(line.split(), env=environment) as process:
        try:
            end, states = time.monotonic() + 60, []
            while time.monotonic() < end and not (states and not states[-1]):
                assert process.poll() is None, states
                if file.exists() and (healthy() or states):
                    states.append(healthy())
                time.sleep(0.1)
            written = file.stat().st_mtime
            time.sleep(1)
            assert file.stat().st_mtime > written, 'the file is still written'
        finally:
            process.kill()
    assert states[0] and not states[-1] and len(states) > 5, states


def test_the_unit_writes_its_statistics(folder):
    need_tracer()
    unit = (SOURCE / 'tools/debian/examples/keepbox@.service').read_text()
    params, = re.findall(r'^Environment="GST_TRACERS=keepboxstats\((.*)\)"$', unit, re.M)
    assert '\nRuntimeDirectory=keepbox/%i\n' in unit, unit
    params = params.replace('/run/keepbox/%i/', f'{folder}/').replace('%i', 'front')
    messages = traced(f'videotestsrc num-buffers=2 ! {BOXES} ! fakesink', params)
    assert not messages and 'source="front"' in (folder / 'front.prom').read_text(), messages


if __name__ == '__main__':
    main(globals())
