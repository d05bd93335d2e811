#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests ./dev with signals, with moved checkouts, whose Meson and ninja are stubs, and where
commands can write."""
import errno
import json
import os
import pathlib
import shutil
import signal
import subprocess
import time

from tap import SOURCE, Skip, main

MESON = '#!/bin/sh\ntouch "$2/build.ninja"\n'
NINJA = '#!/bin/sh\necho $$ >"$2/pid"\n'


def lay_out(folder, ninja=NINJA):
    """Makes a checkout with only ./dev and its parts, and stubs in the folder that it searches
    first."""
    checkout = folder / 'checkout'
    tools = checkout / 'build/gst/tool'
    tools.mkdir(parents=True)
    shutil.copy(SOURCE / 'dev', checkout)
    shutil.copytree(SOURCE / 'tools/dev', checkout / 'tools/dev')
    # ./dev empties a folder that it did not make
    (checkout / 'build/build.ninja').touch()
    (checkout / 'build/environment').write_text('native\n')
    for name, text in ('meson', MESON), ('ninja', ninja):
        (tools / name).write_text(text)
        (tools / name).chmod(0o755)
    return checkout


def start(checkout, *words, path=os.environ['PATH'], cuda=''):
    environment = {**os.environ, 'KEEPBOX_INSIDE': 'native',
                   'KEEPBOX_CACHE': str(checkout / 'cache'),
                   'KEEPBOX_CUDA': cuda,
                   'PATH': path}
    return subprocess.Popen([checkout / 'dev', *words], env=environment, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)


def messages(checkout, *words, status=0, **options):
    with start(checkout, *words, **options) as dev:
        out, text = dev.communicate(timeout=60)
    assert dev.returncode == status, f'{words}: {dev.returncode}, {out}{text}'
    return text


def runs(pid):
    """True while a process runs; a zombie has ended."""
    try:
        stat = pathlib.Path(f'/proc/{pid}/stat').read_text()
        return stat.rsplit(')', 1)[1].split()[0] not in 'ZX'
    except OSError:
        return False


def test_a_signal_ends_a_build_at_once(folder):
    for send, status in (signal.SIGTERM, 143), (signal.SIGINT, 130):
        checkout = lay_out(folder, f'{NINJA}exec sleep 100\n')
        pid = checkout / 'build/pid'
        with start(checkout, 'build') as dev:
            try:
                while not (pid.exists() and pid.read_text()):
                    time.sleep(0.05)
                began = time.monotonic()
                dev.send_signal(send)
                assert dev.wait(30) == status, dev.returncode
                while runs(pid.read_text().strip()):
                    assert time.monotonic() - began < 10, 'ninja goes on'
                    time.sleep(0.05)
            finally:
                if dev.poll() is None:
                    os.killpg(dev.pid, signal.SIGKILL)
        shutil.rmtree(checkout)


def test_a_build_that_fails_fails(folder):
    checkout = lay_out(folder, '#!/bin/sh\nexit 3\n')
    assert 'building failed' in messages(checkout, 'build', status=1)


def test_a_word_for_cuda_is_no_architecture(folder):
    options = f'settle_cuda; cuda_options "{folder}/new"'
    for words, expected in ((('0', 'off', 'no'), '-Dcuda=disabled\n'),
                            (('1',), '-Dcuda=enabled\n'),
                            (('89,90',), '-Dcuda=enabled\n-Dcuda-targets=89,90\n')):
        for word in words:
            assert sourced(options, KEEPBOX_CUDA=word) == (0, expected), word
    checkout = lay_out(folder)
    for word in 'auto', 'false', 'sm_90', '90,', '89 90', '9':
        text = messages(checkout, 'build', status=1, cuda=word)
        assert f'KEEPBOX_CUDA={word} is unknown; set it to' in text, text
        assert text.count('\n') == 1, text
    assert messages(checkout, 'build', cuda='off') == ''
    assert 'contradict' in messages(checkout, 'build', '--cuda', status=1, cuda='no')


def test_a_checkout_that_was_moved(folder):
    checkout = lay_out(folder)
    (checkout / 'build/made-as').write_text(f'{checkout}/build\n')
    assert messages(checkout, 'build') == ''
    other = checkout.rename(folder / 'other')
    text = messages(other, 'build', status=1)
    assert f'{other}/build was made as {checkout}/build' in text, text
    assert f"run 'rm -r {other}/build'" in text, text
    # a command runs, and the reason is known if it fails
    assert text in messages(other, 'run', 'true')


def test_a_build_folder_knows_its_name(folder):
    checkout = lay_out(folder)
    # made again, so that stubs in it would be gone
    (checkout / 'build/environment').write_text('another\n')
    tools = folder / 'tools'
    (checkout / 'build/gst/tool').rename(tools)
    messages(checkout, 'build', path=f'{tools}:{os.environ["PATH"]}')
    assert (checkout / 'build/made-as').read_text() == f'{checkout}/build\n'


def test_sources_are_formatted(folder):
    if not shutil.which('clang-format'):
        raise Skip('no clang-format')
    checkout = lay_out(folder)
    for name in '.clang-format', 'tests/unit/style.py':
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(SOURCE / name, checkout / name)
    (checkout / 'tools/mutate.ignore').touch()
    (checkout / 'core').mkdir()
    source, script = checkout / 'core/a.cpp', checkout / 'core/a.py'
    source.write_text('int  a ;\n')
    messages(checkout, 'format', source)
    assert source.read_text() == 'int a;\n', source.read_text()
    script.write_text('#' * 101 + '\n')
    text = messages(checkout, 'format', source, status=1)
    assert '# core/a.py:1\n' in text and 'the style differs' in text, text


def test_a_program_finds_the_files_of_tests(folder):
    checkout = lay_out(folder)
    with start(checkout, 'run', 'sh', '-c', 'echo $KEEPBOX_SOURCE $KEEPBOX_TEST_DATA') as dev:
        out, _ = dev.communicate(timeout=60)
    # set ones, as here, are kept
    assert out == f'{SOURCE} {os.environ["KEEPBOX_TEST_DATA"]}\n', out
    for name in 'KEEPBOX_SOURCE', 'KEEPBOX_TEST_DATA':
        environment = {**os.environ, 'KEEPBOX_INSIDE': 'native',
                       'KEEPBOX_CACHE': str(checkout / 'cache')}
        del environment[name]
        done = subprocess.run([checkout / 'dev', 'run', 'sh', '-c', f'echo ${name}'], text=True,
                              env=environment, capture_output=True, check=True)
        assert done.stdout.startswith(str(folder)), done


BUNDLED = """#!/bin/sh
[ "$1" != gst-launch-1.0 ] || { echo "x: ONNX Runtime 1.9 from $KEEPBOX_ONNXRUNTIME"; exit 1; }
[ ${GTEST_SHARD_INDEX:-0} != 0 ] || echo '[  PASSED  ] 2 tests.'
"""


def test_a_bundle_names_the_runtime_of_its_tests(folder):
    shutil.copy(SOURCE / 'tools/bundle/test', folder)
    (folder / 'run').write_text(BUNDLED)
    (folder / 'run').chmod(0o755)
    (folder / 'a.so').touch()

    def printed(*words, status=0, **variables):
        done = subprocess.run([folder / 'test', *words], text=True, capture_output=True,
                              check=False, cwd=folder, env={**os.environ, **variables})
        assert done.returncode == status, done
        return done.stdout + done.stderr

    end = f'with ONNX Runtime 1.9 from {folder}/a.so\n8 passed, 0 failed, 0 skipped\n'
    assert printed('--runtime', 'a.so').endswith(end)
    assert printed(KEEPBOX_ONNXRUNTIME=f'{folder}/a.so').endswith(end)
    assert 'b.so is not a file' in printed('--runtime', 'b.so', status=2)
    (folder / 'run').write_text('#!/bin/sh\nexit $((${GTEST_SHARD_INDEX:-0} == 0))\n')
    assert printed(status=1).endswith('without ONNX Runtime\n0 passed, 4 failed, 0 skipped\n')


def sourced(script, **variables):
    """Runs a script that calls functions of tools/dev. Returns its status and stdout."""
    names = 'steps', 'cache', 'host', 'roots', 'enter', 'build', 'test', 'compat'
    parts = ''.join(f'. "{SOURCE}/tools/dev/{part}.bash"\n' for part in names)
    script = f'set -euo pipefail\ntop={SOURCE} step_pid=\n{parts}{script}'
    environment = {**os.environ, **{name: str(value) for name, value in variables.items()}}
    done = subprocess.run(['bash', '-c', script], text=True, env=environment,
                          stdout=subprocess.PIPE, timeout=60, check=False)
    return done.returncode, done.stdout


def test_a_build_with_nothing_to_do_is_silent(folder):
    del folder
    stub = ('build=b targets=()\nin_env() { printf "%s\\n" "$lines"; return $status; }\n'
            'run_ninja_briefly')
    idle = "ninja: Entering directory `b'\nninja: no work to do."
    assert sourced(stub, lines=idle, status=0) == (0, '')
    busy = f'{idle.splitlines()[0]}\n[1/1] Linking target x'
    assert sourced(stub, lines=busy, status=0) == (0, '[1/1] Linking target x\n')
    status, out = sourced(stub, lines='FAILED: x', status=1)
    assert status == 1 and 'FAILED' in out, 'a failure is not hidden'


def test_helpers_of_compat_stay_for_other_commands(folder):
    """A second ./dev compat must not remove what the first one is running with."""
    package = folder / 'cache/trixie/usr/lib/python3/dist-packages/mesonbuild'
    package.mkdir(parents=True)
    (folder / 'build').mkdir()
    stamps = [folder / f'cache/{root}.stamp' for root in ('trixie', 'forky')]
    for stamp in stamps:
        stamp.touch()
    registry, used = folder / 'build/gst-registry-forky.bin', folder / 'build/compat/lib/used.so'
    refresh = f'cache={folder}/cache build={folder}/build\nrefresh_helpers "$build/compat"'
    assert sourced(refresh)[0] == 0
    assert (folder / 'build/compat/python/mesonbuild').is_dir()
    used.touch()
    registry.touch()
    assert sourced(refresh)[0] == 0
    assert used.exists() and registry.exists()
    os.utime(stamps[1], (1, 1))  # a root that was made again
    assert sourced(refresh)[0] == 0
    assert not used.exists() and not registry.exists()


def test_a_root_for_arm64_has_two_architectures(folder):
    make = ('step() { shift 2; printf "%s\n" "$*"; }\nremove_tree() { :; }\n'
            f'as_root() {{ :; }}\ncache={folder}\nmake_root ')
    status, out = sourced(f'{make} trixie-arm64 http://mirror a b:arm64')
    assert status == 0 and '--architectures=amd64,arm64 --include=a,b:arm64' in out, out
    assert out.endswith(f' trixie {folder}/trixie-arm64.new http://mirror\n'), out
    status, out = sourced(f'{make} trixie http://mirror a')
    assert status == 0 and '--architectures' not in out, out


JUNIT = '''<testsuites>
<testsuite name="k.k:gst / elements.Boxes"><testcase name="Fit" classname="Boxes" status="run"/>
<testcase name="Move" classname="Boxes" status="run"><failure>
boxes.cpp:7: one</failure></testcase>
<testcase name="OnGpu" classname="Boxes" status="notrun"/></testsuite>
<testsuite name="k.k:gst / leaks"><testcase name="1 - none" classname="k.k:gst / leaks"><failure/>
</testcase></testsuite>
</testsuites>'''


def test_failures_are_listed_and_counted(folder):
    results = {'k:gst / elements': 'FAIL', 'k:gst / leaks': 'FAIL', 'k:unit / tool': 'TIMEOUT',
               'k:unit / site': 'OK', 'k:unit / gpu': 'SKIP'}
    output = {'stdout': '\n'.join(map(str, range(1, 23))), 'stderr': '\nkilled'}
    (folder / 'log.json').write_text('\n'.join(
        json.dumps({'name': name, 'result': result, **(output if result == 'TIMEOUT' else {})})
        for name, result in results.items()))
    (folder / 'log.junit.xml').write_text(JUNIT)
    done = subprocess.run(['python3', SOURCE / 'tools/dev/count_results.py', folder / 'log'],
                          stdout=subprocess.PIPE, text=True, check=False)
    assert done.returncode == 1
    assert done.stdout.splitlines() == [
        'FAILED k:gst / elements: Boxes.Move', '  boxes.cpp:7: one',
        'FAILED k:gst / leaks: 1 - none',
        'FAILED k:unit / tool: timeout', *(f'  {number}' for number in range(4, 23)), '  killed',
        '2 passed, 3 failed, 2 skipped'], done.stdout


def test_libraries_of_an_onnx_runtime_are_found(folder):
    del folder
    script = ('environment=native build=b cache=c extra_libraries= extra_vars=()\n'
              'collect_variables\nprintf "%s\\n" "${variables[@]}"')
    for more, want in (({}, []), ({'KEEPBOX_LIBRARIES': '/a:/b'}, ['LD_LIBRARY_PATH=/a:/b']),
                       ({'KEEPBOX_LIBRARIES': '/a', 'LD_LIBRARY_PATH': '/c'},
                        ['LD_LIBRARY_PATH=/a:/c'])):
        status, out = sourced(script, **{'KEEPBOX_LIBRARIES': '', 'LD_LIBRARY_PATH': '', **more})
        assert status == 0, out
        assert [line for line in out.splitlines() if line.startswith('LD_')] == want, out


def test_a_link_to_it_is_the_checkout(folder):
    checkout = lay_out(folder)
    link = folder / 'link'
    link.symlink_to(checkout / 'dev')
    environment = {**os.environ, 'KEEPBOX_INSIDE': 'native', 'KEEPBOX_CACHE': str(folder / 'cache')}
    subprocess.run([link, 'build'], env=environment, check=True)
    assert (checkout / 'build/pid').exists()


def test_files_elsewhere_are_errors(_):
    if os.environ.get('KEEPBOX_INSIDE', 'native') == 'native':
        raise Skip('not in a Debian root')
    expected = [errno.EROFS] if os.getuid() == 0 else [errno.EROFS, errno.EACCES]
    for place in '/', '/run':
        try:
            pathlib.Path(place, 'elsewhere').touch()
        except OSError as error:
            assert error.errno in expected, error
        else:
            raise AssertionError('a file that nobody sees later was written')


if __name__ == '__main__':
    main(globals())
