# SPDX-License-Identifier: LGPL-2.1-or-later
"""Checks the Python modules that a program requires."""
import importlib.util
import pathlib
import sys


def modules(text, *names):
    """Exits if one of them is missing: for --help with its text, otherwise with one line."""
    missing = [name for name in names if importlib.util.find_spec(name) is None]
    if not missing:
        return
    program = pathlib.Path(sys.argv[0]).name
    if {"-h", "--help"} & set(sys.argv[1:]):
        print(f"usage: {program} ...   (Python needs {', '.join(missing)} to show its options)\n")
        print(text.strip())
        sys.exit(0)
    sys.exit(f"{program}: Python modules are missing: {', '.join(missing)}: install them for "
             f"{sys.executable}")
