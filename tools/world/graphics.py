# SPDX-License-Identifier: LGPL-2.1-or-later
"""Imports the bindings of the cairo library: pycairo, or else cairocffi, which has the same API."""
import sys

try:
    import cairo
except ImportError:
    try:
        import cairocffi as cairo
    except ImportError:
        sys.exit(f"expected the Python module cairo or cairocffi, found neither: install "
                 f"python3-cairo, or cairocffi for {sys.executable}")

__all__ = ["cairo"]
