// SPDX-License-Identifier: LGPL-2.1-or-later
// Orders the making of inputs between the frame's stream and the model's.
#include "gst/infer/cuda/cudafeed.h"

#include <algorithm>

#include "core/run/backend.h"
#include "gst/infer/cuda/pinnedpool.h"
#include "gst/infer/frameform.h"
#include "gst/tensors/gstcuda.h"

namespace keepbox {
namespace {

CUcontext handle_of(const CudaContext& context) {
  return static_cast<CUcontext>(
      gst_cuda().context_get_handle(reinterpret_cast<GstCudaContext*>(context.get())));
}

CUstream stream_of(GstBuffer* frame) {
  GstCudaStream* stream =
      gst_cuda().memory_get_stream(GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(frame, 0)));
  return stream != nullptr ? gst_cuda().stream_get_handle(stream) : nullptr;
}

Result<const Backend*> device_backend() {
  for (const Backend& backend : backends())
    if (backend.memory == MemorySpace::kCuda && backend.input_maker != nullptr) return &backend;
  return reject(ErrorKind::kNoResource, "This build of keepbox has no CUDA",
                "set provider=cpu, or build with ./dev build --cuda");
}

/// Returns the bytes of a plane up to its last sample. With an odd width, rows of Y U Y V are
/// longer than their number of Ys suggests.
size_t bytes_of(const GstVideoFrame& frame, guint plane) {
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(frame.info.finfo, plane, components);
  const auto rows = static_cast<size_t>(GST_VIDEO_FRAME_COMP_HEIGHT(&frame, components[0]));
  size_t row = 0;
  for (const gint each : components) {
    if (each < 0) break;
    const auto last = static_cast<size_t>(GST_VIDEO_FRAME_COMP_WIDTH(&frame, each) - 1);
    row = std::max(row, GST_VIDEO_FRAME_COMP_POFFSET(&frame, each) +
                            last * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, each) + 1);
  }
  return (rows - 1) * static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane)) + row;
}

constexpr size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

CudaFeed::Side::~Side() {
  const CudaScope scope(context);
  if (scope.status() && stream.get() != nullptr) cuda_driver().stream_synchronize(stream.get());
  makers.clear();
  crop_maker.reset();
}

CudaFeed::~CudaFeed() = default;

Result<std::unique_ptr<CudaFeed::Side>> CudaFeed::make_side(const CudaContext& context) const {
  auto side = std::make_unique<Side>();
  side->context = context;
  const CudaScope scope(context);
  KB_TRY(scope.status());
  // Inputs are short, and are needed before the current run ends.
  KB_ASSIGN(side->stream, make_stream(context, StreamPriority::kHigh));
  KB_ASSIGN(side->order, make_event(context, EventUse::kOrder));
  KB_ASSIGN(const auto backend, device_backend());
  for (const PicturePlan& each : pictures_.plans) {
    KB_ASSIGN(auto maker, backend->input_maker(each.plan));
    side->makers.push_back(std::move(maker));
  }
  if (pictures_.crops) {
    KB_ASSIGN(side->crop_maker, backend->crop_maker(*pictures_.crops));
  }
  for (size_t i = 0; i < slots_; ++i) {
    KB_ASSIGN(auto begun, make_event(context, EventUse::kTime));
    KB_ASSIGN(auto ready, make_event(context, EventUse::kWaiting));
    side->events.push_back({std::move(begun), std::move(ready)});
  }
  side->uploaded.resize(slots_);
  side->planes.resize(slots_);
  side->other_context.resize(slots_ * pictures_.max_pictures);
  return side;
}

Status CudaFeed::feed(GstBuffer* frame, size_t slot, size_t first, std::span<const Crop> crops,
                      std::span<const CUdeviceptr> inputs) {
  const CudaContext of_frame = CudaContext::of(frame);
  const CudaContext& context = of_frame ? of_frame : home_;
  if (!side_ || side_->context != context) {
    KB_ASSIGN(auto side, make_side(context));
    side_ = std::move(side);
  }
  const CudaScope scope(context);
  KB_TRY(scope.status());
  const Inputs wanted{slot, first, crops, inputs};
  const Status fed = of_frame ? from_device(frame, wanted) : from_host(frame, wanted);
  // The frame leaves, and what was enqueued before the error may read it.
  if (!fed) cuda_driver().stream_synchronize(side_->stream.get());
  return fed;
}

