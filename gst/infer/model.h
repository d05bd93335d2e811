// SPDX-License-Identifier: LGPL-2.1-or-later
// The model of one tensorinfer: opened on its device, settled, and run on frames.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/loading.h"
#include "gst/infer/objects.h"
#include "gst/infer/properties.h"
#include "gst/infer/run/inferencer.h"
#include "gst/infer/settings.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

// The counters behind tensorinfer's `stats` property.

/// Describes the structure for the property.
inline constexpr const char* kInferStats =
    "Counters since the start: frames, of which inferred, skipped, held (skipped, with the "
    "tensors of the last run) and late (skipped because of qos). Microseconds per inferred "
    "frame: preprocess-us, inference-us, queue-us, and time-per-frame-us of the streaming "
    "thread. For all elements that share the model: batch-size (its maximum), batches, "
    "batch-fill (mean number of frames, tiles or objects per batch) and batch-dropped (how many "
    "of them flushes dropped). How the model runs: provider, provider-reason, runtime, cuda-graph, "
    "recognized.";

/// Counts since the start. Plain data, guarded by its owner.
class InferStats {
 public:
  void set(InferSetup setup) { setup_ = std::move(setup); }
  void add_inferred(const InferTimes& times, GstClockTime time);
  /// @param held the frame got the tensors of the last run.
  void add_between(bool held);
  /// Counts a frame that is skipped because it would be late.
  void add_late() { ++late_; }

  /// Returns the structure "tensorinfer-stats". Transfer full.
  GstStructure* structure(const BatchCounts& batches) const;

 private:
  InferSetup setup_;
  guint64 inferred_ = 0, skipped_ = 0, held_ = 0, late_ = 0;
  guint64 timed_ = 0;  // frames with known times; on a GPU they arrive with later frames
  GstClockTime time_ = 0;
  InferTimes sum_, last_;
};

// The warnings of tensorinfer's model.

/// Posts each warning once, because caps may be set repeatedly.
class ModelWarnings {
 public:
  /// @param element posts the messages and must outlive this.
  explicit ModelWarnings(GstElement* element) : element_(element) {}

  /// Allows all warnings again.
  void clear() { posted_.clear(); }

  /// Warns of what was assumed about the model, and of incomplete metadata.
  void guesses(const InferProps& props, const ModelFacts& facts);
  /// Warns if a decoder upstream seems to be missing.
  void no_boxes(const Objects& objects);
  /// Warns if a frame has no room for some tensors of objects.
  void left_out_tensors(size_t count);
  /// Warns if batches were asked for and cannot be run.
  void no_batches(const InferProps& props, const Error& why);

 private:
  void post(const std::string& key, const Error& error);

  GstElement* element_;
  std::set<std::string> posted_;
};

/// Runs a model for one element. Only cuda() and interrupt() may be called from other threads.
class Model {
 public:
  /// @param element posts the messages and must outlive the model. @param like another model of
  /// the element, which shares its context, its warnings and its trial run, and outlives this;
  /// nullptr: none.
  explicit Model(GstElement* element, const Model* like = nullptr);

  /// CUDA objects shared in the pipeline. Call offer_context() before other elements ask for a
  /// context.
  SharedCuda& cuda() { return *cuda_; }
  /// Makes the device's primary context the pipeline's if the model is to run on a GPU and no other
  /// context is set, because ONNX Runtime works only in the primary one.
  void offer_context(const InferProps& props) { loader_.offer_context(props); }

  /// Offers frames to upstream that the model's device reads fast, in an ALLOCATION query.
  /// @return true if it did. @pre started.
  bool offer_pool(GstQuery* query) { return loader_.offer_pool(query); }

  /// Begins to load the model in the background.
  Status start(const InferProps& props);
  /// Begins to load the model of another one. @pre that was started.
  Status start_like(const Model& other) { return begin_with(other.props()); }
  /// Leaves a load that is not complete.
  void stop();

  /// Takes the format of the coming frames. @pre started.
  void set_frames(const GstVideoInfo& info);
  /// Makes room for a number of pending frames, at least those that are held back and one.
  /// @pre none is pending.
  void expect(unsigned frames);
  /// Waits until the model is loaded, with a warning if an automatically chosen provider fails, and
  /// settles it for the frames. kInterrupted after interrupt(). @pre set_frames().
  Status prepare();
  /// True if prepare() has nothing to do.
  bool prepared() const { return phase_ == Phase::kRunning; }

