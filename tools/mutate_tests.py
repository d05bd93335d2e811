# SPDX-License-Identifier: LGPL-2.1-or-later
"""A scratch copy of the tree with a build folder, and the tests that can detect a change there."""
import collections
import hashlib
import json
import os
import pathlib
import platform
import re
import resource
import shutil
import signal
import subprocess
import time
from typing import NamedTuple

BESIDE = ['docs', 'tools', 'meson.build', 'meson.options', 'README.md', 'dev']
UNIT, FORMULAS = 'tests/unit/unit-test', 'tests/unit/formula-test'
PARITY = 'tests/parity/parity-test'
ELEMENTS, API, TOOL = 'tests/gst/element-test', 'tests/gst/api-test', 'gst/tool/keepbox-families'
PUBLISH = 'tests/gst/publish-test'
FAULTS = 'tests/faults/faults-test'
FEW = '--gtest_filter=-*Planted*'  # with few seeds some families do not detect their bug
MEMORY = 8 << 30
ONE_TARGET = "'-DHWY_DISABLED_TARGETS=(~(HWY_AVX2|HWY_SSE2))'"
# All mutants start from what the user's own builds left in the compiler cache; code affected by a
# change is compiled once, so without optimisation. One instruction set is enough, because all are
# built from one source.
COMPILER = '''#!/bin/sh
case "$*" in
  *kernels/simd/*|*circle_simd*) set -- "$@" {simd} && level=-O1 ;;
  *) level=-O0 ;;
esac
[ -z "$KEEPBOX_MUTANT" ] || exec {compiler} "$@" $level -g0 -w -Wl,-S
case "$*" in
  *' -c '*) exec {cache} {compiler} "$@" ;;
  *) exec {compiler} "$@" -Wl,-S ;;
esac
'''


class Step(NamedTuple):
    """A test program, some of its tests, and the targets to build for them."""
    name: str
    targets: list
    arguments: list
    seconds: float  # time limit


class Outcome(NamedTuple):
    verdict: str  # 'caught', 'not caught', 'does not compile', 'not tried'
    by: str       # the test that failed, or the first error


def limits():
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, seconds, **options):
    """Returns exit status and output; None for a hang, after which all processes are ended."""
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          stdin=subprocess.DEVNULL, text=True, errors='replace',
                          preexec_fn=limits, **options) as process:
        try:
            out, _ = process.communicate(timeout=seconds)
            return process.returncode, out
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            out, _ = process.communicate()
            return None, out
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise


def copied(top):
    """Returns the names of what a build and its tests read: the build's folders, and more."""
    build = (top / 'meson.build').read_text()
    return re.findall(r"^ *subdir\('(\w+)'\)", build, re.M) + BESIDE


def fails(status, out):
    """True if a program failed; Python's end with 0 and print it as TAP."""
    return status != 0 or re.search(r'^not ok', out, re.M) is not None


def failed_test(out):
    found = re.search(r'\[  FAILED  \] (\S+?),? |^not ok \d+ (.*)', out, re.M)
    return next((g for g in found.groups() if g), '') if found else ''


def suites(folder, stem=''):
    """Returns a filter for the GoogleTest suites of a folder's files whose names contain the
    stem."""
    names = set()
    for path in folder.glob('*.cpp'):
        if stem in path.stem:
            names.update(re.findall(r'^(?:TYPED_)?TEST(?:_[FP])?\((\w+),', path.read_text(), re.M))
    return ':'.join(f'{name}.*:*/{name}.*' for name in sorted(names))