Status CudaFeed::from_device(GstBuffer* buffer, const Inputs& inputs) {
  const CudaDriver& cuda = cuda_driver();
  const CUstream producer = stream_of(buffer);
  MappedFrame frame;
  KB_TRY(frame.map(buffer, info_, kReadCuda));
  if (producer != nullptr) {
    KB_TRY(cuda_status(cuda.event_record(side_->order.get(), producer), "ordering streams"));
    KB_TRY(cuda_status(cuda.stream_wait(side_->stream.get(), side_->order.get(), 0),
                       "ordering streams"));
  }
  KB_TRY(make_all(planes_of(frame.get()), inputs));
  Events& events = side_->events[inputs.slot];
  events.holds_frame = producer == nullptr;
  if (events.holds_frame) return {};
  return cuda_status(cuda.stream_wait(producer, events.ready.get(), 0), "ordering streams");
}

/// Uploads a frame once for all of its pictures.
Status CudaFeed::from_host(GstBuffer* buffer, const Inputs& inputs) {
  if (inputs.first == 0) {
    MappedFrame frame;
    KB_TRY(frame.map(buffer, info_, GST_MAP_READ));
    KB_ASSIGN(side_->planes[inputs.slot], upload(frame.get(), inputs.slot));
  }
  return make_all(side_->planes[inputs.slot], inputs);
}

/// Uploads a frame. A copy from page-locked memory goes on when this returns; others have read it.
Result<FramePlanes> CudaFeed::upload(const GstVideoFrame& frame, size_t slot) {
  FramePlanes planes = planes_of(frame);
  size_t total = 0;
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) total += aligned(bytes_of(frame, i));
  DeviceMemory& memory = side_->uploaded[slot];
  if (memory.bytes() < total) {
    KB_ASSIGN(auto made, allocate(side_->context, total));
    memory = std::move(made);
  }
  size_t at = 0;
  bool& pinned = side_->events[slot].holds_frame;
  pinned = false;
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) {
    const size_t bytes = bytes_of(frame, i);
    pinned = pinned || is_pinned(planes.data[i]);
    KB_TRY(cuda_status(
        cuda_driver().copy_in(memory.get() + at, planes.data[i], bytes, side_->stream.get()),
        "uploading a frame"));
    planes.data[i] = reinterpret_cast<const uint8_t*>(memory.get() + at);
    at += aligned(bytes);
  }
  return planes;
}

Status CudaFeed::make_all(const FramePlanes& planes, const Inputs& inputs) {
  const CudaDriver& cuda = cuda_driver();
  const CUstream stream = side_->stream.get();
  Events& events = side_->events[inputs.slot];
  if (inputs.first == 0)
    KB_TRY(cuda_status(cuda.event_record(events.begun.get(), stream), "recording an event"));
  for (size_t i = 0; i < inputs.at.size(); ++i) KB_TRY(make(planes, inputs, i));
  events.used = true;
  return cuda_status(cuda.event_record(events.ready.get(), stream), "recording an event");
}

Status CudaFeed::make_picture(const FramePlanes& planes, std::span<const Crop> crops,
                              size_t picture, CUdeviceptr target) {
  auto* const input = reinterpret_cast<void*>(target);
  const CUstream stream = side_->stream.get();
  if (pictures_.crops) return side_->crop_maker->make(planes, crops[picture], input, stream);
  const auto& [plan, area] = pictures_.plans[picture];
  return side_->makers[picture]->make(planes_at(planes, plan.frame, area.x, area.y), input, stream);
}

/// Makes the input of a picture of `inputs`, by way of memory in the frame's context if that is not
/// the home context.
Status CudaFeed::make(const FramePlanes& planes, const Inputs& inputs, size_t number) {
  const size_t picture = inputs.first + number;
  const CUdeviceptr input = inputs.at[number];
  if (side_->context == home_) return make_picture(planes, inputs.crops, picture, input);
  const size_t bytes =
      (pictures_.crops ? pictures_.crops->input : pictures_.plans[picture].plan.input).bytes();
  DeviceMemory& other_context =
      side_->other_context[inputs.slot * pictures_.max_pictures + picture];
  if (other_context.get() == 0) {
    KB_ASSIGN(other_context, allocate(side_->context, bytes));
  }
  KB_TRY(make_picture(planes, inputs.crops, picture, other_context.get()));
  return cuda_status(
      cuda_driver().copy_across(input, handle_of(home_), other_context.get(),
                                handle_of(side_->context), bytes, side_->stream.get()),
      "copying an input to the model's context");
}

double CudaFeed::microseconds(size_t slot) const {
  float milliseconds = 0;
  if (!side_ || !side_->events[slot].used) return 0;
  const CudaScope scope(side_->context);
  const Events& events = side_->events[slot];
  const CUresult result =
      cuda_driver().event_elapsed(&milliseconds, events.begun.get(), events.ready.get());
  return result == CUDA_SUCCESS ? milliseconds * 1e3 : 0;
}

}  // namespace keepbox
