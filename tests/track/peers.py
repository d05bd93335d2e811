#!/usr/bin/env python3
# SPDX-License-Identifier: LGPL-2.1-or-later
"""Runs the trackers of other projects that this Python has on recorded boxes, for compare.py.

usage: peers.py < SEQUENCES > IDS

A line of SEQUENCES is JSON: rate, width, height, and frames of [seconds, boxes]; a box is x1, y1,
x2, y2, score, class. A line of IDS: name of a tracker, and for each sequence the ids of its frames'
boxes, 0 for none, and microseconds per frame. Trackers have the parameters of their paper, or else
the package's. Those without a threshold get the boxes above SURE, as in SORT's paper.
"""
import importlib.util
import json
import pathlib
import sys
import time

SURE = 0.5


class Peer:
    """Follows boxes with a function of a frame's seconds and boxes, which returns their ids."""

    least = 0

    def __init__(self, sequence):
        self.rate = sequence['rate']

    def follow(self, at, boxes):
        raise NotImplementedError


class Supervision(Peer):
    """ByteTrack of supervision; version 0.28 removed it."""

    def __init__(self, sequence):
        super().__init__(sequence)
        import supervision
        self.tracker = supervision.ByteTrack(track_activation_threshold=0.6, frame_rate=self.rate)

    def detections(self, boxes):
        import numpy as np
        import supervision
        rows = np.array(boxes, float).reshape(-1, 6)
        return supervision.Detections(xyxy=rows[:, :4], confidence=rows[:, 4],
                                      class_id=rows[:, 5].astype(int),
                                      data={'row': np.arange(len(rows))})

    def spread(self, got, count, first):
        out = [0] * count
        for row, number in zip(got.data.get('row', []), got.tracker_id):
            out[int(row)] = max(0, int(number) + 1 - first)
        return out

    def follow(self, at, boxes):
        return self.spread(self.tracker.update_with_detections(self.detections(boxes)), len(boxes),
                           1)


class Trackers(Supervision):
    """A tracker of the package trackers."""

    def __init__(self, sequence, name, **options):
        Peer.__init__(self, sequence)
        import trackers
        self.tracker = getattr(trackers, name)(frame_rate=self.rate, **options)

    def follow(self, at, boxes):
        return self.spread(self.tracker.update(self.detections(boxes), timestamp=at), len(boxes), 0)


class OcSort(Peer):
    """OC-SORT's own code: the folder trackers of its repository is in PYTHONPATH."""

    def __init__(self, sequence, **options):
        super().__init__(sequence)
        from ocsort_tracker.ocsort import OCSort
        self.size = (sequence['height'], sequence['width'])
        self.tracker = OCSort(det_thresh=0.6, max_age=round(self.rate), **options)

    def follow(self, at, boxes):
        import numpy as np
        rows = np.array(boxes, float).reshape(-1, 6)[:, :5]
        got = {tuple(row[:4]): int(row[4])
               for row in self.tracker.update(rows.copy(), self.size, self.size)}
        return [got.get(tuple(row[:4]), 0) for row in rows]


class Sort(Peer):
    """SORT's own code: the folder of its repository is in PYTHONPATH. It returns filtered boxes."""

    least = SURE

    def __init__(self, sequence, sort):
        super().__init__(sequence)
        sort.KalmanBoxTracker.count = 0
        self.overlaps, self.tracker = sort.iou_batch, sort.Sort()

    def follow(self, at, boxes):
        import numpy as np
        rows = np.array(boxes, float).reshape(-1, 6)[:, :5]
        got, out = self.tracker.update(rows), [0] * len(rows)
        if len(got) and len(rows):
            for row, box in zip(got, self.overlaps(got[:, :4], rows[:, :4]).argmax(1)):
                out[box] = int(row[4])
        return out


class Norfair(Peer):
    least = SURE

    def __init__(self, sequence):
        super().__init__(sequence)
        import norfair
        self.tracker = norfair.Tracker(distance_function='iou', distance_threshold=0.7)

    def follow(self, at, boxes):
        import norfair
        import numpy as np
        found = [norfair.Detection(np.array(box[:4]).reshape(2, 2), data=(at, row))
                 for row, box in enumerate(boxes)]
        out = [0] * len(boxes)
        for each in self.tracker.update(found):
            when, row = each.last_detection.data
            if when == at:
                out[row] = each.id
        return out


