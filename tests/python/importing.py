#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Tests what the Python package needs and finds without hints of the environment, and its types.
install.py and package.py test what is installed."""
import ast
import importlib.util
import os
import re
import sys

from common import CLIP, MODEL, need_inference
from tap import SOURCE, Skip, main, run

import keepbox
from keepbox._gi import BUILD, GObject, Gst

PACKAGE = SOURCE / 'python'
PROGRAM = f"""
import keepbox
print(len(keepbox.Detector({str(MODEL)!r}, confidence=.5).detect({str(CLIP)!r}).boxes))
"""
WITHOUT = """
import sys
sys.modules[{name!r}] = None
try:
    import keepbox
    keepbox.Detector
except ImportError as error:
    print(error)
"""
# What needs neither GStreamer nor PyGObject.
ALONE = """
import sys
sys.modules['gi'] = None
import keepbox
assert 'Detector' in dir(keepbox) and issubclass(keepbox.Error, RuntimeError)
assert issubclass(keepbox.ElementWarning, UserWarning)
print(keepbox.__version__, keepbox.nms.__name__, keepbox.Decoder.__name__, keepbox.Boxes.__name__,
      keepbox.compat.nms.__name__)
try:
    keepbox.nosuch
except AttributeError as error:
    print(error)
"""
REFUSE = """
import gi
require = gi.require_version
def refuse(name, version):
    if name == {name!r}:
        raise ValueError('Namespace ' + name + ' not available')
    require(name, version)
gi.require_version = refuse
try:
    from keepbox import Detector
except ImportError as error:
    print(error)
"""


def bare(folder, **variables):
    """Returns an environment in which only the package itself is found."""
    kept = {name: os.environ[name] for name in ('PATH', 'LD_LIBRARY_PATH') if name in os.environ}
    return {**kept, 'HOME': str(folder), 'PYTHONPATH': str(PACKAGE), 'PYTHONDONTWRITEBYTECODE': '1',
            'GST_REGISTRY': str(folder / 'registry.bin'), **variables}


def output_of(folder, program, **variables):
    out, _ = run(sys.executable, '-W', 'error', '-c', program, env=bare(folder, **variables))
    return out.strip()


def test_a_checkout_needs_no_other_variable(folder):
    need_inference()
    if not (BUILD / 'gst/plugins/libgstkeepbox.so').exists():
        raise Skip(f'no build in {BUILD}')
    for again in range(2):
        assert output_of(folder, PROGRAM) == '8', again
    # a program may have started GStreamer itself
    assert output_of(folder, 'import gi\ngi.require_version("Gst", "1.0")\n'
                     f'from gi.repository import Gst\nGst.init(None)\n{PROGRAM}') == '8'


def test_what_is_missing_is_named(folder):
    for name in 'GstAnalytics', 'Keepbox':
        text = output_of(folder, REFUSE.format(name=name))
        assert name in text and 'apt install' in text, text
    assert 'python3-gi' in output_of(folder, WITHOUT.format(name='gi'))


def test_some_of_it_needs_no_gstreamer(folder):
    assert output_of(folder, ALONE).split('\n') == [
        f'{keepbox.__version__} nms Decoder Boxes nms',
        "module 'keepbox' has no attribute 'nosuch'"]
    assert output_of(folder, 'import sys\nimport keepbox\nprint("numpy" in sys.modules)') == 'False'


def test_all_of_it_is_there(folder):
    names = output_of(folder, 'from keepbox import *\nimport keepbox\n'
                      'print(*(name for name in keepbox.__all__ if name in globals()))')
    assert names.split() == keepbox.__all__, names


def test_it_needs_numpy_and_pygobject_only(folder):
    out = output_of(folder, 'import sys\nbefore = set(sys.modules)\nfrom keepbox import *\n'
                    'print(*{name.split(".")[0] for name in set(sys.modules) - before})')
    foreign = {name for name in out.split() if name not in sys.stdlib_module_names}
    # the latter are aliases that PyGObject registers
    assert foreign <= {'keepbox', 'gi', 'numpy', 'gio', 'glib', 'gobject', 'gtk'}, foreign


def test_version(folder):
    del folder
    wanted = re.search("version: '(.*?)'", (SOURCE / 'meson.build').read_text())[1]
    assert keepbox.__version__ == wanted
    project = (PACKAGE / 'pyproject.toml').read_text()
    assert 'version = {attr = "keepbox.__version__"}' in project


def test_it_is_code_of_the_oldest_python(folder):
    """What that Python's library lacks, mypy finds."""
    del folder
    project = (PACKAGE / 'pyproject.toml').read_text()
    oldest = re.search(r'requires-python = ">=3\.(\d+)"', project)[1]
    assert f'python_version = "3.{oldest}"' in project
    paths = list((PACKAGE / 'keepbox').rglob('*.py'))
    assert len(paths) > 30, paths
    for path in paths:
        ast.parse(path.read_text(), str(path), feature_version=(3, int(oldest)))


def test_types(folder):
    if importlib.util.find_spec('mypy') is None:
        raise Skip('no mypy')
    check = sys.executable, '-m', 'mypy', '--cache-dir', folder
    run(*check, 'keepbox', cwd=PACKAGE)
    program = 'import keepbox\nkeepbox.Detector("m.onnx").{} = .5'
    run(*check, '-c', program.format('confidence'), cwd=PACKAGE)
    out, _ = run(*check, '-c', program.format('confidance'), cwd=PACKAGE, status=1)
    assert '"Detector" has no attribute "confidance"' in out, out


def test_what_is_public_is_documented(folder):
    del folder
    for name in keepbox.__all__:
        value = getattr(keepbox, name)
        assert value.__doc__, name
        for member, each in vars(value).items() if isinstance(value, type) else ():
            if not member.startswith('_') and (callable(each) or isinstance(each, property)):
                assert each.__doc__, f'{name}.{member}'


def test_enums_of_elements_can_be_printed(folder):
    """PyGObject aborts if the summary of a value has more than some 230 characters."""
    del folder
    seen = 0
    for factory in Gst.Registry.get().get_feature_list(Gst.ElementFactory):
        if factory.get_plugin_name() in ('keepbox', 'keepboxoverlay'):
            element = Gst.ElementFactory.make(factory.get_name())
            for spec in element.list_properties():
                if spec.value_type.is_a(GObject.TYPE_ENUM):
                    values = type(element.get_property(spec.name)).__enum_values__.values()
                    seen += sum(spec.value_type.name in repr(value) for value in values)
    assert seen > 50, seen


if __name__ == '__main__':
    main(globals())
