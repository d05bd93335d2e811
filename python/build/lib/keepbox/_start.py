# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs a module of the package in whose folder this file is, in a Python that does not find it.

usage: _start.py MODULE [ARGUMENT]...
"""
import importlib.util
import pathlib
import runpy
import sys

folder = pathlib.Path(__file__).resolve().parent
sys.path[:] = [each for each in sys.path if pathlib.Path(each).resolve() != folder]
spec = importlib.util.spec_from_file_location('keepbox', folder / '__init__.py',
                                              submodule_search_locations=[str(folder)])
assert spec and spec.loader
sys.modules['keepbox'] = package = importlib.util.module_from_spec(spec)
spec.loader.exec_module(package)
del sys.argv[0]
runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)
