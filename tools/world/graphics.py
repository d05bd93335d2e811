# SPDX-License-Identifier: LGPL-2.1-or-later
"""Imports the bindings of the cairo library: pycairo, or else cairocffi, which has the same API."""
import sys

try:
    import cairo
except ImportError:
    try:
        import cairocffi as cairo
    except ImportError:
        sys.exit("neither the Python module cairo nor cairocffi is installed: install "
                 f"python3-cairo, or cairocffi for {sys.executable}")

__all__ = ["cairo"]