class Scratch:
    def __init__(self, top, folder):
        self.top, self.folder = top, folder
        self.tree = folder / 'tree'
        self.build = self.tree / 'build'
        self.sources, self.plugins, self.publishes, self.leaks = {}, [], False, []

    def copy_tree(self):
        """Copies files; unchanged ones keep their times, so that they are not rebuilt."""
        wanted, state = set(), hashlib.sha256()
        for name in copied(self.top):
            paths = [self.top / name]
            if paths[0].is_dir():
                paths = [p for p in paths[0].rglob('*')
                         if p.is_file() and '__pycache__' not in p.parts]
            for path in sorted(paths):
                to = self.tree / path.relative_to(self.top)
                wanted.add(to)
                state.update(path.read_bytes())
                if not to.exists() or to.read_bytes() != path.read_bytes():
                    to.parent.mkdir(parents=True, exist_ok=True)
                    shutil.copy(path, to)
        for path in self.tree.rglob('*'):
            if path.is_file() and path not in wanted and self.build not in path.parents:
                path.unlink()
        self.state = state.hexdigest()

    def prepare(self):
        """Copies and configures the unchanged tree."""
        self.tree.mkdir(parents=True, exist_ok=True)
        self.copy_tree()
        compiler = self.folder / 'c++'
        simd = ONE_TARGET if platform.machine() == 'x86_64' else ''
        text = COMPILER.format(compiler='g++', cache=shutil.which('ccache') or '', simd=simd)
        if not compiler.exists() or compiler.read_text() != text:
            compiler.write_text(text)
            compiler.chmod(0o755)
        if not (self.build / 'build.ninja').exists():
            subprocess.run(['meson', 'setup', self.build, self.tree, '-Dcuda=disabled',
                            '-Dunity=off'], check=True,
                           env={**os.environ, 'CXX': str(compiler)}, stdout=subprocess.DEVNULL)
        self.read_builds()

    def read_builds(self):
        """Sets up the environment of the tests, and finds out which plugins there are, how leaks
        are found and which files each target compiles."""
        tests = json.loads((self.build / 'meson-info/intro-tests.json').read_text())
        environment = next(test['env'] for test in tests if test['name'] == 'elements')
        self.environment = {**os.environ, **environment,
                            'KEEPBOX_TEST_DATA': str(self.top.parent / 'shared/data')}
        self.leaks = next((test['cmd'] for test in tests if test['name'] == 'leaks'), [])
        rules = (self.build / 'build.ninja').read_text()
        self.plugins = re.findall(r'^build (gst/plugins/\w+\.so):', rules, re.M)
        self.publishes = f'\nbuild {PUBLISH}:' in rules
        out = subprocess.run(['ninja', '-C', self.build, '-t', 'deps'], capture_output=True,
                             text=True, check=True).stdout
        self.sources = collections.defaultdict(set)
        for block in out.split('\n\n'):
            made, *paths = block.splitlines() or ['']
            for path in paths:
                path = os.path.relpath(self.build / path.strip(), self.tree)
                self.sources[path].add(made.split(':')[0])

    def ninja(self, targets, mutant=False, check=False):
        """Builds; returns status and output. Objects of a mutant are compiled fast, others come
        from the cache."""
        environment = {**os.environ, 'KEEPBOX_MUTANT': '1' if mutant else ''}
        jobs = '1' if mutant else str(os.cpu_count())
        status, out = run(['ninja', '-j', jobs, '-C', str(self.build), *targets],
                          None if check else 900, env=environment)
        if check and status != 0:
            raise SystemExit(f'mutate: the unchanged tree does not build:\n{out[-2000:]}')
        return status, out

    def build_unchanged(self, steps):
        self.ninja(sorted({target for step in steps for target in step.targets}), check=True)

    def check_unchanged(self, file):
        """Builds the test programs, which must pass without a change."""
        stamp = self.folder / 'passed.json'
        passed = json.loads(stamp.read_text()) if stamp.exists() else {}
        steps = {step.name: step for step in self.steps(file)}
        left = {name: step for name, step in steps.items()
                if passed.get(name, [''])[0] != self.state}
        if left:
            self.build_unchanged(left.values())
            self.read_builds()
        for name, step in left.items():
            digest = hashlib.sha256()
            for target in step.targets:
                digest.update((self.build / target).read_bytes())
            if passed.get(name, ['', ''])[1] != digest.hexdigest():
                self.check_step(step)
            passed[name] = [self.state, digest.hexdigest()]
            stamp.write_text(json.dumps(passed))

    def check_step(self, step):
        command = step.arguments
        if step.name != 'leaks':
            command = [a for a in command if a == FEW or not a.startswith('--gtest_filter')]
        status, out = run(command, 4 * step.seconds, cwd=self.build, env=self.environment)
        if fails(status, out):
            why = 'it ran out of time' if status is None else failed_test(out) or out[-500:]
            raise SystemExit(f'mutate: {step.name} fails on the unchanged tree: {why}')

    def google(self, program, wanted, unwanted='', more=(), seconds=90, targets=()):
        arguments = ['--gtest_fail_fast', '--gtest_brief=1', *more]
        if wanted or unwanted:
            arguments.append(f'--gtest_filter={wanted}' + (f'-{unwanted}' if unwanted else ''))
        return Step(program.rsplit('/', 1)[1], [program, *targets], [program, *arguments], seconds)

    def steps(self, file):
        """Returns the programs that can detect a change in a file, cheap and close ones first."""
        parts = pathlib.Path(file).parts
        kernel = parts[0] != 'gst'
        room = 'core' if kernel else parts[1]
        stem = re.sub(r'[-_.].*', '', parts[-1])
        folder = self.tree / 'tests/unit' / room
        near = suites(folder, stem)
        if not near and kernel:
            near = suites(self.tree / 'tests/unit' / parts[1])
        near = near or suites(folder)
        steps = [self.google(UNIT, near)] if near else []
        steps.append(self.google(UNIT, '', near))
        if kernel:
            steps.append(self.google(PARITY, '', more=[FEW, '--seeds=2'], seconds=240))
            steps.append(self.google(FORMULAS, '', seconds=300))
            return steps
        if room == 'tool' or stem.startswith('detector') or stem == 'keytext':
            script = str(self.tree / 'tests/unit/tool.py')
            steps.append(Step('tool.py', [TOOL], ['python3', script, TOOL], 60))
        near = suites(self.tree / 'tests/gst' / room) if room != 'publish' else ''
        if room == 'publish' and self.publishes:
            steps.append(self.google(PUBLISH, '', seconds=300, targets=self.plugins))
        elif near:
            steps.append(self.google(ELEMENTS, near, seconds=180, targets=self.plugins))
        steps.append(self.google(ELEMENTS, '', near, seconds=180, targets=self.plugins))
        steps.append(Step('leaks', [ELEMENTS, *self.plugins],
                          [*self.leaks, '--gtest_fail_fast', '--gtest_brief=1'], 300))
        steps.append(self.google(API, '', targets=self.plugins))
        steps.append(self.google(FAULTS, '', targets=self.plugins))
        return steps

    def try_step(self, step):
        """Returns an outcome, or None if the step detects nothing."""
        status, out = self.ninja(step.targets, mutant=True)
        if status is None:
            return Outcome('not tried', 'the compiler ran out of time')
        if status != 0:
            error = re.search(r'error: (.*)|undefined reference.*', out)
            return Outcome('does not compile', error.group() if error else out[-100:])
        status, out = run(step.arguments, step.seconds, cwd=self.build, env=self.environment)
        if not fails(status, out):
            return None
        if status is None:
            return Outcome('caught', f'{step.name}: it hangs')
        return Outcome('caught', f'{step.name}: {failed_test(out) or f"it ends with {status}"}')

    def change(self, change, text):
        (self.tree / change.file).write_text(text[:change.start] + change.new + text[change.end:])

    def restore(self, file, text):
        path = self.tree / file
        if path.read_text() != text:
            path.write_text(text)

    def try_change(self, change, text):
        begin = time.monotonic()
        self.change(change, text)
        try:
            for step in self.steps(change.file):
                outcome = self.try_step(step)
                if outcome:
                    break
            else:
                outcome = Outcome('not caught', '')
        finally:
            self.restore(change.file, text)
        return outcome, time.monotonic() - begin
