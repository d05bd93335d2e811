// SPDX-License-Identifier: LGPL-2.1-or-later
// Streams of frames to infer, one or several in batches.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/batches.h"
#include "gst/infer/model.h"

namespace keepbox {

// Finds frames that a sink would show too late, from its QoS events.

/// One stream. Events and queries come from other threads than frames.
class Lateness {
 public:
  /// Takes a QoS event from downstream.
  void take(GstEvent* event) {
    GstClockTimeDiff late = 0;
    GstClockTime at = 0;
    gst_event_parse_qos(event, nullptr, nullptr, &late, &at);
    if (!GST_CLOCK_TIME_IS_VALID(at) || at < ignored_until_) return;
    // A late frame takes as long again to catch up with, as in GstVideoDecoder.
    earliest_ = late > 0 ? at + 2 * static_cast<GstClockTime>(late)
                         : at - std::min(at, static_cast<GstClockTime>(-late));
  }
  /// Takes the answer to a latency query: frames of a file are never too late.
  void set_live(bool live) { live_ = live; }
  void reset() { earliest_ = ignored_until_ = 0; }
  /// Ignores that frames before a running time are late, because they waited for the model.
  void ignore_until(GstClockTime until) {
    ignored_until_ = until;
    earliest_ = 0;
  }

  /// True if a frame of a live source will be late. @param running its running time.
  bool is_late(GstClockTime running) const {
    return live_ && GST_CLOCK_TIME_IS_VALID(running) && running < earliest_;
  }

 private:
  std::atomic<bool> live_ = false;
  std::atomic<GstClockTime> earliest_ = 0, ignored_until_ = 0;
};

/// Returns when a frame is due, by the clock that elements of a pipeline share; now if that is
/// unknown.
inline GstClockTime due_time(GstElement* element, GstClockTime running) {
  const GstClockTime start = gst_element_get_base_time(element);
  return GST_CLOCK_TIME_IS_VALID(running) && GST_CLOCK_TIME_IS_VALID(start)
             ? start + running
             : gst_util_get_timestamp();
}

// Frames of an element whose tensors are on their way, in their order.

/// The treatment of a frame when it leaves.
enum class FrameUse { kInferred, kHeld, kSkipped };

struct LineFrame {
  OwnedBuffer buffer;
  FrameUse use = FrameUse::kInferred;
  Model::StartedRun run;   // of an inferred frame
  GstClockTime begun = 0;  // of gst_util_get_timestamp()
};

class FrameLine {
 public:
  /// Notes how the frame that is being taken is used; push() follows.
  void note(FrameUse use, Model::StartedRun run, GstClockTime begun) {
    next_ = {.use = use, .run = std::move(run), .begun = begun};
  }
  /// Adds the frame that was noted. Takes ownership.
  void push(GstBuffer* buffer) {
    next_.buffer.reset(buffer);
    frames_.push_back(std::move(next_));
  }
  bool empty() const { return frames_.empty(); }
  size_t size() const { return frames_.size(); }
  /// Removes the first frame. @pre !empty().
  LineFrame pop() {
    LineFrame first = std::move(frames_.front());
    frames_.pop_front();
    return first;
  }
  void clear() {
    frames_.clear();
    next_ = {};
  }

 private:
  std::deque<LineFrame> frames_;
  LineFrame next_;
};

// One element's frames on their way through its model.

/// Rules for skipping frames.
struct SkipRules {
  guint interval = 1;  // the model runs on every frame of that many
  bool hold = false;   // skipped frames get the tensors of the last run
};

/// Gives frames to the model, and completes them in their order. For the streaming thread, except
/// model().interrupt().
class InferStream {
 public:
  /// @param element posts the messages and outlives the stream. @param like see Model.
  explicit InferStream(GstElement* element, const Model* like = nullptr) : model_(element, like) {}

  Model& model() { return model_; }
  const Model& model() const { return model_; }

