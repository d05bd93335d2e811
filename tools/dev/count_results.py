# SPDX-License-Identifier: LGPL-2.1-or-later
"""Counts the results of `meson test`: the cases of programs that report them, and others as one
each. A program that fails without a failed case (a crash or timeout) counts as one failure. Fails
if anything failed or nothing ran. The argument is a log's path without .json."""
import json
import sys
import xml.etree.ElementTree as xml


def read(base):
    """Returns the tests of the log, and the suites of cases of the JUnit file next to it."""
    try:
        with open(base + '.json', encoding='utf-8') as lines:
            tests = [json.loads(line) for line in lines]
        return tests, xml.parse(base + '.junit.xml').getroot().findall('testsuite')
    except (OSError, ValueError, xml.ParseError):
        return [], []


def count(test, suites):
    """Returns how many cases of a program passed, failed and were skipped."""
    # meson names a GoogleTest program's suites PROJECT.TEST.SUITE, other programs PROJECT.TEST
    mine = [suite for suite in suites
            if f'{suite.get("name", "").partition(".")[2]}.'.startswith(test['name'] + '.')]
    cases = [case for suite in mine for case in suite.findall('testcase')]
    bad = sum(case.find('failure') is not None or case.find('error') is not None for case in cases)
    off = sum(case.find('skipped') is not None or case.get('status') == 'notrun' for case in cases)
    ok = test['result'] in ('OK', 'EXPECTEDFAIL')
    if test['result'] == 'SKIP':
        return 0, 0, max(1, off)
    if not cases:
        return int(ok), int(not ok), 0
    return len(cases) - bad - off, bad or int(not ok), off


def main():
    tests, suites = read(sys.argv[1])
    counts = [count(test, suites) for test in tests]
    passed, failed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0, 0)
    print(f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else ''))
    sys.exit(failed > 0 or passed + skipped == 0)


main()
