# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lists the failures of `meson test` with the end of what the programs printed, and counts its
results: the cases of programs that report them, and others as one each. A program that fails
without a failed case (a crash or timeout) counts as one failure. Fails if anything failed or
nothing ran. The argument is a log's path without .json."""
import json
import sys
import xml.etree.ElementTree as xml

LAST_LINES = 20  # shown of a program that failed


def read(base):
    """Returns the tests of the log, and the suites of cases of the JUnit file next to it."""
    try:
        with open(base + '.json', encoding='utf-8') as lines:
            tests = [json.loads(line) for line in lines]
        return tests, xml.parse(base + '.junit.xml').getroot().findall('testsuite')
    except (OSError, ValueError, xml.ParseError):
        return [], []


def cases_of(test, suites):
    # meson names a GoogleTest program's suites PROJECT.TEST.SUITE, other programs PROJECT.TEST
    mine = [suite for suite in suites
            if f'{suite.get("name", "").partition(".")[2]}.'.startswith(test['name'] + '.')]
    return [case for suite in mine for case in suite.findall('testcase')]


def is_bad(case):
    return case.find('failure') is not None or case.find('error') is not None


def failures(test, cases):
    """Returns the names of the cases that failed, or that of a program that failed without one."""
    suite = {case: f'{case.get("classname")}.' if case.get('status') else '' for case in cases}
    bad = [f'{test["name"]}: {suite[case]}{case.get("name")}' for case in cases if is_bad(case)]
    good = test['result'] in ('OK', 'EXPECTEDFAIL', 'SKIP')
    return bad or ([] if good else [f'{test["name"]}: {test["result"].lower()}'])


def output_of(test, cases):
    """Returns the last lines of what a program printed about its failure: of the messages of the
    failed cases, or of its whole output if they have none."""
    bad = [each for case in cases for each in [*case.findall('failure'), *case.findall('error')]]
    text = '\n'.join(each.text.strip() for each in bad if each.text and each.text.strip())
    text = text or test.get('stdout', '') + test.get('stderr', '')
    return text.rstrip().splitlines()[-LAST_LINES:]


def report(test, cases):
    """Prints the failures of a program. @return their number."""
    failed = failures(test, cases)
    for name in failed:
        print(f'FAILED {name}')
    for line in output_of(test, cases) if failed else []:
        print(f'  {line}')
    return len(failed)


def count(test, cases):
    """Returns how many cases of a program passed and were skipped."""
    off = sum(case.find('skipped') is not None or case.get('status') == 'notrun' for case in cases)
    if test['result'] == 'SKIP':
        return 0, max(1, off)
    if not cases:
        return int(not failures(test, cases)), 0
    return len(cases) - sum(map(is_bad, cases)) - off, off


def main():
    tests, suites = read(sys.argv[1])
    each = [(test, cases_of(test, suites)) for test in tests]
    failed = sum(report(test, cases) for test, cases in each)
    counts = [count(test, cases) for test, cases in each]
    passed, skipped = (sum(column) for column in zip(*counts)) if counts else (0, 0)
    print(f'{passed} passed, {failed} failed' + (f', {skipped} skipped' if skipped else ''))
    sys.exit(failed > 0 or passed + skipped == 0)


main()
