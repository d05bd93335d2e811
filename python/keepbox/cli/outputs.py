# SPDX-License-Identifier: LGPL-2.1-or-later
"""Where results go: the options for boxes, drawn videos and pictures, and the files of each source
if there are several."""
from __future__ import annotations

import argparse
import dataclasses
import os
import pathlib
import re
from collections.abc import Iterable, Sequence

from .._options import closest
from . import Usage
from .options import count
from .sources import Moving, Pictures, Source

# Formats of boxsink by the suffix of a file.
FORMATS = {'': 'jsonl', '.jsonl': 'jsonl', '.csv': 'csv', '.json': 'coco'}
SUFFIXES = {'jsonl': '.jsonl', 'csv': '.csv', 'coco': '.json', 'mot': '.txt', 'kitti': '-%06d.txt',
            'dota': '-%s.txt'}
# Encoders by container, the first that is installed; what they write is complete after EOS.
H264 = [('openh264enc', 'openh264enc bitrate=6000000 ! h264parse')]
VP8 = [('vp8enc', 'vp8enc deadline=1 cpu-used=4 target-bitrate=6000000 threads=2'),
       ('vp9enc', 'vp9enc deadline=1 cpu-used=8 target-bitrate=6000000 threads=2 row-mt=true')]
VIDEOS = {'.mp4': (H264, 'mp4mux'), '.mov': (H264, 'qtmux'), '.mkv': (H264 + VP8, 'matroskamux'),
          '.webm': (VP8, 'webmmux')}
PICTURES = {'.png': 'pngenc', '.jpg': 'jpegenc quality=92', '.jpeg': 'jpegenc quality=92'}
STDOUT = '-'
WINDOW = 'autovideosink'


def add_to(parser: argparse.ArgumentParser) -> None:
    """Adds the options: where results go, and how many at a time."""
    add = parser.add_argument_group('results').add_argument
    add('-o', '--output', metavar='FILE', help='the video with its boxes drawn, without sound'
        f' ({", ".join(VIDEOS)}); of pictures and of several sources a folder')
    add('--boxes', metavar='FILE', help='the boxes; of several sources a folder, - for stdout')
    add('--format', metavar='NAME', help='format of the boxes: that of boxsink (default: by the'
        ' suffix: .jsonl, .csv, .json for coco)')
    add('--show', metavar='SINK', nargs='?', const='', help='show the video with its boxes in a'
        f' window, or in the elements of --show=SINK (default: {WINDOW})')
    add('--streams', metavar='N', type=count, default=1,
        help='play N videos at a time, which share the model and its batches (default: 1)')


@dataclasses.dataclass
class Outputs:
    """Where the results of a source go; '' and None for nowhere.

    boxes: `location` of boxsink.
    drawn: a video; of pictures a picture, or a folder that ends in /.
    show: elements that show the video.
    """
    boxes: str = ''
    format: str = 'jsonl'
    drawn: str = ''
    show: str = ''


def with_sink(words: list[str]) -> list[str]:
    """Writes a bare --show so that the word behind it is a source."""
    return ['--show=' if word == '--show' else word for word in words]


def formats() -> list[str]:
    """Returns the formats of boxsink."""
    from .._properties import names_of_enum
    return names_of_enum('boxsink', 'format')


def outputs_of(arguments: argparse.Namespace, sources: Sequence[Source]) -> list[Outputs]:
    """Returns the outputs of each source.

    Raises:
        Usage: a name that cannot be written, or that is an input.
    """
    form = _format_of(arguments)
    show = (arguments.show or WINDOW) if arguments.show is not None else ''
    if show and any(isinstance(source, Pictures) for source in sources):
        raise Usage('--show is for videos and cameras: draw pictures to a folder by -o')
    several = len(sources) > 1
    names = _Names()
    found = []
    for source in sources:
        boxes, drawn = arguments.boxes or '', arguments.output or ''
        if boxes and boxes != STDOUT and _is_folder(boxes, several):
            stem = 'pictures' if isinstance(source, Pictures) else _stem_of(source)
            boxes = names.new(boxes, stem.replace('%', '%%'), SUFFIXES[form])
        elif boxes and several and boxes != STDOUT:
            raise Usage(f'--boxes {boxes} is a file, but there are {len(sources)} sources, with a'
                        ' file each: name a folder, such as boxes/')
        if drawn:
            drawn = _drawn(drawn, source, several, names)
        found.append(Outputs(boxes, form, drawn, show))
    if arguments.boxes == STDOUT and several and form != 'jsonl':
        raise Usage(f'--boxes - can have the boxes of several sources as jsonl only, not {form}:'
                    ' name a folder')
    _check(found, sources)
    return found


def _format_of(arguments: argparse.Namespace) -> str:
    """Returns the format of the boxes."""
    name = arguments.format
    if name is None:
        suffix = '' if _is_folder(arguments.boxes or '', False) else \
            pathlib.PurePath(arguments.boxes or '').suffix.lower()
        if suffix not in FORMATS:
            raise Usage(f'--boxes {arguments.boxes}: no format is known by this suffix: use .jsonl,'
                        ' .csv or .json (coco), or add --format with another format of boxsink')
        return FORMATS[suffix]
    if not arguments.boxes:
        raise Usage('--format is that of the boxes: add --boxes FILE')
    if name not in formats():
        meant = closest(name, formats())
        raise Usage(f'--format must be one of {", ".join(formats())}, not {name}'
                    + (f': did you mean {meant}?' if meant else ''))
    return str(name)


