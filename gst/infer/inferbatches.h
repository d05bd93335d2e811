// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs the model on batches of streams (see framebatch.h).
#pragma once

#include <gst/gst.h>

#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "gst/base/batchstreamstates.h"
#include "gst/infer/inferstream.h"
#include "gst/infer/orientationcheck.h"

namespace keepbox {

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
