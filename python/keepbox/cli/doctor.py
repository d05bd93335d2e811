# SPDX-License-Identifier: LGPL-2.1-or-later
"""keepbox doctor: what is installed, what will be used, and what to install for more."""
from __future__ import annotations

import ctypes
import dataclasses
import json
import os
import pathlib
import platform
import re
import tempfile
import warnings
from typing import Any

from .. import __version__
from .._errors import Error
from . import FAILED, Parser, options
from .options import ROLE, Settings, settings_of

USAGE = '[--model FILE [OPTIONS]] [--json]'
ABOUT = """\
Tells what is installed, what keepbox will use, and what to install for more. Exits with 1 if a
model could not run. With --model it runs that model on one black frame."""
EXAMPLE = """\
  keepbox doctor --model yolov8n.onnx"""
ELEMENTS = {'tensorinfer': '', 'boxdecode': '', 'boxtrack': '', 'boxsink': '',
            'boxoverlay': '-overlay', 'boxpublish': '-publish'}
CODECS = {'H.264': 'video/x-h264', 'H.265': 'video/x-h265', 'VP8': 'video/x-vp8',
          'VP9': 'video/x-vp9', 'AV1': 'video/x-av1', 'JPEG': 'image/jpeg', 'PNG': 'image/png'}
# What else a source or an output needs: any of the elements, and Debian's package of the first.
PARTS = {'MP4, MOV': ('qtdemux', 'good'), 'WebM, MKV': ('matroskademux', 'good'),
         'AVI': ('avidemux', 'good'), 'cameras': ('v4l2src', 'good'), 'RTSP': ('rtspsrc', 'good'),
         'HTTP': ('souphttpsrc', 'good'), 'window': ('autovideosink', 'good'),
         'write MP4': ('openh264enc', 'bad'), 'write WebM': ('vp8enc', 'good')}
# Places in ONNX Runtime's table of functions, which only grows at its end.
GET_PROVIDERS, RELEASE_PROVIDERS = 125, 126
API_VERSION = 16


@dataclasses.dataclass
class Finding:
    """What was found about a subject; to do: sentences about what to install."""
    about: dict[str, Any] = dataclasses.field(default_factory=dict)
    todo: list[str] = dataclasses.field(default_factory=list)
    broken: str = ''  # why no model can run


def _gstreamer(found: Finding) -> bool:
    """Looks for GStreamer and keepbox's elements; returns False if they cannot be used."""
    try:
        from .._gi import Gst
    except ImportError as error:
        found.broken = str(error)
        return False
    found.about['GStreamer'] = Gst.version_string().removeprefix('GStreamer ')
    registry = Gst.Registry.get()
    elements, missing = {}, {}
    for name, package in ELEMENTS.items():
        factory = Gst.ElementFactory.find(name)
        if factory is not None and Gst.ElementFactory.make(name) is not None:
            elements[name] = registry.find_plugin(factory.get_plugin_name()).get_filename()
        else:
            missing[name] = f'gstreamer1.0-keepbox{package}'
    refused = [plugin.get_filename() for plugin in registry.get_plugin_list()
               if plugin.get_filename() and plugin.flags & Gst.PluginFlags.BLACKLISTED]
    found.about['elements'], found.about['missing elements'] = elements, list(missing)
    found.about['plugins that cannot be loaded'] = refused
    found.todo += [f'{name} is missing: install {package}' for name, package in missing.items()]
    found.todo += [f'{name} cannot be loaded: GST_DEBUG=3 gst-inspect-1.0 {name} tells why'
                   for name in refused]
    lacking = [name for name in ('tensorinfer', 'boxdecode') if name in missing]
    if lacking:
        found.broken = f'the element {lacking[0]} is missing: install {missing[lacking[0]]}'
    return not lacking


def _media(found: Finding) -> None:
    """Looks for decoders, encoders and sources."""
    from .._gi import Gst
    kind = Gst.ELEMENT_FACTORY_TYPE_DECODER
    every = Gst.ElementFactory.list_get_elements(kind, Gst.Rank.MARGINAL)
    decoders = {}
    for name, caps in CODECS.items():
        able = Gst.ElementFactory.list_filter(every, Gst.Caps.from_string(caps),
                                              Gst.PadDirection.SINK, False)
        able.sort(key=lambda each: (-each.get_rank(), each.get_name()))
        decoders[name] = [each.get_name() for each in able]
        if not able:
            found.todo.append(f'{name} cannot be decoded: install gstreamer1.0-libav')
    found.about['decoders'] = decoders
    found.about['parts'] = parts = {}
    for name, (element, package) in PARTS.items():
        parts[name] = element if Gst.ElementFactory.find(element) else None
        if parts[name] is None:
            found.todo.append(f'{name}: the element {element} is missing: install'
                              f' gstreamer1.0-plugins-{package}')


