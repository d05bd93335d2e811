// SPDX-License-Identifier: LGPL-2.1-or-later
// Interface of what runs models: on the host or on a device, shared by elements.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "core/base/result.h"
#include "core/plan/input.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/onnx/session.h"
#include "gst/infer/run/batches.h"
#include "gst/infer/run/pictures.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

// The interface from a frame to a model's tensors, on the host or on a GPU.

/// Runs a model on one element's frames, in the order set_model(), set_frames(), begin() ... Only
/// interrupt() may be called from other threads; the model itself may be shared with others.
class Inferencer {
 public:
  virtual ~Inferencer() = default;

  virtual const ModelDeclaration& declaration() const = 0;

  /// Takes the settled facts about the model. Called once, first.
  virtual Status set_model(const ModelFacts& facts) = 0;

  /// Takes the format and memory of the coming frames. CUDA memory is read in place if supported.
  /// Tensors have one image per picture. @param max_pending number of frames that may be pending at
  /// a time. @pre no frame is pending.
  virtual Status set_frames(Pictures pictures, const GstVideoInfo& info, unsigned max_pending) = 0;

  /// Gives a frame to the model. When this returns, a frame in CUDA memory with a stream may be
  /// written to in the order of that stream; any other after finish(), or when the pending frame is
  /// destroyed. The caller holds a reference until then.
  /// @param order when the frame is due, in nanoseconds of any clock that all elements share.
  /// @param crops the frame's pictures if they are of objects, 1 to Pictures::most; else empty.
  virtual Result<std::unique_ptr<PendingFrame>> begin(GstBuffer* frame, uint64_t order,
                                                      std::span<const Crop> crops) = 0;

  /// Ends the current run, if any, and makes later ones fail while `on`; other users of a shared
  /// model are not affected. From any thread. @pre set_model().
  virtual void interrupt(bool on) = 0;

  /// Waits until all started work is complete.
  virtual void drain() {}

  /// True if the model's launches are replayed from a graph.
  virtual bool graph() const { return false; }
  /// Returns why several pictures cannot run together; none if they can, or if it was not tried.
  virtual std::optional<Error> no_batch_reason() const = 0;
  /// Returns the counts of the model's batches, of all elements that share it. From any thread.
  virtual BatchCounts batch_counts() const = 0;
};

/// Makes an inferencer on the host, with any provider that takes tensors in system memory.
Result<std::unique_ptr<Inferencer>> make_host_inferencer(const SessionSpec& spec);

/// Makes an inferencer on a GPU. @param context of the device's primary context (see
/// primary_context()).
Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec& spec,
                                                         const CudaContext& context);

// Models that are shared by several elements of a process.

/// Keeps one object per spec while it is in use. Loading takes seconds, so concurrent callers wait
/// for the first load.
template <class Model>
class SharedModels {
 public:
  /// @param make a callable that returns Result<std::shared_ptr<Model>>.
  template <class Make>
  Result<std::shared_ptr<Model>> get(const SessionSpec& spec, Make make) {
    const std::shared_ptr<Entry> entry = entry_of(spec);
    const std::lock_guard guard(entry->lock);
    if (auto there = entry->model.lock()) return there;
    auto made = make();
    if (made) entry->model = *made;
    return made;
  }

 private:
  struct Entry {
    std::mutex lock;
    std::weak_ptr<Model> model;
  };

  std::shared_ptr<Entry> entry_of(const SessionSpec& spec) {
    const std::lock_guard guard(lock_);
    std::erase_if(entries_, [](const auto& each) {
      if (each.second.use_count() > 1) return false;
      const std::lock_guard last(each.second->lock);  // after the last user, which is gone
      return each.second->model.expired();
    });
    auto& entry = entries_[spec];
    if (!entry) entry = std::make_shared<Entry>();
    return entry;
  }

  std::mutex lock_;
  std::map<SessionSpec, std::shared_ptr<Entry>> entries_;
};

}  // namespace keepbox
