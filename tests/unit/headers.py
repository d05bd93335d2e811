#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks that headers compile on their own, that core's headers need only the standard library, and
that includes only go down: from a folder of gst/ to the common ones, then to core, to folders of
runtimes by headers without their types, and never in a circle of folders. Builds check headers that
their own source includes first.

Arguments: the source folder, and to compile headers the build folder and the compiler."""
import collections
import concurrent.futures
import graphlib
import json
import os
import pathlib
import re
import subprocess
import sys

PACKAGES = ['gstreamer-1.0', 'gstreamer-base-1.0', 'gstreamer-video-1.0',
            'gstreamer-analytics-1.0', 'opencv4', 'pangocairo', 'libonnxruntime']
# Folders that a folder may include in addition to itself and core.
WANT_CUDA = ['gst/tensors/cudaobjects.h', 'gst/infer/cuda/cudamodel.h', 'gst/infer/cuda/cudaruns.h']
# core's rooms, the lowest first: each may include those before it.
ROOMS = ['formula', 'base', 'model', 'recognition', 'plan', 'run', 'options', 'reference']
CORE = [f'core/{room}' for room in ROOMS]
# Trackers use formulas only; the elements that track and that publish tracks use them.
TRACK = 'core/track'
# Lines and zones, at which the counting element counts what trackers follow.
COUNT = 'core/count'
# Classes and text of objects, which only the classifying element uses.
CLASSIFY = 'core/classify'
BELOW = {**{room: CORE[:i] for i, room in enumerate(CORE)}, TRACK: ['core/formula'],
         COUNT: ['core/formula', 'core/base', TRACK],
         CLASSIFY: ['core/formula', 'core/base'],
         'kernels': CORE, 'decode': CORE,
         'gst/base': CORE, 'gst/tensors': [*CORE, 'gst/base'],
         'gst/metas': [*CORE, 'gst/base', 'gst/tensors'],
         'gst/classify': [*CORE, CLASSIFY, 'gst/base', 'gst/metas', 'gst/tensors'],
         # Drawing is no backend's work, so the plugin calls its kernel without core's list.
         'gst/overlay': [*CORE, 'gst/base', 'gst/metas', 'gst/tensors', 'kernels'],
         'gst/tool': [*CORE, 'gst/base', 'gst/decode'],
         'gst/publish': [*CORE, TRACK, 'gst/base', 'gst/metas', 'gst/tensors', 'gst/sink'],
         'gst/count': [*CORE, TRACK, COUNT, 'gst/base', 'gst/metas', 'gst/tensors'],
         'gst/track': [*CORE, TRACK, 'gst/base', 'gst/metas', 'gst/tensors'],
         'gst': [*CORE, 'gst/base', 'gst/metas', 'gst/tensors', 'gst/statistics']}
# Folders of gst/infer that know ONNX Runtime, and their headers for files elsewhere, which declare
# its types at most.
RUNTIME_ROOMS = ['gst/infer/onnx', 'gst/infer/cuda']
RUNTIME_HEADERS = ['gst/infer/onnx/openbatch.h', 'gst/infer/onnx/runtime.h',
                   'gst/infer/onnx/session.h', 'gst/infer/cuda/pinnedpool.h']
# Headers that formulas may include of the standard library: a GPU compiles them.
DEVICE = {'algorithm', 'bit', 'cmath', 'concepts', 'cstddef', 'cstdint', 'cstring', 'limits',
          'string_view'}

CHECKS = 4  # of includes, before the headers


def folder_of(name):
    parts = pathlib.PurePath(name).parts
    return '/'.join(parts[:2]) if parts[0] in ('gst', 'core') else parts[0]


def not_for_devices(path):
    return sorted(set(re.findall(r'^#include <([^>]+)>', path.read_text(), re.M)) - DEVICE)


def included_above(source, path):
    own = folder_of(path.relative_to(source))
    allowed = {own, *BELOW.get(own, BELOW['gst'])}
    names = re.findall(r'^#include "([^"]+)"', path.read_text(), re.M)
    return [name for name in names if '/' in name and folder_of(name) not in allowed]


def included_of_runtimes(source, path):
    names = re.findall(r'^#include [<"]([^">]+)', path.read_text(), re.M)
    own = path.relative_to(source)
    if str(own) not in RUNTIME_HEADERS and str(own.parent) in RUNTIME_ROOMS:
        return []
    return [name for name in names if name not in RUNTIME_HEADERS and
            (name.startswith('onnxruntime') or str(pathlib.PurePath(name).parent) in RUNTIME_ROOMS)]


def siblings(source, files):
    """Returns what each folder includes of the folders with the same parent."""
    graph = collections.defaultdict(set)
    for path in files:
        own = path.relative_to(source).parent.parts
        for name in re.findall(r'^#include "([^"]+)"', path.read_text(), re.M):
            other = pathlib.PurePath(name).parent.parts
            common = len(os.path.commonprefix([own, other]))
            if common < min(len(own), len(other)):
                graph[own[:common + 1]].add(other[:common + 1])
    return {'/'.join(key): {'/'.join(each) for each in value} for key, value in graph.items()}


def circles(source, files):
    try:
        graphlib.TopologicalSorter(siblings(source, files)).prepare()
    except graphlib.CycleError as error:
        return [' includes '.join(reversed(error.args[1]))]
    return []


def compiled(build):
    """Returns the sources in this build, without those whose dependencies are missing."""
    targets = json.loads((build / 'meson-info/intro-targets.json').read_text())
    return {pathlib.Path(path).resolve() for target in targets for group in target['target_sources']
            for path in [*group.get('sources', []), *group.get('unity_sources', [])]}


def is_first_of_its_source(source, header, built):
    """True if its own .cpp includes it first, which tests it in builds without unity."""
    own = header.with_suffix('.cpp')
    if own.resolve() not in built:
        return False
    first = re.search(r'^#include [<"]([^>"]+)', own.read_text(), re.M)
    return first and first[1] == str(header.relative_to(source))


def compile_alone(source, compiler, flags, header):
    core = header.relative_to(source).parts[0] == 'core'
    extra = [] if core else [*flags, '-DGST_USE_UNSTABLE_API']
    return subprocess.run([*compiler, '-std=c++23', '-fsyntax-only', '-x', 'c++', f'-I{source}',
                           *extra, str(header)], capture_output=True, text=True)


def report(number, name, lines):
    print(f'{"not ok" if lines else "ok"} {number} - {name}')
    print(''.join(f'# {line}\n' for line in lines), end='')


def check_includes(source):
    files = sorted(path for folder in ('core', 'kernels', 'decode', 'gst')
                   for path in (source / folder).rglob('*') if path.suffix in
                   ('.h', '.cpp', '.cu', '.cuh'))
    report(1, 'includes go down', [f'{path.relative_to(source)} includes {name}'
                                   for path in files for name in included_above(source, path)])
    report(2, 'formulas include no containers',
           [f'{path.relative_to(source)} includes <{name}>'
            for path in sorted(source.glob('core/formula/*.h')) for name in not_for_devices(path)])
    report(3, 'files reach a runtime only by headers without its types',
           [f'{path.relative_to(source)} includes {name}'
            for path in files for name in included_of_runtimes(source, path)])
    report(4, 'folders with the same parent do not include each other in a circle',
           circles(source, files))


def headers_to_compile(source, build):
    built = compiled(build)
    headers = sorted([*source.glob('core/**/*.h'), *source.glob('decode/*.h'),
                      *source.glob('gst/**/*.h')])
    for path in WANT_CUDA:
        headers.remove(source / path)
    return [path for path in headers if not is_first_of_its_source(source, path, built)]


def main():
    source, compiler = pathlib.Path(sys.argv[1]), sys.argv[3:]
    headers = headers_to_compile(source, pathlib.Path(sys.argv[2])) if compiler else []
    print(f'1..{len(headers) + CHECKS}')
    check_includes(source)
    if not compiler:
        return
    flags = subprocess.run(['pkg-config', '--cflags', *PACKAGES], check=True,
                           capture_output=True, text=True).stdout.split()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        runs = pool.map(lambda header: compile_alone(source, compiler, flags, header), headers)
    for number, (header, run) in enumerate(zip(headers, runs), CHECKS + 1):
        report(number, header.relative_to(source),
               run.stderr.splitlines()[:20] if run.returncode else [])


main()
