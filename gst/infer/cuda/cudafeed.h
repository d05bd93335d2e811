// SPDX-License-Identifier: LGPL-2.1-or-later
// Turns frames into a model's input in GPU memory, without waiting for either.
#pragma once

#include <gst/gst.h>
#include <gst/video/video.h>

#include <memory>
#include <span>
#include <vector>

#include "gst/infer/objects/pictures.h"
#include "gst/tensors/cudaobjects.h"

namespace keepbox {

/// Makes the inputs of one element's frames. Frames in CUDA memory are read in place, even in
/// another context of the device; others are uploaded. For one thread at a time.
class CudaFeed {
 public:
  /// @param home the context of the inputs. @param slots maximum number of frames in flight.
  CudaFeed(Pictures pictures, const GstVideoInfo& info, CudaContext home, size_t slots)
      : pictures_(std::move(pictures)), info_(info), home_(std::move(home)), slots_(slots) {}
  ~CudaFeed();

  /// Enqueues the conversion of pictures of a frame. Later work on the frame's own stream may write
  /// to the frame; a frame without a stream must not be written to before it was read. @param slot
  /// less than slots; the previous inputs of the slot must no longer be in use. @param first number
  /// of the first picture; calls for one frame begin with 0.
  /// @param crops all of the frame, if its pictures are of objects. @param inputs one per picture,
  /// in the home context.
  Status feed(GstBuffer* frame, size_t slot, size_t first, std::span<const Crop> crops,
              std::span<const CUdeviceptr> inputs);

  /// Returns the number of pictures of a frame with those crops.
  size_t pictures(std::span<const Crop> crops) const {
    return pictures_.crops ? crops.size() : pictures_.plans.size();
  }

  /// True if a slot's last frame may be read until ready(), and nothing orders later writers after
  /// that.
  bool holds_frame(size_t slot) const { return side_ && side_->events[slot].holds_frame; }
  /// Returns the context of frames, and of the events.
  const CudaContext& context() const { return side_->context; }

  /// Event after which the inputs of a slot are complete.
  CUevent ready(size_t slot) const { return side_->events[slot].ready.get(); }
  /// Returns the event with everything that the input's making needs, which may outlive the feed.
  std::shared_ptr<void> kept_ready(size_t slot) const {
    return std::shared_ptr<void>(side_, ready(slot));
  }
  /// Returns the time that a slot's last input took. @pre the input is complete.
  double microseconds(size_t slot) const;

 private:
  struct Events {
    CudaEvent begun, ready;
    bool used = false;
    bool holds_frame = false;  // no stream orders later writers of the frame after `ready`
  };
  /// Objects in the context of the frames.
  struct Side {
    CudaContext context;
    CudaStream stream;
    CudaEvent order;                                  // recorded after the frame's producer
    std::vector<std::unique_ptr<InputMaker>> makers;  // by plan
    std::unique_ptr<CropMaker> crop_maker;            // of objects
    std::vector<FramePlanes> planes;                  // of frames from the host, by slot
    std::vector<Events> events;                       // by slot
    std::vector<DeviceMemory> uploaded;               // planes of frames from the host, by slot
    std::vector<DeviceMemory>
        other_context;  // inputs outside of the home context, by slot and picture
    ~Side();
  };
  Result<std::unique_ptr<Side>> make_side(const CudaContext& context) const;
  /// The inputs of some pictures of a frame.
  struct Inputs {
    size_t slot, first;
    std::span<const Crop> crops;
    std::span<const CUdeviceptr> at;
  };
  Status from_device(GstBuffer* frame, const Inputs& inputs);
  Status from_host(GstBuffer* frame, const Inputs& inputs);
  Result<FramePlanes> upload(const GstVideoFrame& frame, size_t slot);
  Status make_all(const FramePlanes& planes, const Inputs& inputs);
  Status make(const FramePlanes& planes, const Inputs& inputs, size_t number);
  Status make_picture(const FramePlanes& planes, std::span<const Crop> crops, size_t picture,
                      CUdeviceptr target);

  Pictures pictures_;
  GstVideoInfo info_;
  CudaContext home_;
  size_t slots_;
  std::shared_ptr<Side> side_;
};

}  // namespace keepbox
