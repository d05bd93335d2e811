#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Installs keepbox and uses keepbox.h, its library and the plugins as README describes: in the
build folder, and in a file system with the installed files in place, without any environment
variables.

usage: install.py BUILD
"""
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

from tap import PIPELINES, SOURCE, Skip, blocks_of_pages, main, run

BUILD = pathlib.Path(*sys.argv[1:2])
VERSION = re.search("version: '(.*?)'", (SOURCE / 'meson.build').read_text())[1]
# A block of documentation with its name and version; a function; a type's name in its function.
SINCE = re.compile(r'^/\*\*\n \* (\w+):(?:(?!\*/).)*?Since: ([\d.]+)\n', re.M | re.S)
FUNCTION = re.compile(r'^[\w* ]+?\b(keepbox_\w+)\(', re.M)
TYPE = re.compile(r'^(.*)_get_type$')
TOOLS = ('meson', 'cc', 'c++', 'pkg-config', 'nm')
STAYS = """
import _ctypes, ctypes, sys
library = ctypes.CDLL(sys.argv[1])
_ctypes.dlclose(library._handle)
sys.exit('libkeepbox' not in open('/proc/self/maps').read())
"""
APP = """
#include <gst/app/app.h>
%s
void app(GstBuffer* frame, GstAppSrc* appsrc, GstSample* sample, float* output, gsize bytes,
         gpointer stream, GDestroyNotify give_back);
void app(GstBuffer* frame, GstAppSrc* appsrc, GstSample* sample, float* output, gsize bytes,
         gpointer stream, GDestroyNotify give_back) {
%s
}
"""
PYTHON = """
import gi
gi.require_version("Keepbox", "1.0")
from gi.repository import Keepbox
print(Keepbox.version())
import keepbox
print(keepbox.__version__, keepbox.__file__)
"""


def camel(name):
    return ''.join(word.capitalize() for word in name[1].split('_'))


def need_tools():
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    if missing:
        raise Skip(f'no {", ".join(missing)}')


def bare_environment(folder):
    """Returns an environment without hints for GStreamer, ld.so or pkg-config."""
    return {'PATH': os.environ['PATH'], 'HOME': str(folder), 'LANG': 'C.UTF-8',
            'GST_REGISTRY': str(folder / 'registry.bin')}


def lines_of_pages(text):
    block, = (block for block in blocks_of_pages('sh') if text in block)
    return block


def line_installed():
    """Runs README's commands with everything installed."""
    line, = (block for block in blocks_of_pages('sh') if block.startswith('cc app.c'))
    return line.strip()


def uninstalled():
    return {**os.environ, 'PKG_CONFIG_PATH': str(BUILD / 'meson-uninstalled')}


def lay_out(folder):
    need_tools()
    shutil.copy(PIPELINES / 'embed.c', folder / 'app.c')
    (folder / 'build').symlink_to(BUILD)


def install(folder):
    """Returns the folder that serves as the root of the file system."""
    need_tools()
    run('meson', 'install', '-C', BUILD, '--destdir', folder / 'root', '--no-rebuild', '--quiet')
    return folder / 'root'


def has_cuda():
    options = json.loads((BUILD / 'meson-info/intro-dependencies.json').read_text())
    return any(found['name'] == 'gstreamer-cuda-1.0' for found in options) and \
        (BUILD / 'kernels/libkeepbox-cuda-kernels.a').exists()


def run_without_libgstcuda(script):
    """Runs it with an invalid library in place of that one."""
    hide = f'for f in {variable("gstreamer-1.0", "libdir")}/libgstcuda-1.0.so.*; do' \
           ' mount --bind /dev/null "$f"; done'
    for namespace in (['unshare', '-m'], ['unshare', '-rm']):
        if subprocess.run([*namespace, 'bash', '-ec', hide], capture_output=True,
                          check=False).returncode == 0:
            done = subprocess.run([*namespace, 'bash', '-ec', f'{hide}; {script}'], text=True,
                                  capture_output=True, timeout=100, check=False)
            return done.stdout, done.stderr
    raise Skip('no right to mount')


def run_installed(folder, script):
    """Runs it with the installed files mounted over /usr."""
    mount = f'mount -t overlay overlay -o lowerdir={folder}/root/usr:/usr /usr'
    for namespace in (['unshare', '-m'], ['unshare', '-rm']):
        if subprocess.run([*namespace, 'sh', '-c', mount], capture_output=True,
                          check=False).returncode == 0:
            return run(*namespace, 'bash', '-c', f'{mount} && cd {folder} && {script}',
                       env=bare_environment(folder))
    raise Skip('no right to mount')


