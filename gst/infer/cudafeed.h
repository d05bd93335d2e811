// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames to a model's input in a GPU's memory, without waiting for either.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>
#include <vector>

#include "core/input.h"
#include "gst/tensors/cudaobjects.h"

namespace keepbox {

/// Makes the inputs of one element's frames. Frames in CUDA memory are read where they are, also in
/// another context of the device; others are uploaded. For one thread at a time.
class CudaFeed {
 public:
  /// @param home the context of the inputs. @param slots how many inputs may be under way.
  CudaFeed(InputPlan plan, const GstVideoInfo& info, CudaContext home, size_t slots)
      : plan_(std::move(plan)), info_(info), home_(std::move(home)), slots_(slots) {}
  ~CudaFeed();

  /// Enqueues the making of a frame's input. The frame may be written to by whoever comes later on its
  /// stream. @param slot below slots, whose last input nobody reads any more.
  /// @param input plan.input.bytes() in the home context.
  Status feed(GstBuffer* frame, size_t slot, CUdeviceptr input);

  /// After it the input of a slot is there.
  CUevent ready(size_t slot) const { return side_->events[slot].ready.get(); }
  /// Time that a slot's last input took. @pre it is there.
  double microseconds(size_t slot) const;

 private:
  struct Events {
    CudaEvent begun, ready;
    bool used = false;
  };
  /// All that lives in the context that frames come in.
  struct Side {
    CudaContext context;
    CudaStream stream;
    CudaEvent order;  // behind the frame's producer
    std::unique_ptr<InputMaker> maker;
    std::vector<Events> events;          // by slot
    std::vector<DeviceMemory> uploaded;  // planes of frames from the host, by slot
    std::vector<DeviceMemory> abroad;    // inputs in another context than home's, by slot
    ~Side();
  };
  Result<std::unique_ptr<Side>> make_side(const CudaContext& context) const;
  Status from_device(GstBuffer* frame, size_t slot, CUdeviceptr input);
  Status from_host(GstBuffer* frame, size_t slot, CUdeviceptr input);
  Result<FramePlanes> upload(const GstVideoFrame& frame, size_t slot);
  Status make(const FramePlanes& planes, size_t slot, CUdeviceptr input);

  InputPlan plan_;
  GstVideoInfo info_;
  CudaContext home_;
  size_t slots_;
  std::unique_ptr<Side> side_;
};

}  // namespace keepbox