def _gpu(found: Finding) -> None:
    """Looks for NVIDIA's driver and GPUs."""
    from . import gpu
    about: dict[str, Any] = {'GPUs': [], 'driver': None}
    found.about['GPU'] = about
    version = pathlib.Path('/proc/driver/nvidia/version')
    if version.exists() and (text := re.search(r' (\d+\.\d[\d.]*) ', version.read_text())):
        about['driver'] = text[1]
    try:
        cuda = ctypes.CDLL('libcuda.so.1')
    except OSError:
        return
    if cuda.cuInit(0):
        return
    count, number = ctypes.c_int(), ctypes.c_int()
    cuda.cuDriverGetVersion(ctypes.byref(number))
    about['CUDA'] = f'{number.value // 1000}.{number.value % 1000 // 10}'
    cuda.cuDeviceGetCount(ctypes.byref(count))
    for device in range(count.value):
        name = ctypes.create_string_buffer(256)
        cuda.cuDeviceGetName(name, len(name), device)
        about['GPUs'].append(name.value.decode(errors='replace'))
    about['decodes'], about['kernels'] = gpu.has_decoder(), gpu.has_kernels()
    if about['GPUs'] and not about['kernels']:
        found.todo.append('keepbox was built without the kernels for the GPU: make it by ./dev'
                          ' package --cuda')


def _field(number: int, value: bytes | int) -> bytes:
    """Returns a field of a message of protobuf."""
    if isinstance(value, int):
        return bytes([number << 3, value])
    return bytes([number << 3 | 2, len(value)]) + value


def smallest_model(side: int = 8) -> bytes:
    """Returns an ONNX file that returns its picture."""
    dims = b''.join(_field(1, _field(1, size)) for size in (1, 3, side, side))
    kind = _field(2, _field(1, _field(1, 1) + _field(2, dims)))
    node = _field(1, b'x') + _field(2, b'y') + _field(4, b'Identity')
    graph = (_field(1, node) + _field(2, b'g') + _field(11, _field(1, b'x') + kind)
             + _field(12, _field(1, b'y') + kind))
    return _field(1, 8) + _field(7, graph) + _field(8, _field(2, 13))


def _ran(settings: dict[str, dict[str, object]], side: int) -> dict[str, dict[str, Any]]:
    """Runs elements on a black frame, and returns their statistics. Raises Error."""
    from .._gi import Gst
    from .._line import Pipeline
    from .lines import Chain, Element, Line
    parts = [Element(kind, values, role=f'{ROLE}{kind}') for kind, values in settings.items()]
    start = Element('appsrc', {'format': 'time'}, name='keepbox-in')
    line = Pipeline(Line([Chain([start, *parts])]).text())
    try:
        line.play()
        caps = f'video/x-raw,format=RGB,width={side},height={side},framerate=0/1'
        buffer = Gst.Buffer.new_wrapped(bytes(side * side * 3))
        buffer.pts = 0
        line.push(Gst.Sample.new(buffer, Gst.Caps.from_string(caps), None, None))
        line.element('keepbox-in').end_of_stream()
        if line.pull() is None:
            raise Error('no frame came out of the model')
        stats = {kind: line.element(f'{ROLE}{kind}').get_property('stats') for kind in settings}
        return {kind: {name: each.get_value(name) for name in
                       map(each.nth_field_name, range(each.n_fields()))}
                for kind, each in stats.items()}
    finally:
        line.close()


def _runtime(found: Finding) -> None:
    """Runs a model of one operator, and looks which ONNX Runtime that took."""
    with tempfile.TemporaryDirectory(prefix='keepbox-') as folder:
        path = os.path.join(folder, 'identity.onnx')
        pathlib.Path(path).write_bytes(smallest_model())
        try:
            stats = _ran({'tensorinfer': {'model-file': path, 'channel-order': 'rgb'}}, 8)
        except Error as error:
            found.broken = error.message
            return
    stats_of = stats['tensorinfer']
    library = loaded_library()
    found.about['ONNX Runtime'] = {'version': stats_of['runtime'], 'library': library,
                                   'providers': providers_of(library) if library else [],
                                   'named by': 'KEEPBOX_ONNXRUNTIME' if
                                   os.environ.get('KEEPBOX_ONNXRUNTIME') else None}
    found.about['models run on'] = stats_of['provider']
    found.about['because'] = stats_of['provider-reason']


def loaded_library() -> str:
    """Returns the file of ONNX Runtime that this process has loaded."""
    maps = pathlib.Path('/proc/self/maps').read_text()
    paths = re.findall(r'(/\S.*libonnxruntime\.so.*)$', maps, re.M)
    return paths[0] if paths else ''


