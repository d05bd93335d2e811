# SPDX-License-Identifier: LGPL-2.1-or-later
"""Loads GStreamer and keepbox's plugin: the installed one, or that of the checkout which contains
this file."""
import pathlib

from ._clib import BUILD

NEEDED = ('apt install python3-gi gir1.2-gst-plugins-base-1.0 gir1.2-gst-plugins-bad-1.0'
          ' gir1.2-keepbox-1.0 gstreamer1.0-keepbox')

try:
    import gi
    gi.require_version('Gst', '1.0')
    gi.require_version('GstAnalytics', '1.0')
    gi.require_version('GstApp', '1.0')
    gi.require_version('GstVideo', '1.0')
except (ImportError, ValueError) as error:
    raise ImportError(f'this Python lacks PyGObject with GStreamer 1.26 or newer ({error}): on'
                      f' Debian run {NEEDED}, and make virtual environments with'
                      ' --system-site-packages') from error


def _add_typelib_of_checkout() -> None:
    folder = BUILD / 'gst/api/uninstalled'
    if not (folder / 'Keepbox-1.0.typelib').exists():
        return
    # The library that PyGObject itself uses; others may be installed next to it.
    gi.require_version('GIRepository', '3.0' if gi.version_info >= (3, 51) else '2.0')
    from gi.repository import GIRepository
    repository = GIRepository.Repository
    if hasattr(repository, 'dup_default'):
        repository = repository.dup_default()
    repository.prepend_search_path(str(folder))


def _add_plugins_of_checkout() -> None:
    """Adds them for this process only, so that the user's registry of plugins stays as it is."""
    folder = BUILD / 'gst/plugins'
    if not (folder / 'libgstkeepbox.so').exists():
        return
    registry = Gst.Registry.get()
    known = registry.find_plugin('keepbox')
    if known is None or pathlib.Path(known.get_filename()).parent.resolve() != folder:
        registry.scan_path(str(folder))


_add_typelib_of_checkout()
try:
    gi.require_version('Keepbox', '1.0')
except ValueError as error:
    raise ImportError(f'the typelib Keepbox-1.0 is missing: run {NEEDED}, or ./dev build in a'
                      ' checkout') from error
from gi.repository import GLib, GObject, Gst, GstApp, GstVideo, Keepbox  # noqa: E402

Gst.init(None)
_add_plugins_of_checkout()
if Gst.ElementFactory.find('boxdecode') is None:
    raise ImportError(f'the element boxdecode is missing: run {NEEDED}, or set GST_PLUGIN_PATH to'
                      ' the folder of libgstkeepbox.so')

__all__ = ['BUILD', 'GLib', 'GObject', 'Gst', 'GstApp', 'GstVideo', 'Keepbox']