def configure(folder, *options):
    """Returns install paths by name; dpkg-architecture, which meson calls, is hidden."""
    need_tools()
    helper = folder / 'dpkg-architecture'
    helper.write_text('#!/bin/sh\nexit 1\n')
    helper.chmod(0o755)
    build = folder / 'other'
    run('meson', 'setup', build, SOURCE, '-Dtests=disabled', '-Dpipelines=false', '-Dcuda=disabled',
        *options, env={**os.environ, 'PATH': f'{folder}:{os.environ["PATH"]}'})
    plan = json.loads((build / 'meson-info/intro-installed.json').read_text())
    return build, {pathlib.Path(path).name: pathlib.Path(path) for path in plan.values()}


def variable(package, name):
    return run('pkg-config', f'--variable={name}', package)[0].strip()


def test_embedding_without_installing(folder):
    lay_out(folder)
    lines = lines_of_pages('meson-uninstalled')
    out, _ = run('bash', '-ec', f'{lines}./a.out', cwd=folder, env=bare_environment(folder))
    assert len(out.splitlines()) == 20, out


def test_embedding_installed(folder):
    lay_out(folder)
    install(folder)
    out, _ = run_installed(folder, f'{line_installed()} && ./a.out')
    assert len(out.splitlines()) == 20, out


def test_python_finds_what_is_installed(folder):
    root = install(folder)
    typelibs = list(root.glob('**/Keepbox-1.0.typelib'))
    if not typelibs:
        raise Skip('built without introspection')
    assert len(typelibs) == 1 and len(list(root.glob('**/share/gir-1.0/Keepbox-1.0.gir'))) == 1
    package, = root.glob('**/keepbox/__init__.py')
    assert not (package.parent / '__pycache__').exists() and (package.parent / 'py.typed').exists()
    library, = root.glob('**/libkeepbox.so.0')
    # Replaces ldconfig, which would write to the system.
    known = f'LD_LIBRARY_PATH=/{library.parent.relative_to(root)} PYTHONDONTWRITEBYTECODE=1'
    out, _ = run_installed(folder, f"{known} {sys.executable} -c '{PYTHON}'")
    assert out.split() == [VERSION, VERSION, f'/{package.relative_to(root)}'], out


def test_the_installed_program(folder):
    root = install(folder)
    if not list(root.glob('**/bin/keepbox')):
        raise Skip('built without introspection')
    library, = root.glob('**/libkeepbox-decode.so.0')
    known = f'LD_LIBRARY_PATH=/{library.parent.relative_to(root)} PYTHONDONTWRITEBYTECODE=1'
    out, _ = run_installed(folder, f'export {known}; keepbox --version; keepbox detector yolox;'
                           ' keepbox gst-inspect-1.0 boxdecode')
    assert out.startswith(f'keepbox {VERSION}\n[detector]\n') and 'Factory Details' in out, out
    assert list(root.glob('**/man/man1/keepbox.1')) and list(root.glob('**/libexec/keepbox/*'))


def test_installed_plugins_are_found(folder):
    plugins = {path.name for path in install(folder).glob('**/libgst*.so')}
    names = {'libgstkeepbox.so': 'boxdecode', 'libgstkeepboxoverlay.so': 'boxoverlay',
             'libgstkeepboxpublish.so': 'boxpublish'}
    assert 'libgstkeepbox.so' in plugins <= set(names), plugins
    for plugin in plugins:
        out, _ = run_installed(folder, f'gst-inspect-1.0 {names[plugin]}')
        assert re.search(f'Filename +/usr/.*/{plugin}', out), out


def test_folders_are_the_distributions(folder):
    build, files = configure(folder)
    library = variable('gstreamer-1.0', 'libdir').removeprefix(variable('gstreamer-1.0', 'prefix'))
    assert files['libgstkeepbox.so'].parent == pathlib.Path(variable('gstreamer-1.0', 'pluginsdir'))
    assert str(files['libkeepbox.so.0'].parent) == f'/usr/local{library}', files
    assert str(files['keepbox.pc'].parent) in variable('pkg-config', 'pc_path').split(':'), files
    assert f'-Wl,-rpath,${{prefix}}{library}' in (build / 'meson-private/keepbox.pc').read_text()


