# SPDX-License-Identifier: LGPL-2.1-or-later
"""keepbox watch: a page in the browser with the picture and the boxes of sources, live."""
from __future__ import annotations

import argparse
import base64
import collections
import hashlib
import json
import os
import pathlib
import re
import sys
from collections.abc import Callable, Sequence
from typing import Any

from .. import __version__
from .._errors import Error, without_password
from .._gi import Gst, GstVideo, Keepbox
from .._server import Address, Response, Route, Server, address_of
from . import FAILED, Parser, Usage, options, sources
from .feed import EVENTS, PARTS, Feed, Frame
from .lines import QUEUE, UPRIGHT, Chain, Element, Line, detection, elements, reader_of
from .options import INFER, LOW_SCORE, Settings, settings_of
from .play import Player
from .progress import Progress
from .signals import Signals
from .sources import Moving
from .tally import Tally

USAGE = 'SOURCE... --model FILE [OPTIONS]'
ABOUT = """\
Serves a page with the picture of each video, camera and stream, live, and the boxes of its objects.
Sliders and switches of the page change what a viewer sees, not what the model does. A video begins
with its first viewer, plays at its own pace, and the program ends with it."""
EXAMPLE = """\
  keepbox watch street.mp4 --model yolov8n.onnx --track --loop
  keepbox watch rtsp://camera/1 rtsp://camera/2 --model yolov8n.onnx --listen 0.0.0.0:8080"""
DEFAULT = Address('127.0.0.1', 8080)
# Where the slider begins without --confidence: the threshold of most families.
CONFIDENCE = .25
WAIT = 50    # milliseconds between two looks at the lines
FAREWELL = 1.  # seconds in which viewers are told of the end
REMEMBERED = 64  # frames whose pictures may still come
PACE, GATE, JPEG, FRAMES = 'keepbox-pace', 'keepbox-gate', 'keepbox-jpeg', 'frames'
PAGE = pathlib.Path(__file__).with_suffix('.html')


def read(words: list[str]) -> tuple[argparse.Namespace, list[Moving]]:
    """Returns the arguments and the sources. Raises Usage."""
    parser = Parser('watch', USAGE, ABOUT, EXAMPLE)
    sources.add_to(parser)
    options.add_to(parser)
    add = parser.add_argument_group('the page').add_argument
    add('--listen', metavar='ADDRESS:PORT', type=_address, default=DEFAULT,
        help=f'where browsers reach it: 0.0.0.0:8080 or [::]:8080 from other machines, without a'
        f' password (default: {DEFAULT}, from this machine only)')
    add('--loop', action='store_true', help='play videos again and again')
    add('--width', metavar='PIXELS', type=options.count, default=1280,
        help='width of the picture that viewers get, if the video is wider (default: 1280)')
    arguments = parser.read(options.with_method(words))
    if not arguments.model:
        raise Usage(options.NO_MODEL)
    found = sources.sources_of(arguments.sources)
    moving = [each for each in found if isinstance(each, Moving)]
    if len(moving) < len(found):
        raise Usage('pictures cannot be watched: look at them by keepbox detect, which draws them'
                    ' with -o')
    return arguments, moving


def _address(text: str) -> Address:
    try:
        return address_of(text, DEFAULT)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def line_of(source: Moving, settings: Settings, width: int) -> Line:
    """Returns the line of a source: frames with boxes at the pace of a file, and their pictures."""
    start = [*reader_of(source), *elements(*UPRIGHT)]
    # what is not live waits at the end of the line, and the model leaves out frames if it is late
    waiting = {'max-size-buffers': 1, **({'leaky': 'downstream'} if source.live else {})}
    start.append(Element('queue', waiting, role=QUEUE))
    pace = Element('fakesink', {'sync': not source.live, 'qos': not source.live,
                                'enable-last-sample': False}, role=PACE)
    one = {'leaky': 'downstream', 'max-size-buffers': 1, 'max-size-bytes': 0, 'max-size-time': 0}
    gate = {'drop': True, 'drop-mode': 'forward-sticky-events'}  # the end is one of them
    picture = [Element('queue', one), Element('valve', gate, role=GATE),
               *elements('videoconvert', 'videoscale',
                         f'video/x-raw,width=[1,{width}],pixel-aspect-ratio=1/1'),
               Element('jpegenc', {'quality': 80}, role=JPEG),
               *elements('fakesink sync=false async=false enable-last-sample=false')]
    return Line([Chain([*start, *detection(settings), Element('tee', name=FRAMES)]),
                 Chain([pace], f'{FRAMES}.'), Chain(picture, f'{FRAMES}.')])


class Counted(Tally):
    """The number of frames; what was found on them is in the feed."""

    def add(self, boxes: object, skipped: bool) -> None:
        """Counts a frame."""
        del boxes
        self.frames += 1
        self.skipped += skipped


