// SPDX-License-Identifier: LGPL-2.1-or-later
// Begins the frames of all streams in turn, so that they are in the same runs, then completes them.
#include "gst/infer/inferbatches.h"

#include <algorithm>
#include <deque>
#include <utility>

#include "gst/base/batchcaps.h"
#include "gst/base/error.h"
#include "gst/infer/frameform.h"
#include "gst/infer/lateness.h"
#include "gst/tensors/decodednote.h"

namespace keepbox {
namespace {

constexpr size_t kMaxFrames = 64;  // of a stream that run together

std::unexpected<Error> unfit(const GstCaps* caps) {
  g_autofree gchar* text = gst_caps_to_string(caps);
  return reject(
      ErrorKind::kUnsupported,
      std::string("A stream of the batches passes without inference: it has ") + text,
      "put videoconvert before analyticscombiner if it is video, or leave it out of them");
}

std::unexpected<Error> no_caps() {
  return reject(
      ErrorKind::kMismatch,
      "Frames of a stream of the batches pass without inference: they come before its caps",
      "put a CAPS event before them, or among the sticky events of the stream");
}

GstClockTime running_time(const GstSegment& segment, GstBuffer* frame) {
  if (segment.format != GST_FORMAT_TIME) return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
}

/// A stream's part of the batch.
struct Turn {
  InferLane& lane;
  BatchedStream& stream;
  size_t next = 0;                       // item
  std::deque<OwnedBuffer*> places = {};  // of the frames in the line
};

/// The run of one batch.
class BatchRun {
 public:
  BatchRun(GstElement* element, const InferBatches::Rules& rules, const InferBatches::Count& count,
           std::set<std::string>& warned)
      : element_(element), rules_(rules), count_(count), warned_(warned) {}

  /// Returns the first error that is not of a frame alone.
  Status run(std::vector<Turn>& turns) {
    for (Turn& turn : turns)
      for (GstEvent* event : turn.stream.sticky) take(turn, event);
    for (bool more = true; more;) {
      more = false;
      for (Turn& turn : turns) more = advance(turn) || more;
    }
    for (Turn& turn : turns) drain(turn);
    return status_;
  }

 private:
  void take(Turn& turn, GstEvent* event) {
    InferLane& lane = turn.lane;
    if (!lane.events.take(event)) return;
    lane.orientation.take(element_, event);
    if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
      drain(turn);
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      warn(lane.set_caps(caps));
    } else if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) {
      drain(turn);
      gst_event_copy_segment(event, &lane.segment);
      lane.stream.forget();
    }
  }

  /// Gives a stream's next frame to the model, and takes the events before it. Returns false after
  /// the last frame.
  bool advance(Turn& turn) {
    while (status_ && turn.next < turn.stream.items.size()) {
      BatchItem& item = turn.stream.items[turn.next++];
      if (item.event != nullptr) take(turn, item.event);
      if (!item.frame) continue;
      begin(turn, item.frame);
      return true;
    }
    return false;
  }

  void begin(Turn& turn, OwnedBuffer& frame) {
    InferLane& lane = turn.lane;
    if (!lane.has_caps) warn(no_caps());
    if (!lane.runs) return pass(lane, frame.get());
    if (lane.stream.is_full()) complete(turn);
    const uint64_t order = due_time(element_, running_time(lane.segment, frame.get()));
    const Status begun = lane.started
                             ? lane.stream.begin(frame.get(), rules_.skip, order, rules_.late)
                             : lane.started;
    if (!begun) {
      note(begun.error());
      return pass(lane, frame.get());
    }
    lane.stream.push(frame.release());
    turn.places.push_back(&frame);
  }

  void complete(Turn& turn) {
    InferStream::Completed frame = turn.lane.stream.complete();
    OwnedBuffer& place = *turn.places.front();
    turn.places.pop_front();
    place = std::move(frame.buffer);
    if (frame.status) return count_(frame, turn.lane.stream.model());
    note(frame.status.error());
    pass(turn.lane, place.get());
  }

  void drain(Turn& turn) {
    while (!turn.places.empty()) complete(turn);
  }

  /// Notes that a frame has no tensors on purpose.
  void pass(InferLane& lane, GstBuffer* frame) {
    note_skipped(frame, lane.stream.model().source());
    count_({.buffer = nullptr, .use = FrameUse::kSkipped, .held = false}, lane.stream.model());
  }

  /// Only a frame's data concerns that frame alone.
  void note(const Error& error) {
    if (error.kind == ErrorKind::kTruncated) warn(std::unexpected(error));
    else if (status_) status_ = std::unexpected(error);
  }

  void warn(const Status& status) {
    if (!status && warned_.insert(status.error().message()).second)
      post_warning(element_, status.error());
  }

  GstElement* element_;
  const InferBatches::Rules& rules_;
  const InferBatches::Count& count_;
  std::set<std::string>& warned_;
  Status status_;
};

}  // namespace

InferLane::InferLane(GstElement* element, InferStream& first, bool taken)
    : own(taken ? std::make_unique<InferStream>(element, &first.model()) : nullptr),
      stream(own ? *own : first) {
  gst_segment_init(&segment, GST_FORMAT_UNDEFINED);
  if (own) started = stream.model().start_like(first.model());
}

InferLane::~InferLane() {
  stream.clear();
  if (own) own->model().stop();
}

Status InferLane::set_caps(const GstCaps* caps) {
  g_autoptr(GstCaps) suitable = frame_form_caps();
  GstVideoInfo info;
  runs = gst_caps_can_intersect(caps, suitable) && gst_video_info_from_caps(&info, caps) &&
         frame_form_of(info);
  has_caps = true;
  stream.forget();
  if (!runs) return unfit(caps);
  stream.model().set_frames(info);
  return {};
}

std::vector<InferLane*> InferBatches::follow(const std::vector<BatchedStream>& streams) {
  bool taken = false;
  const std::lock_guard guard(lock_);
  lanes_.for_each([&](const InferLane& lane) { taken = taken || !lane.own; });
  return lanes_.follow(streams, [&] {
    auto lane = std::make_unique<InferLane>(element_, first_, std::exchange(taken, true));
    if (interrupted_ && lane->own) lane->stream.model().interrupt(true);
    return lane;
  });
}

Status InferBatches::run(GstBuffer* buffer, const Rules& rules, const Count& count) {
  FrameBatch batch(buffer);
  if (!batch) return no_batch();
  const std::vector<InferLane*> lanes = follow(batch.streams());
  most_ = std::max(most_, static_cast<unsigned>(std::min(batch.most_frames(), kMaxFrames)));
  std::vector<Turn> turns;
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i]->stream.model().expect(most_);
    turns.push_back({*lanes[i], batch.streams()[i]});
  }
  return BatchRun(element_, rules, count, warned_).run(turns);
}

void InferBatches::interrupt(bool on) {
  const std::lock_guard guard(lock_);
  interrupted_ = on;
  lanes_.for_each([&](InferLane& lane) {
    if (lane.own) lane.stream.model().interrupt(on);
  });
}

void InferBatches::forget() {
  lanes_.for_each([](InferLane& lane) { lane.stream.forget(); });
}

void InferBatches::clear() {
  const std::lock_guard guard(lock_);
  lanes_.clear();
  warned_.clear();
  most_ = 1;
}

}  // namespace keepbox