class IouTracker(Peer):
    """ioutracker of GStreamer, from 1.28 on."""

    least = SURE

    def __init__(self, sequence):
        super().__init__(sequence)
        import gi
        gi.require_version('GstAnalytics', '1.0')
        from gi.repository import GLib, Gst, GstAnalytics
        self.gst, self.analytics = Gst, GstAnalytics
        self.label = GLib.quark_from_string('thing')
        self.line = Gst.parse_launch(
            f'appsrc name=in format=time caps=video/x-raw,format=GRAY8,width={sequence["width"]},'
            f'height={sequence["height"]},framerate={round(self.rate)}/1 '
            '! ioutracker ! appsink name=out sync=false')
        self.line.set_state(Gst.State.PLAYING)
        self.bytes = bytes(sequence['width'] * sequence['height'])

    def __del__(self):
        self.line.set_state(self.gst.State.NULL)

    def follow(self, at, boxes):
        buffer = self.gst.Buffer.new_wrapped(self.bytes)
        buffer.pts = round(at * self.gst.SECOND)
        meta = self.analytics.buffer_add_analytics_relation_meta(buffer)
        for x1, y1, x2, y2, score, _ in boxes:
            meta.add_od_mtd(self.label, round(x1), round(y1), round(x2) - round(x1),
                            round(y2) - round(y1), score)
        self.line.get_by_name('in').emit('push-buffer', buffer)
        del meta, buffer
        sample = self.line.get_by_name('out').emit('pull-sample')
        return self.ids_of(sample.get_buffer(), len(boxes))

    def ids_of(self, buffer, count):
        meta = self.analytics.buffer_get_analytics_relation_meta(buffer)
        out, at = [0] * count, 0
        for number in range(count, self.analytics.relation_get_length(meta)):
            known, track = meta.get_tracking_mtd(number)
            if not known:
                continue
            for i in (*range(at, count), *range(at)):    # tracks follow in the order of boxes
                if meta.get_relation(i, number) != self.analytics.RelTypes.NONE:
                    out[i], at = track.get_info()[1] + 1, i
                    break
        return out


def has(module):
    return importlib.util.find_spec(module) is not None


def loaded(module):
    """Returns a module, or None, with a note, if it or what it requires is not installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if not f'{module}.'.startswith(f'{error.name}.'):
            print(f'{pathlib.Path(sys.executable).parents[1].name}: no {module}: {error}',
                  file=sys.stderr)
        return None


def has_ioutracker():
    if not has('gi'):
        return False
    import gi
    gi.require_version('Gst', '1.0')
    from gi.repository import Gst
    Gst.init(None)
    return Gst.ElementFactory.find('ioutracker') is not None


def peers():
    """Returns the trackers of this Python by name, as functions of a sequence."""
    out = {}
    sort = loaded('sort')    # first: it chooses a backend of matplotlib, which fails later on
    if sort:
        out['SORT, its own code'] = lambda s: Sort(s, sort)
    if hasattr(loaded('supervision'), 'ByteTrack'):
        out['supervision ByteTrack'] = Supervision
    if loaded('trackers'):
        out['trackers ByteTrack'] = lambda s: Trackers(s, 'ByteTrackTracker',
                                                       track_activation_threshold=0.7,
                                                       minimum_iou_threshold=0.2)
        out['trackers SORT'] = lambda s: Trackers(s, 'SORTTracker')
        out['trackers OC-SORT'] = lambda s: Trackers(s, 'OCSORTTracker')
        if hasattr(loaded('trackers'), 'CBIoUTracker'):
            out['trackers C-BIoU'] = lambda s: Trackers(s, 'CBIoUTracker')
            out['trackers BoT-SORT'] = lambda s: Trackers(s, 'BoTSORTTracker', enable_cmc=False)
    if loaded('ocsort_tracker.ocsort'):
        out['OC-SORT, its own code'] = OcSort
        out['OC-SORT, its own code, use_byte'] = lambda s: OcSort(s, use_byte=True)
    if loaded('norfair'):
        out['Norfair'] = Norfair
    if has_ioutracker():
        out['ioutracker'] = IouTracker
    return out


def run(make, sequence):
    """Returns the ids of each frame's boxes, and microseconds per frame."""
    peer, ids, spent = make(sequence), [], 0
    for at, boxes in sequence['frames']:
        used = [i for i, box in enumerate(boxes) if box[4] > peer.least]
        begun = time.perf_counter()
        found = peer.follow(at, [boxes[i] for i in used])
        spent += time.perf_counter() - begun
        ids.append([0] * len(boxes))
        for i, number in zip(used, found):
            ids[-1][i] = number
    return ids, spent * 1e6 / max(1, len(ids))


def main():
    if {'-h', '--help'} & set(sys.argv[1:]):
        print(__doc__.strip())
        return
    sequences = [json.loads(line) for line in sys.stdin]
    for name, make in peers().items():
        print(json.dumps([name, [run(make, sequence) for sequence in sequences]]), flush=True)


if __name__ == '__main__':
    main()