class Camera(Player):
    """A line whose frames go to a feed.

    loop: it begins again at its end.
    """

    def __init__(self, source: Moving, settings: Settings, arguments: argparse.Namespace,
                 said: Callable[[str], None]) -> None:
        super().__init__(line_of(source, settings, arguments.width), source, said)
        self.tally = Counted()
        self.shown_name = shown(source)
        self.feed = Feed(self._viewers)
        self._loop, self._waits = arguments.loop, False
        self._came = collections.OrderedDict[int, float]()     # when, by timestamp
        self._numbers = collections.OrderedDict[int, int]()    # of frames, by timestamp
        self._probe(INFER, 'sink', self._arrive)
        self._probe(JPEG, 'src', self._encoded)

    def _probe(self, name: str, pad: str, call: Callable[[Any, Any], Any]) -> None:
        element = self.element(name) or self.element(f'keepbox-{name}')
        element.get_static_pad(pad).add_probe(Gst.PadProbeType.BUFFER, call)

    def start(self) -> None:
        """Starts to play; what has an end waits for its first viewer."""
        changed = self.pipeline.set_state(Gst.State.PAUSED)
        if changed == Gst.StateChangeReturn.NO_PREROLL:
            self._as_live()
        self._waits = not (self._loop or self._endless)
        if not self._waits or changed == Gst.StateChangeReturn.FAILURE:
            super().start()

    def _as_live(self) -> None:
        """Leaves out frames that come while the model is busy, instead of waiting."""
        self._endless = 'num-buffers=' not in self._moving.text
        self.element(QUEUE).set_property('leaky', 2)
        for name in 'sync', 'qos':
            self.element(PACE).set_property(name, False)

    def _viewers(self, listening: bool, watching: bool) -> None:
        self.element(GATE).set_property('drop', not watching)
        if self._waits and listening:
            self._waits = False
            self.pipeline.set_state(Gst.State.PLAYING)

    def _arrive(self, pad: Any, info: Any) -> Any:
        """Notes when a frame comes to the model."""
        del pad
        _remember(self._came, info.get_buffer().pts, self.feed.now())
        return Gst.PadProbeReturn.OK

    def _count(self, pad: Any, info: Any) -> Any:
        """Passes a frame to the feed before its picture can come."""
        buffer = info.get_buffer()
        number = self.tally.frames + 1
        now = self.feed.now()
        at = self._came.get(buffer.pts, now)
        _remember(self._numbers, buffer.pts, number)
        if not self._waits or number > 1:
            self.feed.say('live')
        size = GstVideo.VideoInfo.new_from_caps(pad.get_current_caps())
        self.feed.add(Frame(number, round(at, 1), round(now - at, 1),
                            bool(Keepbox.buffer_is_skipped(buffer)), (size.width, size.height),
                            [_box(box) for box in Keepbox.buffer_get_boxes(buffer)]))
        return super()._count(pad, info)

    def _encoded(self, pad: Any, info: Any) -> Any:
        """Passes a picture to the feed."""
        del pad
        buffer = info.get_buffer()
        self.feed.show(self._numbers.get(buffer.pts, self.tally.frames),
                       buffer.extract_dup(0, buffer.get_size()))
        return Gst.PadProbeReturn.OK

    def _end(self) -> None:
        """Ends, or begins again."""
        if not (self._loop and self.tally.frames) or self._endless:
            self._position = self.duration() or 0  # the last frames may have been left out
            super()._end()
        elif not self.pipeline.seek_simple(Gst.Format.TIME, Gst.SeekFlags.FLUSH, 0):
            self._fail(Error('it cannot be played again: leave out --loop', source=self.name))

    def tell_end(self) -> None:
        """Tells viewers how it has ended."""
        if self.failure:
            text = self.failure.removeprefix(f'{self.name}: ')
            self.feed.say('failed', without_query(without_password(text)))
        else:
            self.feed.say('ended', '' if self.ended else 'keepbox watch was stopped')


def _remember(kept: collections.OrderedDict[int, Any], key: int, value: object) -> None:
    kept[key] = value
    kept.move_to_end(key)
    while len(kept) > REMEMBERED:
        kept.popitem(last=False)


def _box(box: Any) -> tuple[float, float, float, float, float, float, str, str | None, bool]:
    tracked, number = box.get_tracking_id()
    left, top, width, height = (round(value, 1) for value in box.get_rect())
    return (left, top, width, height, round(box.get_angle(), 4), round(box.get_score(), 4),
            box.get_label() or str(box.get_class_id()), str(number) if tracked else None,
            bool(box.is_held() or box.is_predicted()))


def without_query(text: str) -> str:
    """Leaves out what follows the ? of URIs."""
    return re.sub(r'(\w://[^\s?#]*)[?#]\S*', r'\1', text)


