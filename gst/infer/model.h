// SPDX-License-Identifier: LGPL-2.1-or-later
// The model of one tensorinfer: opened where it is to run, settled, and run on frames.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "gst/infer/inferencer.h"
#include "gst/infer/inferprops.h"
#include "gst/infer/inferstats.h"
#include "gst/infer/modelfacts.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// For one thread at a time, but for cuda() and interrupt().
class Model {
 public:
  /// @param element posts the messages, and outlives this.
  explicit Model(GstElement* element) : element_(element) {}

  /// What the pipeline shares of CUDA. Before the others ask for a context, offer one.
  SharedCuda& cuda() { return cuda_; }
  /// Makes the device's primary context the pipeline's, if the model is to run on a GPU and nobody has
  /// brought another: ONNX Runtime works in no other.
  void offer_context(const InferProps& props);

  /// Opens the model. A warning goes with an automatic provider that fails.
  Status start(const InferProps& props);
  void stop();

  /// Takes how frames come. @pre started.
  Status set_frames(const GstVideoInfo& info);

  /// Runs the model on a frame and attaches its tensors. @pre set_frames().
  Status infer(GstBuffer* frame);
  /// Lets infer() fail as long as `on`, also where it is under way, or until the next start(). From
  /// any thread.
  void interrupt(bool on);
  bool interrupted() const { return interrupted_; }
  /// Attaches the tensors of the last run again, as held; false without one.
  bool hold(GstBuffer* frame);
  /// Forgets the last run.
  void forget() {
    last_.clear();
    last_held_ = false;
  }
  /// Waits for what is under way.
  void drain();

  const InferSetup& setup() const { return setup_; }
  /// What tensors of frames say of themselves; nullptr before set_frames().
  const SharedTensorSource& source() const { return source_; }
  InferTimes times() const { return inferencer_->times(); }

 private:
  struct Place {
    std::string provider, reason;
  };
  Result<Place> choose(const InferProps& props) const;
  Status open(const InferProps& props, Place place);
  Status open_on(const InferProps& props, const Place& place);
  Status opened_on(const Place& place);
  Status leave_device(const Error& why);
  Status settle(const FamilyOfModel* family);
  Status settle_family();
  void warn_of_guesses();
  void take(std::unique_ptr<Inferencer> inferencer);
  void attach(GstBuffer* frame) const;

  GstElement* element_;
  const uint64_t number_ = new_producer();
  SharedCuda cuda_;
  std::mutex lock_;  // of inferencer_, where it changes and for those who interrupt
  std::unique_ptr<Inferencer> inferencer_;
  std::atomic<bool> interrupted_ = false;
  InferProps props_;   // of the start
  GstVideoInfo info_{};  // of frames
  ModelClaims claims_;
  ModelFacts facts_;
  std::optional<FamilyOfModel> wanted_;  // by the decoder behind
  std::optional<Result<FamilyOfModel>> tried_;  // by a trial run
  std::set<std::string> warned_;  // since the start
  InferSetup setup_;
  SharedTensorSource source_, held_source_;
  std::vector<InferredTensor> last_;
  bool last_held_ = false;  // does their data say so?
};

}  // namespace keepbox