def test_distributions_need_no_rpath(folder):
    build, files = configure(folder, '--prefix', variable('gstreamer-1.0', 'prefix'))
    assert str(files['libkeepbox.so.0'].parent) == variable('gstreamer-1.0', 'libdir'), files
    out, _ = run('pkg-config', '--libs', build / 'meson-private/keepbox.pc')
    assert 'rpath' not in out, out


def test_prefix_of_ones_own_holds_all(folder):
    _, files = configure(folder, '--prefix', folder / 'own')
    assert all(path.is_relative_to(folder / 'own') for path in files.values()), files


def test_code_of_pages_compiles(folder):
    need_tools()
    flags, _ = run('pkg-config', '--cflags', 'keepbox', 'gstreamer-app-1.0', env=uninstalled())
    blocks = blocks_of_pages('c')
    assert len(blocks) == 2, blocks
    for block in blocks:
        includes, code = block.split('\n\n', 1)
        (folder / 'app.c').write_text(APP % (includes, code))
        run('cc', '-Wall', '-Werror', '-fsyntax-only', *flags.split(), folder / 'app.c')


def test_meson_of_pages_builds(folder):
    lay_out(folder)
    block, = blocks_of_pages('meson')
    (folder / 'meson.build').write_text(block)
    run('meson', 'setup', 'out', cwd=folder, env=uninstalled())
    run('meson', 'compile', '-C', 'out', cwd=folder)
    run(folder / 'out/app')


def test_cmake_of_pages_builds(folder):
    lay_out(folder)
    if shutil.which('cmake') is None:
        raise Skip('no cmake')
    block, = blocks_of_pages('cmake')
    (folder / 'CMakeLists.txt').write_text(block)
    run('cmake', '-B', 'out', cwd=folder, env=uninstalled())
    run('cmake', '--build', 'out', cwd=folder)
    run(folder / 'out/app')


def test_headers_are_of_c_and_of_cpp(folder):
    languages = ('cc', 'c11', 'c'), ('c++', 'c++17', 'c++')
    headers = list(install(folder).glob('**/include/keepbox/*.h'))
    flags, _ = run('pkg-config', '--cflags', 'gstreamer-analytics-1.0')
    assert len(headers) == 5, headers
    for header in headers:
        for compiler, standard, language in languages:
            run(compiler, f'-std={standard}', '-Wall', '-Wextra', '-Wpedantic', '-Werror',
                '-fsyntax-only', *flags.replace('-I', '-isystem').split(), '-x', language,
                '-include', header, '/dev/null')


def test_what_is_exported_is_in_the_headers_and_since_when(folder):
    root = install(folder)
    library, = root.glob('**/libkeepbox.so.0')
    out, _ = run('nm', '-D', '--defined-only', library)
    exported = {line.split()[-1] for line in out.splitlines() if ' A ' not in line}
    declared = set()
    for header in root.glob('**/include/keepbox/*.h'):
        text = header.read_text()
        since = {name: version for name, version in SINCE.findall(text)}
        functions = FUNCTION.findall(text)
        declared |= {f'{name}@@KEEPBOX_{since[name]}' for name in functions if name in since}
        # the type functions come with their types
        types = {name for name in functions if name not in since}
        assert all(name.endswith('_get_type') for name in types), types
        declared |= {f'{name}@@KEEPBOX_{since[TYPE.sub(camel, name)]}' for name in types}
    assert exported == declared, exported ^ declared


def test_the_cpu_needs_no_libgstcuda(folder):
    need_tools()
    if not has_cuda():
        raise Skip('a build without CUDA')
    replay = f'gst-launch-1.0 -q tensorreplay location={PIPELINES}/media/shapes-tensors.f16.raw' \
        ' dims=1,10,2100 type=float16'
    registry = f'export GST_REGISTRY={folder}/registry.bin'
    out, messages = run_without_libgstcuda(f'{registry}; {replay} ! boxdecode ! boxsink;'
                                           f' {BUILD}/pipelines/embed')
    assert '"detection"' in out and 'frame 9' in out, messages
    _, messages = run_without_libgstcuda(f'{registry}; {replay} memory=cuda ! boxdecode ! fakesink')
    assert 'libgstcuda-1.0.so.0, cannot be loaded' in messages, messages


def test_unloading_leaves_the_code(folder):
    library, = install(folder).glob('**/libkeepbox.so.0')
    run(sys.executable, '-c', STAYS, library)


if __name__ == '__main__':
    main(globals())