  /// Gives a frame to the model, or skips it. The frame follows by push(). Waits until the model is
  /// loaded.
  /// @param order see Inferencer::begin(). @param late skip it in any case.
  Status begin(GstBuffer* frame, const SkipRules& rules, uint64_t order, bool late);
  /// Adds the frame of the last begin(). Takes ownership.
  void push(GstBuffer* frame) { line_.push(frame); }

  bool empty() const { return line_.empty(); }
  /// True if the first frame is to leave.
  bool is_full() const { return line_.size() >= model_.max_pending(); }

  /// A frame with its tensors.
  struct Completed {
    OwnedBuffer buffer;
    FrameUse use;
    bool held;              // has tensors of an earlier run
    GstClockTime took = 0;  // since begin(), of inferred frames
    Status status = {};     // of the run; without tensors if it failed
  };
  /// Takes out the first frame, with its tensors or a note that it has none on purpose.
  /// @pre !empty().
  Completed complete();

  /// Drops all frames, whose results do not matter.
  void clear() { line_.clear(); }
  /// Starts again, independent of earlier frames. @pre empty().
  void forget();

 private:
  Model model_;
  FrameLine line_;
  guint64 since_ = 0;  // frames since the model ran, including that frame; 0 before
};

// Warns about rotated pictures: the display rotates them, but the model sees them as stored.

/// One stream after the other. For the streaming thread.
class OrientationCheck {
 public:
  /// Takes an event of the stream, and warns once per stream about a tag that asks for a rotation.
  /// @param element posts the warning.
  void take(GstElement* element, GstEvent* event);

 private:
  bool warned_ = false;
};

// Runs the model on batches of streams (see base/batches.h).

/// A stream of the batches.
struct InferStreamState {
  /// @param first the element's own stream. @param taken it is in use, so that this object makes
  /// a stream of its own.
  InferStreamState(GstElement* element, InferStream& first, bool taken);
  InferStreamState(const InferStreamState&) = delete;
  InferStreamState& operator=(const InferStreamState&) = delete;
  ~InferStreamState();

  /// Takes the caps of the coming frames. kUnsupported if the model does not run on such frames,
  /// which then pass. @pre no frame is in the line.
  Status set_caps(const GstCaps* caps);

  std::unique_ptr<InferStream> own;
  InferStream& stream;
  Status started;  // of the own stream
  RepeatedEvents events;
  OrientationCheck orientation;
  GstSegment segment;
  bool has_caps = false;
  bool runs = false;  // the caps suit the model
};

/// The streams of an element's batches. Each has frames of its own format, and all share the model,
/// so that the frames of a batch run together. For the streaming thread, except interrupt().
class InferBatches {
 public:
  /// @param element posts the messages. @param first runs the first stream. Both outlive this.
  InferBatches(GstElement* element, InferStream& first) : element_(element), first_(first) {}

  /// Rules by which the frames of a batch are run.
  struct Rules {
    SkipRules skip;
    bool late = false;  // skip all frames
  };
  /// Gets each frame that is complete, without its buffer, and its model.
  using Count = std::function<void(const InferStream::Completed& frame, const Model& model)>;

  /// Attaches tensors to the frames of a batch. Frames of a stream that the model does not run on,
  /// and frames without data, pass with a warning.
  /// @param batch writable. @return the error after which the element is to stop.
  Status run(GstBuffer* batch, const Rules& rules, const Count& count);

  /// Interrupts like Model::interrupt(), for the streams that are not the element's own. For any
  /// thread.
  void interrupt(bool on);
  /// Starts again, independent of earlier batches.
  void forget();
  /// Forgets the streams.
  void clear();

 private:
  std::vector<InferStreamState*> follow(const std::vector<BatchedStream>& streams);

  GstElement* element_;
  InferStream& first_;
  std::mutex lock_;  // guards the next two between changes and interrupt()
  BatchStreamStates<InferStreamState> states_;
  bool interrupted_ = false;
  std::set<std::string> warned_;
  unsigned max_frames_ = 1;  // largest number of frames of a stream so far
};

}  // namespace keepbox