def providers_of(library: str) -> list[str]:
    """Returns the providers that a loaded ONNX Runtime has."""
    base_of = ctypes.CDLL(library).OrtGetApiBase
    base_of.restype = ctypes.POINTER(ctypes.c_void_p)
    get_api = ctypes.CFUNCTYPE(ctypes.POINTER(ctypes.c_void_p), ctypes.c_uint32)(base_of()[0])
    api = get_api(API_VERSION)
    names, count = ctypes.POINTER(ctypes.c_char_p)(), ctypes.c_int()
    get = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)(api[GET_PROVIDERS])
    free = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int)(api[RELEASE_PROVIDERS])
    if get(ctypes.byref(names), ctypes.byref(count)):
        return []
    found = [names[at].decode().removesuffix('ExecutionProvider') for at in range(count.value)]
    free(names, count.value)
    return found


def _model(found: Finding, settings: Settings) -> None:
    """Runs the model of the command line."""
    path = str(settings.infer['model-file'])
    try:
        stats = _ran(settings.elements(), 640)
    except Error as error:
        found.broken = error.message if path in error.message else f'{path}: {error.message}'
        return
    infer, decode = stats['tensorinfer'], stats['boxdecode']
    found.about['model'] = {'file': path, 'family': decode['detector'],
                            'input': infer['recognized'], 'runs on': infer['provider'],
                            'milliseconds': round(infer['last-inference-us'] / 1000, 1)}


def examined(settings: Settings | None) -> Finding:
    """Looks at everything."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter('always')
        found = _examined(settings)
    # of a black frame nothing else can be expected
    found.about['warnings'] = [str(each.message).removeprefix(ROLE) for each in said
                               if 'No box on any' not in str(each.message)]
    if found.broken:
        found.todo.insert(0, found.broken)
    return found


def _examined(settings: Settings | None) -> Finding:
    found = Finding({'keepbox': __version__, 'package': str(pathlib.Path(__file__).parents[1]),
                     'Python': platform.python_version()})
    if _gstreamer(found):
        _media(found)
        _gpu(found)
        _runtime(found)
        if settings and not found.broken:
            _model(found, settings)
    return found


def text_of(found: Finding) -> str:
    """Returns the report."""
    rows: list[tuple[str, str]] = []
    for name, value in found.about.items():
        rows += _rows(name, value)
    width = max(len(name) for name, _ in rows)
    text = [f'{name.ljust(width)}  {value}' for name, value in rows]
    text.append('')
    if found.todo:
        text += ['To do, for more:' if not found.broken else 'To do:',
                 *(f'- {" ".join(each.split())}' for each in found.todo)]
    text.append('No model can run here.' if found.broken and 'model' not in found.about
                and 'models run on' not in found.about else
                'The model does not run.' if found.broken else
                f'Models run on {_place(found.about["models run on"])}.')
    return '\n'.join(text)


def _place(provider: str) -> str:
    return {'cpu': 'the CPU', 'cuda': 'the GPU'}.get(provider, provider)


def _rows(name: str, value: Any) -> list[tuple[str, str]]:
    """Returns the rows of a subject: a name and what it is."""
    if name == 'elements':
        files: dict[str, list[str]] = {}
        for element, file in value.items():
            files.setdefault(file, []).append(element)
        return [('elements', f'{", ".join(each)} ({file})') for file, each in files.items()]
    if name == 'decoders':
        return [(f'decode {codec}', ', '.join(each) or '-') for codec, each in value.items()]
    if name == 'parts':
        return [(part, element or '-') for part, element in value.items()]
    if name == 'ONNX Runtime':
        version = value['version'].removeprefix(f'{name} ')
        return [(name, f'{version} ({value["library"]})'),
                ('providers', ', '.join(value['providers']))]
    if name == 'GPU':
        return [(name, ', '.join(value['GPUs']) or '-'),
                *([('driver', value['driver'])] if value['driver'] else [])]
    if name == 'model':
        return [(name, value['file']), ('family', value['family']), ('input', value['input']),
                ('runs on', f'{_place(value["runs on"])}, {value["milliseconds"]} ms for a frame')]
    if name == 'models run on':
        return [(name, _place(value))]
    if name in ('missing elements', 'plugins that cannot be loaded', 'because',
                'warnings') and not value:
        return []
    return [(name, ', '.join(value) if isinstance(value, list) else str(value))]


def run(command: str, words: list[str]) -> int:
    """Runs the command."""
    parser = Parser(command, USAGE, ABOUT, EXAMPLE)
    parser.add_argument('--json', action='store_true', help='print it as JSON')
    options.add_to(parser)
    arguments = parser.read(options.with_method(words))
    found = examined(settings_of(arguments) if arguments.model else None)
    if arguments.json:
        print(json.dumps({**found.about, 'to do': found.todo, 'works': not found.broken}, indent=2))
    else:
        print(text_of(found))
    return FAILED if found.broken else 0

