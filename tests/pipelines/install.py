#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs into a folder, and there does with keepbox.h and its library what README says.

usage: install.py BUILD
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(os.environ['KEEPBOX_SOURCE'])
BUILD = sys.argv[1]
TOOLS = ('meson', 'cc', 'c++', 'pkg-config', 'nm')
STAYS = """
import _ctypes, ctypes, sys
library = ctypes.CDLL(sys.argv[1])
_ctypes.dlclose(library._handle)
sys.exit('libkeepbox' not in open('/proc/self/maps').read())
"""


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True,
                          errors='replace', timeout=120, **options)
    assert done.returncode == 0, f'{command} ended with {done.returncode}: {done.stderr[-2000:]}'
    return done.stdout


class Tree:
    """What is installed, as if the folder were its prefix, which pkg-config has to believe."""

    def __init__(self, folder):
        run('meson', 'install', '-C', BUILD, '--destdir', folder, '--no-rebuild', '--quiet')
        package, = folder.glob('**/keepbox.pc')
        text = package.read_text()
        prefix = folder / re.search('^prefix=/(.*)$', text, re.M)[1]
        package.write_text(re.sub('^prefix=.*$', f'prefix={prefix}', text, flags=re.M))
        self.folder = folder
        self.built, = folder.glob('**/libkeepbox.so.0')
        self.env = dict(os.environ, PKG_CONFIG_PATH=str(package.parent),
                        LD_LIBRARY_PATH=f'{self.built.parent}:'
                                        + os.environ.get('LD_LIBRARY_PATH', ''),
                        GST_PLUGIN_PATH=str(self.built.parent / 'gstreamer-1.0'),
                        GST_REGISTRY=str(folder / 'registry.bin'))

    def run(self, *command):
        return run(*command, env=self.env, cwd=self.folder)


def test_line_of_readme_compiles_the_example(tree):
    line = re.search(r'^cc app\.c .*$', (SOURCE / 'README.md').read_text(), re.M)[0]
    shutil.copy(SOURCE / 'pipelines/embed.c', tree.folder / 'app.c')
    tree.run('bash', '-c', line)
    out = tree.run('./a.out')
    assert len(out.splitlines()) == 20, out


def test_header_is_one_of_c_and_of_cpp(tree):
    flags = tree.run('pkg-config', '--cflags', 'keepbox').split()
    for compiler, standard in ('cc', 'c11'), ('c++', 'c++17'):
        tree.run(compiler, f'-std={standard}', '-Wall', '-Wextra', '-Werror', '-fsyntax-only',
                 *flags, '-x', 'c' if compiler == 'cc' else 'c++', '-include', 'keepbox.h',
                 '/dev/null')


def test_nothing_else_is_exported(tree):
    names = {line.split()[-1].partition('@')[0]
             for line in tree.run('nm', '-D', '--defined-only', tree.built).splitlines()}
    functions = {name for name in names if name != 'KEEPBOX_0'}
    header = (SOURCE / 'gst/api/keepbox.h').read_text()
    assert functions == set(re.findall(r'\b(keepbox_\w+)\(', re.sub('//.*', '', header))), functions


def test_unloading_leaves_the_code(tree):
    tree.run(sys.executable, '-c', STAYS, tree.built)


def main():
    tests = [value for name, value in globals().items() if name.startswith('test_')]
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        print(f'1..0 # SKIP no {", ".join(missing)}')
        return
    print(f'1..{len(tests)}', flush=True)
    with tempfile.TemporaryDirectory(prefix='keepbox-') as folder:
        tree = Tree(pathlib.Path(folder))
        for number, test in enumerate(tests, 1):
            name = test.__name__.removeprefix('test_').replace('_', ' ')
            try:
                test(tree)
                print(f'ok {number} - {name}', flush=True)
            except Exception as error:  # a test that fails in any way has failed
                print(f'not ok {number} - {name}', flush=True)
                print('\n'.join('# ' + line for line in f'{error!r}'.splitlines()), flush=True)


main()