  /// A frame that was given to the model.
  struct StartedRun {
    std::unique_ptr<PendingFrame> pending;  // nullptr if the frame has no objects for the model
    std::vector<ObjectCrop> objects;        // its pictures, if they are of objects
  };
  /// Gives a frame to the model. @pre prepared(), and less than max_pending() frames are pending.
  /// @param order see Inferencer::begin().
  Result<StartedRun> begin(GstBuffer* frame, uint64_t order);
  /// Notes the objects of a frame that is not given to the model. @pre prepared()
  Status leave_out(GstBuffer* frame);
  /// Attaches the tensors of the frame that was begun first among those that are pending.
  Status finish(GstBuffer* frame, StartedRun begun);
  /// Makes prepare(), begin() and finish() fail while `on`, even if it is already running, or until
  /// the next start(). From any thread.
  void interrupt(bool on);
  bool interrupted() const { return loader_.interrupted(); }
  /// Attaches the tensors of the last run again, marked as held; false if there are none.
  bool hold(GstBuffer* frame);
  /// Forgets the last run, and objects of earlier frames.
  void forget() {
    forget_tensors();
    if (objects_) objects_->forget();
  }
  /// Waits until all started work is complete.
  void drain();

  /// Number of frames that the element holds back.
  unsigned lookahead() const { return props().lookahead; }
  /// Maximum number of pending frames.
  unsigned max_pending() const { return max_pending_; }
  /// Duration of those frames, by the framerate of the caps; 0 if it is unknown. From any thread.
  GstClockTime line_latency() const { return line_latency_; }

  /// Returns how often the model was settled: setup() has changed if it was.
  unsigned times_settled() const { return times_settled_; }
  InferSetup setup() const;
  /// Returns what the tensors of frames declare about themselves; nullptr before prepare().
  const SharedProvenance& source() const { return running_.source; }
  /// Returns the times of the last frame that was finished.
  const InferTimes& times() const { return running_.times; }
  /// Returns the counts of the shared model. From any thread.
  BatchCounts batch_counts() const;

 private:
  enum class Phase {
    kStopped,
    kLoading,  // from the start, or since a device was left
    kOpened,   // there is an inferencer, which is not settled for the frames
    kRunning,  // prepare() has nothing to do
  };
  /// A model that is loaded.
  struct Opened {
    ModelDeclaration declaration;
    ModelFacts facts;
    Size size;  // of the input that the inferencer was made for
  };
  /// Tensors and notes of the frames since prepare().
  struct Running {
    SharedProvenance source, held_source;
    std::optional<CropPlan> crops;  // of frames, for objects
    std::vector<InferredTensor> last;
    bool last_held = false;  // the source of `last` is marked as held
    InferTimes times;
  };

  const InferProps& props() const { return loader_.props(); }
  Status begin_with(const InferProps& props);
  Status open();
  void unsettle() {
    if (phase_ == Phase::kRunning) phase_ = Phase::kOpened;
  }
  Status follow_frames(const Picture& picture);
  Status settle(const FamilyOfModel* family);
  Status settle_family();
  void take(std::unique_ptr<Inferencer> inferencer);
  Result<Pictures> plan(const Picture& picture) const;
  void set_source(const Pictures& pictures);
  void forget_tensors() {
    running_.last.clear();
    running_.last_held = false;
  }
  void attach(GstBuffer* frame) const;
  Status attach_to_objects(GstBuffer* frame);
  bool runs_on_cuda() const { return loader_.setup().provider == kCudaProvider; }
  Result<std::vector<InferredTensor>> infer_on_cpu(GstBuffer* frame,
                                                   const std::vector<ObjectCrop>& objects,
                                                   const Error& why);
  void check_batches();

  GstElement* element_;
  const uint64_t number_ = new_producer();
  std::shared_ptr<SharedCuda> cuda_;
  std::shared_ptr<ModelWarnings> warnings_;
  ModelLoader loader_;
  mutable std::mutex lock_;  // guards the next one between changes and calls of other threads
  std::unique_ptr<Inferencer> inferencer_;
  std::atomic<GstClockTime> line_latency_ = 0;
  // The streaming thread's own:
  Phase phase_ = Phase::kStopped;
  Opened opened_;
  Running running_;
  GstVideoInfo info_{};             // of frames
  TileGrid tiles_;                  // of frames
  std::optional<Objects> objects_;  // if the model runs on objects
  unsigned max_pending_ = 1;
  unsigned times_settled_ = 0;
  bool left_device_ = false;  // since start()
};

}  // namespace keepbox
