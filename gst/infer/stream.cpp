// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams of frames to infer, one or several in batches.
#include "gst/infer/stream.h"

#include "gst/base/error.h"
#include "gst/infer/run/pictures.h"
#include "gst/metas/skippedmodels.h"

namespace keepbox {

void InferStream::forget() {
  since_ = 0;
  model_.forget();
}

Status InferStream::begin(GstBuffer* frame, const SkipRules& rules, uint64_t order, bool late) {
  KB_TRY(model_.prepare());
  // A GAP buffer may lack a picture. If it has one, it is inferred: videorate sets GAP on repeats.
  const bool picture = gst_buffer_n_memory(frame) != 0;
  const bool early = late || (since_ > 0 && since_ < rules.interval);
  if (early || !picture) {
    if (since_ > 0) ++since_;
    line_.note(rules.hold && early && picture ? FrameUse::kHeld : FrameUse::kSkipped, {}, 0);
    return model_.leave_out(frame);
  }
  since_ = 1;
  const GstClockTime now = gst_util_get_timestamp();
  KB_ASSIGN(Model::StartedRun begun, model_.begin(frame, order));
  const FrameUse use = begun.pending ? FrameUse::kInferred : FrameUse::kSkipped;
  line_.note(use, std::move(begun), now);
  return {};
}

InferStream::Completed InferStream::complete() {
  LineFrame first = line_.pop();
  Completed out{.buffer = std::move(first.buffer), .use = first.use, .held = false};
  if (first.use == FrameUse::kInferred) {
    out.status = model_.finish(out.buffer.get(), std::move(first.run));
    out.took = gst_util_get_timestamp() - first.begun;
    return out;
  }
  out.held = first.use == FrameUse::kHeld && model_.hold(out.buffer.get());
  if (!out.held) note_skipped_frame(out.buffer.get(), model_.source());
  return out;
}

namespace {

constexpr size_t kMaxFrames = 64;  // of a stream that run together

std::unexpected<Error> unsupported_stream(const GstCaps* caps) {
  g_autofree gchar* text = gst_caps_to_string(caps);
  return reject(
      ErrorKind::kUnsupported,
      std::string("A stream of the batches passes without inference, because of its caps: ") + text,
      "put videoconvert before analyticscombiner if it is video, or do not add it to the batches");
}

std::unexpected<Error> no_caps() {
  return reject(ErrorKind::kMismatch,
                "Frames of a stream of the batches pass without inference: they precede its caps",
                "send a CAPS event before them, or among the sticky events of the stream");
}

GstClockTime running_time(const GstSegment& segment, GstBuffer* frame) {
  if (segment.format != GST_FORMAT_TIME) return GST_CLOCK_TIME_NONE;
  return gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(frame));
}

/// A stream's part of the batch.
struct StreamShare {
  InferStreamState& state;
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
  Status run(std::vector<StreamShare>& shares) {
    for (StreamShare& turn : shares)
      for (GstEvent* event : turn.stream.sticky) take(turn, event);
    for (bool more = true; more;) {
      more = false;
      for (StreamShare& turn : shares) more = advance(turn) || more;
    }
    for (StreamShare& turn : shares) drain(turn);
    return status_;
  }

 private:
  void take(StreamShare& turn, GstEvent* event) {
    InferStreamState& state = turn.state;
    if (!state.events.take(event)) return;
    state.orientation.take(element_, event);
    if (GST_EVENT_TYPE(event) == GST_EVENT_CAPS) {
      drain(turn);
      GstCaps* caps = nullptr;
      gst_event_parse_caps(event, &caps);
      warn(state.set_caps(caps));
    } else if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT) {
      drain(turn);
      gst_event_copy_segment(event, &state.segment);
      state.stream.forget();
    }
  }

  /// Gives a stream's next frame to the model, and takes the events before it. Returns false after
  /// the last frame.
  bool advance(StreamShare& turn) {
    while (status_ && turn.next < turn.stream.items.size()) {
      BatchItem& item = turn.stream.items[turn.next++];
      if (item.event != nullptr) take(turn, item.event);
      if (!item.frame) continue;
      begin(turn, item.frame);
      return true;
    }
    return false;
  }