def _is_folder(name: str, several: bool) -> bool:
    """True for a folder, also one that will be made."""
    return bool(name) and (name.endswith('/') or os.path.isdir(name)
                           or several and not pathlib.PurePath(name).suffix)


class _Names:
    """Gives files of a folder names that differ."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def new(self, folder: str, stem: str, suffix: str) -> str:
        """Returns a path."""
        path, number = os.path.join(folder, f'{stem}{suffix}'), 2
        while path in self._given:
            path, number = os.path.join(folder, f'{stem}-{number}{suffix}'), number + 1
        self._given.add(path)
        return path


def _stem_of(source: Moving) -> str:
    """Returns the name of a source without its folder and suffix."""
    if source.kind == 'file':
        return pathlib.PurePath(source.text).stem
    if source.kind == 'camera':
        return pathlib.PurePath(source.text).name
    words = re.findall(r'[\w.-]+', re.sub(r'^\w+://|\?.*', '', source.name))
    return words[-1] if words else 'stream'


def drawn_name(path: str) -> str:
    """Returns the name of a drawn picture: its own, or with .jpg for formats that are not
    written."""
    name = pathlib.PurePath(path).name
    return name if pathlib.PurePath(path).suffix.lower() in PICTURES else f'{name}.jpg'


def _drawn(name: str, source: Source, several: bool, names: _Names) -> str:
    """Returns where the drawn pictures or the drawn video of a source go."""
    suffix = pathlib.PurePath(name).suffix.lower()
    if isinstance(source, Pictures):
        if _is_folder(name, True):
            return os.path.join(name, '')
        if several or len(source.paths) > 1:
            raise Usage(f'-o {name} is a file, but there are {len(source.paths)} pictures: name a'
                        ' folder, such as drawn/')
        if suffix not in PICTURES:
            raise Usage(f'-o {name}: a picture is written as {", ".join(PICTURES)}: use one of'
                        ' these, or a folder')
        return name
    if _is_folder(name, several):
        return names.new(name, _stem_of(source), _container())
    if several:
        raise Usage(f'-o {name} is a file, but there are several sources: name a folder, such as'
                    ' drawn/')
    if suffix not in VIDEOS:
        raise Usage(f'-o {name}: a video is written as {", ".join(VIDEOS)}: use one of these, or a'
                    ' folder; --boxes writes boxes')
    encoder_of(name)
    return name


def _container() -> str:
    """Returns the suffix of the first container for which there is an encoder."""
    from .._line import is_installed
    for suffix, (encoders, _) in VIDEOS.items():
        if any(is_installed(element) for element, _ in encoders):
            return suffix
    return '.mp4'


def encoder_of(name: str) -> list[str]:
    """Returns the elements that encode a video and write its container.

    Raises:
        Usage: none is installed.
    """
    from .._line import is_installed
    encoders, container = VIDEOS[pathlib.PurePath(name).suffix.lower()]
    for element, words in encoders:
        if is_installed(element):
            return [*words.split(' ! '), container]
    names = ' or '.join(element for element, _ in encoders)
    raise Usage(f'-o {name}: the element {names} is missing: install gstreamer1.0-plugins-bad or'
                ' gstreamer1.0-plugins-good, or name a file of another kind')


def _check(found: Iterable[Outputs], sources: Sequence[Source]) -> None:
    """Checks that no output is an input or another output, and that its folder exists or can be
    made."""
    inputs = [path for source in sources for path in
              (source.paths if isinstance(source, Pictures) else
               [source.text] if source.kind == 'file' else [])]
    for each in found:
        for option, name in ('--boxes', each.boxes), ('-o', each.drawn):
            if not name or name == STDOUT:
                continue
            if any(_is_same(name, path) for path in inputs):
                raise Usage(f'{option} {name} is an input: name another file')
            if name.endswith('/') and any(_is_same(name, os.path.dirname(path) or '.')
                                          for path in inputs):
                raise Usage(f'{option} {name} is the folder of the pictures: name another one')
            folder = os.path.dirname(name)
            if folder and os.path.exists(folder) and not os.path.isdir(folder):
                raise Usage(f'{option} {name}: {folder} is no folder: name another one')
        if each.boxes and each.boxes == each.drawn:
            raise Usage(f'--boxes and -o are both {each.boxes}: name two files')


def _is_same(one: str, other: str) -> bool:
    return os.path.exists(one) and os.path.exists(other) and os.path.samefile(one, other)


def make_folders(outputs: Outputs) -> None:
    """Makes the folders of the files that will be written."""
    for name in outputs.boxes, outputs.drawn:
        if name and name != STDOUT and os.path.dirname(name):
            os.makedirs(os.path.dirname(name), exist_ok=True)
