#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests what Debian's packages of keepbox provide once installed; run by tools/try_packages."""
import json
import pathlib
import re
import shutil
import sys

from install import PYTHON, VERSION, bare_environment, line_installed, variable
from tap import PIPELINES, SOURCE, main, run

ROW = re.compile('^[|] (`[^|]+`) [|]', re.M)


def installed(folder, *command):
    return run(*command, cwd=folder, env=bare_environment(folder))[0]


def test_every_element_is_found(folder):
    table = (SOURCE / 'README.md').read_text().split('\n## Elements\n')[1].split('\n## ')[0]
    elements = {name.strip('`') for row in ROW.findall(table) for name in row.split(', ')}
    assert {'boxdecode', 'boxoverlay', 'boxpublish'} < elements, elements
    for element in elements:
        out = installed(folder, 'gst-inspect-1.0', element)
        file, = re.findall(r'Filename +(\S+)', out)
        assert file.startswith(variable('gstreamer-1.0', 'pluginsdir') + '/libgstkeepbox'), file
        assert re.search(rf'Version +{VERSION}\n', out), out


def test_only_their_plugins_need_opencv_pango_libmosquitto_and_sqlite(folder):
    for package in '', '-overlay', '-publish':
        needs = installed(folder, 'dpkg-query', '-W', '-f=${Depends}',
                          f'gstreamer1.0-keepbox{package}')
        for name in 'libopencv', 'libpango', 'fonts-dejavu-core':
            assert (name in needs) == (package == '-overlay'), needs
        assert ('libmosquitto' in needs) == (package == '-publish'), needs
        assert ('libsqlite3' in needs) == (package == '-publish'), needs


def test_nothing_needs_a_driver(folder):
    for package in 'gstreamer1.0-keepbox', 'libkeepbox0', 'libkeepbox-decode0':
        needs = installed(folder, 'dpkg-query', '-W', '-f=${Depends}', package)
        assert not re.search('cuda|nvidia', needs), needs


def test_an_application_in_c(folder):
    shutil.copy(PIPELINES / 'embed.c', folder / 'app.c')
    out = installed(folder, 'bash', '-ec', f'{line_installed()}; ./a.out')
    assert len(out.splitlines()) == 20, out
    assert 'rpath' not in installed(folder, 'pkg-config', '--libs', 'keepbox')


def test_a_program_without_gstreamer(folder):
    shutil.copy(PIPELINES / 'decode-tensor.cpp', folder / 'app.cpp')
    installed(folder, 'bash', '-ec', 'c++ app.cpp $(pkg-config --cflags --libs keepbox-decode)')
    needs = installed(folder, 'dpkg-query', '-W', '-f=${Depends}', 'libkeepbox-decode0')
    assert not re.search('glib|gstreamer|stdc', needs), needs
    out = installed(folder, 'bash', '-c', './a.out x 2>&1; true')
    assert 'usage: ' in out and 'score-threshold=' in out, out


def test_an_application_in_python(folder):
    version, same, file = installed(folder, sys.executable, '-c', PYTHON).split()
    assert version == same == VERSION
    assert file == '/usr/lib/python3/dist-packages/keepbox/__init__.py', file


def test_the_command_line_and_its_manual(folder):
    out = installed(folder, 'keepbox', 'detectors')
    assert re.search('^yolox: ', out, re.M), out
    file = folder / 'mine.detector'
    file.write_text(installed(folder, 'keepbox', 'detector', 'yolox'))
    installed(folder, 'keepbox', 'detector', file)
    assert pathlib.Path('/usr/share/man/man1/keepbox.1.gz').exists()
    owners = installed(folder, 'dpkg-query', '-S', '/usr/bin/keepbox', '/usr/libexec/keepbox')
    assert 'python3-keepbox: /usr/bin' in owners and 'gstreamer1.0-keepbox: /usr/lib' in owners
    known = json.loads(installed(folder, 'keepbox', 'doctor', '--json'))
    assert known['works'] and known['package'] == '/usr/lib/python3/dist-packages/keepbox', known


def test_the_example_of_a_service(folder):
    del folder
    places = pathlib.Path('/usr/share/doc/gstreamer1.0-keepbox/examples')
    example = (SOURCE / 'tools/debian/examples/keepbox@.service').read_text()
    assert (places / 'keepbox@.service').read_text() == example


def test_pages_and_examples(folder):
    """Scripts run where they lie, in a folder that only root may write."""
    place = pathlib.Path('/usr/share/doc/keepbox-doc')
    for page in (*SOURCE.glob('*.md'), *(SOURCE / 'docs').rglob('*.md')):
        assert (place / page.relative_to(SOURCE)).read_text() == page.read_text(), page
    for script in ('objects', 'wall', 'boxes.py'):
        assert (place / 'examples/pipelines' / script).stat().st_mode & 0o111, script
    shown = re.findall(r'!\[[^]]*\]\(([^)]+)\)', (place / 'README.md').read_text())
    assert shown and all((place / name).is_file() for name in shown), shown
    out = folder / 'boxes.jsonl'
    installed(folder, 'keepbox', 'detect', place / 'pipelines/media/shapes.webm', '--model',
              place / 'pipelines/models/shapes.onnx', '--boxes', out)
    assert len(out.read_text().splitlines()) == 250


if __name__ == '__main__':
    main(globals())