  void begin(StreamShare& turn, OwnedBuffer& frame) {
    InferStreamState& state = turn.state;
    if (!state.has_caps) warn(no_caps());
    if (!state.runs) return pass(state, frame.get());
    if (state.stream.is_full()) complete(turn);
    const uint64_t order = due_time(element_, running_time(state.segment, frame.get()));
    const Status begun = state.started
                             ? state.stream.begin(frame.get(), rules_.skip, order, rules_.late)
                             : state.started;
    if (!begun) {
      note(begun.error());
      return pass(state, frame.get());
    }
    state.stream.push(frame.release());
    turn.places.push_back(&frame);
  }

  void complete(StreamShare& turn) {
    InferStream::Completed frame = turn.state.stream.complete();
    OwnedBuffer& place = *turn.places.front();
    turn.places.pop_front();
    place = std::move(frame.buffer);
    if (frame.status) return count_(frame, turn.state.stream.model());
    note(frame.status.error());
    pass(turn.state, place.get());
  }

  void drain(StreamShare& turn) {
    while (!turn.places.empty()) complete(turn);
  }

  /// Notes that a frame has no tensors on purpose.
  void pass(InferStreamState& state, GstBuffer* frame) {
    note_skipped_frame(frame, state.stream.model().source());
    count_({.buffer = nullptr, .use = FrameUse::kSkipped, .held = false}, state.stream.model());
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

InferStreamState::InferStreamState(GstElement* element, InferStream& first, bool taken)
    : own(taken ? std::make_unique<InferStream>(element, &first.model()) : nullptr),
      stream(own ? *own : first) {
  gst_segment_init(&segment, GST_FORMAT_UNDEFINED);
  if (own) started = stream.model().start_like(first.model());
}

InferStreamState::~InferStreamState() {
  stream.clear();
  if (own) own->model().stop();
}

Status InferStreamState::set_caps(const GstCaps* caps) {
  g_autoptr(GstCaps) suitable = frame_form_caps();
  GstVideoInfo info;
  runs = gst_caps_can_intersect(caps, suitable) && gst_video_info_from_caps(&info, caps) &&
         frame_form_of(info);
  has_caps = true;
  stream.forget();
  if (!runs) return unsupported_stream(caps);
  stream.model().set_frames(info);
  return {};
}

std::vector<InferStreamState*> InferBatches::follow(const std::vector<BatchedStream>& streams) {
  bool taken = false;
  const std::lock_guard guard(lock_);
  states_.for_each([&](const InferStreamState& state) { taken = taken || !state.own; });
  return states_.follow(streams, [&] {
    auto state = std::make_unique<InferStreamState>(element_, first_, std::exchange(taken, true));
    if (interrupted_ && state->own) state->stream.model().interrupt(true);
    return state;
  });
}

Status InferBatches::run(GstBuffer* buffer, const Rules& rules, const Count& count) {
  FrameBatch batch(buffer);
  if (!batch) return no_batch();
  const std::vector<InferStreamState*> lanes = follow(batch.streams());
  max_frames_ = std::max(
      max_frames_, static_cast<unsigned>(std::min(batch.max_frames_per_stream(), kMaxFrames)));
  std::vector<StreamShare> shares;
  for (size_t i = 0; i < lanes.size(); ++i) {
    lanes[i]->stream.model().expect(max_frames_);
    shares.push_back({*lanes[i], batch.streams()[i]});
  }
  return BatchRun(element_, rules, count, warned_).run(shares);
}

void InferBatches::interrupt(bool on) {
  const std::lock_guard guard(lock_);
  interrupted_ = on;
  states_.for_each([&](InferStreamState& state) {
    if (state.own) state.stream.model().interrupt(on);
  });
}

void InferBatches::forget() {
  states_.for_each([](InferStreamState& state) { state.stream.forget(); });
}

void InferBatches::clear() {
  const std::lock_guard guard(lock_);
  states_.clear();
  warned_.clear();
  max_frames_ = 1;
}

void OrientationCheck::take(GstElement* element, GstEvent* event) {
  GstTagList* tags = nullptr;
  if (GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START) warned_ = false;
  if (GST_EVENT_TYPE(event) != GST_EVENT_TAG) return;
  gst_event_parse_tag(event, &tags);
  g_autofree gchar* orientation = nullptr;
  if (!gst_tag_list_get_string(tags, GST_TAG_IMAGE_ORIENTATION, &orientation) ||
      g_str_equal(orientation, "rotate-0") || std::exchange(warned_, true))
    return;
  post_warning(element, {ErrorKind::kMismatch, "upright pictures",
                         std::string("the tag image-orientation ") + orientation,
                         "put videoflip video-direction=auto before tensorinfer"});
}

}  // namespace keepbox