def shown(source: Moving) -> str:
    """Returns the name of a source for viewers: without folders, users, passwords and queries; of
    elements the first one's."""
    if source.kind == 'uri':
        return without_query(without_password(source.text))
    if source.kind == 'elements':
        return source.text.split()[0]
    return os.path.basename(source.text)


def settings_for(arguments: argparse.Namespace) -> tuple[Settings, dict[str, float]]:
    """Returns the settings, and the slider's lowest score and where it begins.

    The slider chooses among the boxes that there are, so that the decoder keeps low ones, too. With
    a tracker it keeps what the tracker asks for, which would follow more objects otherwise; a score
    at which the slider begins would then hide boxes that continue a track.
    """
    settings = settings_of(arguments, live=True)
    wanted = CONFIDENCE if arguments.confidence is None else arguments.confidence
    lowest = min(wanted, LOW_SCORE)
    if settings.track is not None:
        return settings, {'lowest': lowest, 'begin': lowest}
    if arguments.confidence is not None:
        settings.decode['score-threshold'] = lowest
    else:
        settings.decode.setdefault('score-threshold', lowest)
    return settings, {'lowest': lowest, 'begin': wanted}


def _digest(text: str) -> str:
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def page(about: dict[str, object]) -> Response:
    """Returns the page. Only its own script and style may run in it."""
    text = PAGE.read_text(encoding='utf-8')
    text = text.replace('"ABOUT"', json.dumps(about).replace('<', '\\u003c'))
    allowed = '; '.join(f"{kind}-src 'sha256-{_digest(part)}'" for kind, part in re.findall(
        r'<(script|style)>(.*?)</', text, re.S))
    policy = (f"default-src 'none'; {allowed}; connect-src 'self'; img-src data:; base-uri 'none';"
              " form-action 'none'; frame-ancestors 'none'")
    return Response(text.encode(), 'text/html; charset=utf-8',
                    headers={'Content-Security-Policy': policy})


def routes_of(cameras: Sequence[Camera], about: dict[str, object]) -> dict[str, Route]:
    """Returns what the server answers: the page, and for each source its pictures and events."""
    routes: dict[str, Route] = {'/': lambda: page(about)}
    for number, camera in enumerate(cameras):
        feed = camera.feed
        routes[f'/{number}/pictures'] = lambda feed=feed: Response(  # type: ignore[misc]
            feed.pictures(), PARTS)
        routes[f'/{number}/events'] = lambda feed=feed: Response(  # type: ignore[misc]
            feed.events(), EVENTS)
        routes[f'/{number}/clock'] = lambda feed=feed: Response(  # type: ignore[misc]
            json.dumps(feed.now()).encode(), 'application/json')
    return routes


class Run:
    """Plays sources for viewers until they have ended."""

    def __init__(self, arguments: argparse.Namespace, found: list[Moving]) -> None:
        self._signals, self._progress, self.failed = Signals(), Progress(), False
        settings, slider = settings_for(arguments)
        about: dict[str, object] = {
            'sources': [shown(source) for source in found], **slider,
            'keeper': 'detector' if settings.track is None else 'tracker',
            'model': os.path.basename(arguments.model), 'version': __version__}
        self._cameras = [Camera(source, settings, arguments, self._say) for source in found]
        self._server = Server(arguments.listen, routes_of(self._cameras, about))

    def _say(self, text: str) -> None:
        self._progress.clear()
        print(f'keepbox watch: {" ".join(text.split())}', file=sys.stderr, flush=True)

    def run(self) -> int:
        """Returns the exit status."""
        with self._signals:
            try:
                for camera in self._cameras:
                    camera.start()
                self._server.start()
                print(self._server.url, flush=True)
                if not self._server.is_local:
                    self._say('all who reach this address can see the pictures: there is no'
                              ' password')
                while not self._signals.status and not all(each.ended for each in self._cameras):
                    self._look()
            finally:
                self._progress.clear()
                for camera in self._cameras:
                    camera.tell_end()
                    camera.feed.close()
                    camera.close()
                self._server.close(FAREWELL)
        return self._signals.status or (FAILED if self.failed else 0)

    def _look(self) -> None:
        """Looks after the lines that play."""
        playing = [camera for camera in self._cameras if not camera.ended]
        for camera in playing:
            camera.step(WAIT / len(playing))
            if camera.ended:
                camera.tell_end()
                self.failed |= bool(camera.failure)
                self._say(camera.failure or f'{camera.name}: it has ended')
        frames = sum(camera.tally.frames for camera in self._cameras)
        firsts = [camera.first for camera in self._cameras if camera.first]
        viewers = sum(camera.feed.viewers() for camera in self._cameras)
        self._progress.show(f'{self._server.url}, {viewers} viewers', frames,
                            self._cameras[0].feed.now() / 1000 if firsts else 0)


def run(command: str, words: list[str]) -> int:
    """Runs the command."""
    del command
    return Run(*read(words)).run()
