# SPDX-License-Identifier: LGPL-2.1-or-later
"""Lines of GStreamer elements, of a source, of settings and of outputs: as text for
Gst.parse_launch(), and as a command for a shell."""
from __future__ import annotations

import dataclasses
import re
import shlex
from collections.abc import Iterable, Mapping

from .._errors import DECODER, READERS
from .._options import as_text
from .options import OVERLAY, ROLE, Settings
from .outputs import STDOUT, Outputs, encoder_of
from .sources import Moving

COLUMNS = 96  # of a printed command
QUEUE = f'{ROLE}queue'  # before the model
UPRIGHT = ['videoconvert', 'videoflip video-direction=auto']


@dataclasses.dataclass
class Element:
    """An element with its properties.

    name: by which other parts of the line refer to it, as to a tee; printed.
    role: a name for this program only, by which errors and the watch over a source find it.
    """
    kind: str
    properties: Mapping[str, object] = dataclasses.field(default_factory=dict)
    name: str = ''
    role: str = ''

    def words(self, roles: bool) -> list[str]:
        """Returns its words as gst_parse_launch() reads them."""
        name = self.name or (self.role if roles else '')
        return [self.kind, *([f'name={name}'] if name else []),
                *(f'{key}={escaped(as_text(value))}' for key, value in self.properties.items())]


@dataclasses.dataclass
class Words:
    """Elements or caps as a user wrote them, with ! between elements."""
    text: str

    def words(self, roles: bool) -> list[str]:
        """Returns the words; quoted blanks do not divide them."""
        del roles
        return re.findall(r'''(?:\\.|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\S)+''', self.text)


Part = Element | Words


@dataclasses.dataclass
class Chain:
    """Parts that are linked one after the other; begins at a pad such as 'frames.', if `start` is
    not empty."""
    parts: list[Part]
    start: str = ''

    def groups(self, roles: bool) -> list[list[str]]:
        """Returns the words of each part; all but the first begin with a !."""
        parts = [each.words(roles) for each in self.parts]
        first, *rest = [[self.start], *parts] if self.start else parts
        return [first, *(['!', *words] for words in rest)]


class Line:
    """Chains that play together.

    quiet: its command prints nothing but what its elements write to stdout.
    """

    def __init__(self, chains: Iterable[Chain], quiet: bool = False) -> None:
        self.chains, self.quiet = list(chains), quiet

    def text(self) -> str:
        """Returns the line for Gst.parse_launch(); elements with a role have it as their name."""
        return ' '.join(' '.join(words) for chain in self.chains for words in chain.groups(True))

    def command(self) -> str:
        """Returns the command for a shell, on several rows."""
        start = ['gst-launch-1.0', *(['-q'] if self.quiet else []), '-e']
        return '\n'.join(_rows(start, [chain.groups(False) for chain in self.chains]))


def _rows(start: list[str], chains: list[list[list[str]]]) -> Iterable[str]:
    """Yields the rows of a command: divided between elements, and each chain on its own."""
    row = ' '.join(start)
    for number, groups in enumerate(chains):
        for at, words in enumerate(groups):
            text = ' '.join(map(for_shell, words))
            if at + number and (at == 0 or len(row) + 1 + len(text) > COLUMNS):
                yield f'{row} \\'
                row = f'  {text}'
            else:
                row = f'{row} {text}'
    yield row


def escaped(value: str) -> str:
    """Writes the value of a property as gst_parse_launch() reads it: with a backslash before
    blanks, quotes and backslashes."""
    if value.startswith('"'):
        # which begins a serialized string
        value = '"' + re.sub(r'(["\\])', r'\\\1', value) + '"'
    text = re.sub(r'''([\s"'\\])''', r'\\\1', value)
    # A last backslash would be read as one before the blank that follows.
    return f'"{text}"' if not value or value.endswith('\\') else text


def for_argument(word: str) -> str:
    """Returns the argument of gst-launch-1.0 that it takes for a word of gst_parse_launch(): it
    puts a backslash before each blank itself, unless it takes the blank for quoted."""
    out, quoted, escape = '', False, False
    for letter in word:
        if letter == ' ' and escape and not quoted:
            out = out[:-1]
        escape = letter == '\\' and not escape
        if letter == '"' and not (quoted and out.endswith('\\')):
            quoted = not quoted
        out += letter
    return out


def for_shell(word: str) -> str:
    """Returns a word of gst_parse_launch() as a shell needs it for gst-launch-1.0."""
    if word == '!':
        return word
    argument = for_argument(word)
    quoted = shlex.quote(argument)
    property_ = re.match(r'[\w-]+=', argument)
    if quoted == argument or not property_:
        return quoted
    return property_[0] + shlex.quote(argument[property_.end():])


def elements(*texts: str) -> list[Part]:
    """Returns elements that have no values of users."""
    return [Words(text) for text in texts]


def reader_of(source: Moving) -> list[Part]:
    """Returns the elements that read and decode a source."""
    if source.kind == 'file':
        return [Element('filesrc', {'location': source.text}, role=READERS[0]),
                Element('decodebin3', role=DECODER)]
    if source.kind == 'uri':
        return [Element('uridecodebin', {'uri': source.text}, role=READERS[0])]
    if source.kind == 'camera':
        return [Element('v4l2src', {'device': source.text}, role=READERS[0])]
    return [Words(source.text)]


def detection(settings: Settings) -> list[Part]:
    """Returns the elements that turn frames into frames with boxes."""
    return [Element(kind, values, role=f'{ROLE}{kind}')
            for kind, values in settings.elements().items()]


def line_of(source: Moving, settings: Settings, outputs: Outputs,
            on_gpu: list[str] | None = None) -> Line:
    """Returns the line of a video, camera or stream.

    on_gpu: the elements that decode it into the memory of a GPU, if frames are to stay there.
    """
    if on_gpu:
        start = [*reader_of(source)[:1], *elements(*on_gpu)]
    else:
        start = [*reader_of(source), *elements(*UPRIGHT)]
    if source.live:
        start.append(Element('queue', {'leaky': 'downstream', 'max-size-buffers': 1}, role=QUEUE))
    start += detection(settings)
    ends = _ends(outputs, _drawing(settings, bool(on_gpu)))
    quiet = outputs.boxes == STDOUT
    if len(ends) == 1:
        return Line([Chain([*start, *ends[0]])], quiet)
    frames = Element('tee', name='frames')
    return Line([Chain([*start, frames]),
                 *(Chain([*elements('queue'), *end], 'frames.') for end in ends)], quiet)


def _drawing(settings: Settings, on_gpu: bool) -> list[Part]:
    """Returns the elements that draw, and make frames for an encoder or a window."""
    overlay = Element(OVERLAY, settings.overlay)
    return [overlay, *elements('cudadownload', 'videoconvert')] if on_gpu else \
        [*elements('videoconvert'), overlay, *elements('videoconvert')]


def _ends(outputs: Outputs, draw: list[Part]) -> list[list[Part]]:
    """Returns the elements of each output."""
    found: list[list[Part]] = []
    if outputs.boxes:
        values = {'format': outputs.format} if outputs.format != 'jsonl' else {}
        if outputs.boxes != STDOUT:
            values['location'] = outputs.boxes
        found.append([Element('boxsink', values)])
    if outputs.drawn:
        found.append([*draw, *elements(*encoder_of(outputs.drawn)),
                      Element('filesink', {'location': outputs.drawn})])
    if outputs.show:
        found.append([*draw, Words(outputs.show)])
    return found or [elements('fakesink')]
