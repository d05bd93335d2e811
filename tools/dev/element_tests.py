# SPDX-License-Identifier: LGPL-2.1-or-later
"""Prints the programs of the suite gst of a build folder, one per line."""
import json
import pathlib
import sys

tests = json.loads((pathlib.Path(sys.argv[1]) / 'meson-info/intro-tests.json').read_text())
print(*sorted({test['cmd'][0] for test in tests
               if any(suite.split(':')[-1] == 'gst' for suite in test['suite'])}), sep='\n')
