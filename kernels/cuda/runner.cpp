// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches kernels and waits for results.
#include "kernels/cuda/runner.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "core/formula/emit.h"
#include "core/plan/plan.h"

namespace keepbox::cuda {
namespace {

/// Number of oriented candidates from which one_launch() is faster: an overlap takes a thousand
/// cycles, and one_launch() has all multiprocessors, where the frame kernel has a few blocks.
constexpr uint32_t kOrientedOneLaunch = 256;
/// Cycles that a block waits for the others of its image; later, other work occupies the device.
constexpr long long kWaitCycles = 400'000;

/// While tensors take long, those of this many frames are polled for as usual, then those of the
/// others of kSlowCycle frames hardly.
constexpr uint32_t kPolledFrames = 2, kSlowCycle = 16;

bool has_arrived(Header& header, uint32_t sequence) {
  return std::atomic_ref(header.sequence).load(std::memory_order_acquire) == sequence;
}

}  // namespace

CudaRunner::~CudaRunner() {
  if (lost_) abandon();
  else if (stream_ != nullptr) cudaStreamSynchronize(stream_.get());
  if (pending_ && !lost_) cudaEventSynchronize(ended_.get());
}

/// Releases ownership of resources that were lost with their context.
void CudaRunner::abandon() {
  (void)stream_.release();
  (void)event_.release();
  (void)begun_.release();
  (void)ended_.release();
  (void)device_.release();
  (void)host_.release();
  staging_.abandon();
  payload_stage_.abandon();
}

Status CudaRunner::prepare(const Plan& plan, MemorySpace memory, Path path,
                           const Kernels& kernels) {
  kernels_ = &kernels;
  KB_ASSIGN(stream_, make_stream());
  on_ = stream_.get();
  for (Event* event : {&event_, &begun_, &ended_}) {
    KB_ASSIGN(*event, make_event());
  }
  KB_TRY(allocate(plan));
  if (memory == MemorySpace::kSystem) KB_TRY(staging_.allocate(plan));
  KB_TRY(upload_tables(plan, buffers_, stream_.get()));
  KB_TRY(upload_maps(plan, plan.layout.images));
  plan_ = device_plan(plan, buffers_);
  KB_TRY_CUDA(kernels.load(&nms_blocks_));
  if (path == Path::kMasked) nms_blocks_ = 0;
  path_ = path;
  kept_capacity_ = plan.rules.kept_capacity;
  args_ = {.control = buffers_.control.data(),
           .candidates = buffers_.candidates.all(),
           .bucketed = buffers_.bucketed.all(),
           .kept = buffers_.kept_of.all(),
           .headers = buffers_.headers.data(),
           .out = buffers_.output(),
           .out_stride = kept_capacity_,
           .decode_only = path == Path::kOneLaunch || path == Path::kLarge ||
                          path == Path::kMasked || !frame_kernel_supports(plan.rules),
           .max_wait_cycles = path == Path::kAlone ? 0 : kWaitCycles};
  const bool one_launch =
      path != Path::kLarge && path != Path::kMasked && supports_one_launch(plan_.rules);
  KB_ASSIGN(grid_, choose_grid(plan_, plan.layout.images));
  one_launch_blocks_ = one_launch ? grid_.processors : 0;
  args_.slices = grid_.slices;
  if (plan_.scan == Scan::kSegments || plan.payload.any()) {
    const auto segments = device_segments(plan, kFrameThreads / grid_.slices, segments_);
    segments_.list = buffers_.segments.data();
    KB_TRY(upload(buffers_.segments, segments, stream_.get()));
  }
  has_payload_ = plan.payload.any();
  if (has_payload_)
    KB_TRY(payload_stage_.prepare(plan,
                                  {.control = buffers_.control.data(),
                                   .headers = buffers_.headers.data(),
                                   .boxes = buffers_.output(),
                                   .stride = kept_capacity_},
                                  stream_.get()));
  data_.resize(plan.forms.size());
  funnels_.resize(plan.layout.images);
  return {};
}

Status CudaRunner::allocate(const Plan& plan) {
  Carver device(nullptr), host(nullptr);
  carve(device, host, plan);
  KB_ASSIGN(device_, allocate_device(device.used() + 1));
  KB_ASSIGN(host_, allocate_host(host.used() + 1));
  Carver device_memory(device_.get()), host_memory(host_.get());
  buffers_ = carve(device_memory, host_memory, plan);
  std::memset(host_.get(), 0, host.used());
  return {};
}

Status CudaRunner::retune(const Plan& plan) {
  if (std::exchange(pending_, false)) KB_TRY_CUDA(cudaEventSynchronize(ended_.get()));
  KB_TRY(upload_tables(plan, buffers_, stream_.get()));
  KB_TRY(upload_maps(plan, plan.layout.images));
  plan_ = device_plan(plan, buffers_);
  return {};
}

Status CudaRunner::run(const Plan& plan, std::span<const TensorView> tensors, const Stop&) {
  if (lost_)
    return reject(ErrorKind::kNoResource, "The CUDA context was lost to an earlier error",
                  "set backend=auto to continue without CUDA");
  KB_TRY(follow(stream_.get()));
  const Status status = run_frame(plan, tensors);
  if (status) return status;
  const cudaError_t error = cudaStreamQuery(stream_.get());
  lost_ = error != cudaSuccess && error != cudaErrorNotReady;
  return status;
}

/// Clears the counters of all images, unless the last run has left them clear: it clears those of
/// its own images for the next one.
Status CudaRunner::clear_counters(uint32_t images) {
  const bool clear = std::exchange(clean_, false) && images_ == images;
  images_ = images;
  if (clear) return {};
  return check(cudaMemsetAsync(buffers_.control.data(), 0, buffers_.control.size_bytes(), on_),
               "cudaMemsetAsync");
}

/// Makes a stream that of the next frame, after the last one.
Status CudaRunner::follow(cudaStream_t stream) {
  const bool other = std::exchange(on_, stream) != stream;
  if (!other || !pending_) return {};
  pending_ = stream != stream_.get();
  return check(cudaStreamWaitEvent(stream, ended_.get(), 0), "cudaStreamWaitEvent");
}

Status CudaRunner::check_enqueue(const Plan& plan) const {
  if (lost_)
    return reject(ErrorKind::kNoResource, "The CUDA context was lost to an earlier error",
                  "make another decoder");
  if (!supports_rest(plan.rules) || nms_blocks_ == 0)
    return reject(ErrorKind::kUnsupported,
                  "This nms-method and these limits need the host between launches",
                  "set nms-method=greedy, or call keepbox_decoder_run()");
  if (plan.rules.contract.drop_empty_masks && plan.payload.has(Moves::kAsMask))
    return reject(ErrorKind::kUnsupported,
                  "This contract drops boxes with an empty mask, which are only known to the host",
                  "set another nms-contract, or call keepbox_decoder_run()");
  return {};
}

Status CudaRunner::enqueue(const Plan& plan, std::span<const TensorView> tensors,
                           const DeviceOutput& output) {
  KB_TRY(check_enqueue(plan));
  KB_TRY(follow(static_cast<cudaStream_t>(output.stream)));
  KB_TRY(bind(plan, tensors));
  waits_for_tensors_ = false;
  const uint32_t images = plan.images_of(tensors);
  KB_TRY(clear_counters(images));
  KB_TRY(enqueue_frame(plan, images, output));
  pending_ = clean_ = true;
  return check(cudaEventRecord(ended_.get(), on_), "cudaEventRecord");
}

/// Launches the frame kernel, and what finishes the frame without the host.
Status CudaRunner::enqueue_frame(const Plan& plan, uint32_t images, const DeviceOutput& output) {
  plan_.letterbox = plan.letterbox;
  if (!has_maps_of(plan, images)) KB_TRY(set_maps(plan, images, on_));
  args_.sequence = ++sequence_;
  args_.tally_index = 1 - args_.tally_index;
  FrameArgs args = args_;
  args.headers = buffers_.device_headers.data();
  args.out = {output.boxes, nullptr};
  args.out_stride = output.capacity;
  args.limit = plan_.rules.pre_nms_top_k;
  args.followed = false;
  KB_TRY_CUDA(
      kernels_->frame(plan_, args, segments_, load_kind_, dim3(grid_.blocks.x, images), on_));
  const RestArgs rest{.first = {.control = buffers_.control.data(),
                                .candidates = args_.candidates,
                                .ordered = buffers_.ordered.all(),
                                .runs = buffers_.runs.data(),
                                .run_index = buffers_.run_index.data(),
                                .kept = buffers_.kept.all(),
                                .words = buffers_.words.data(),
                                .sequence = sequence_},
                      .headers = args.headers,
                      .boxes = output.boxes,
                      .counts = output.counts,
                      .funnels = output.funnels,
                      .stride = output.capacity,
                      .images = images};
  return check(kernels_->rest(plan_, rest, nms_blocks_, on_), "rest");
}

Status CudaRunner::run_frame(const Plan& plan, std::span<const TensorView> tensors) {
  waits_for_tensors_ = false;
  KB_TRY(bind(plan, tensors));
  if (waits_for_tensors_) KB_TRY_CUDA(cudaEventRecord(begun_.get(), stream_.get()));
  const uint32_t images = plan.images_of(tensors);
  KB_TRY(clear_counters(images));
  plan_.letterbox = plan.letterbox;
  if (!has_maps_of(plan, images)) KB_TRY(upload_maps(plan, images));
  args_.sequence = ++sequence_;
  args_.tally_index = 1 - args_.tally_index;
  args_.limit = plan_.rules.pre_nms_top_k;
  if (one_launch_blocks_ != 0 && plan_.rules.oriented)
    args_.limit = std::min(args_.limit, kOrientedOneLaunch);
  args_.followed = enqueues_ahead();
  const dim3 blocks(grid_.blocks.x, images);
  KB_TRY_CUDA(kernels_->frame(plan_, args_, segments_, load_kind_, blocks, stream_.get()));
  if (args_.followed) KB_TRY(enqueue_one_launch(0, expected_));
  if (has_payload_) KB_TRY(payload_stage_.begin(plan, plan_, segments_, images, stream_.get()));
  KB_TRY(wait(buffers_.headers.first(images)));
  return finish(plan, images);
}

/// Completes the images that the frame kernel left, and the payloads of all.
Status CudaRunner::finish(const Plan& plan, uint32_t images) {
  const Header& first = buffers_.headers[0];
  expected_ =
      first.state != State::kDone && fits_one_launch(first.candidates) ? first.candidates : 0;
  bool changed = false;  // boxes, by the host or on its behalf
  for (uint32_t image = 0; image < images; ++image) {
    const bool more = buffers_.headers[image].state == State::kMore;
    if (more) KB_TRY(run_large_nms(image));
    changed |= more || buffers_.headers[image].empty != 0;
    update_funnel(image);
  }
  clean_ = true;
  if (!has_payload_) return {};
  kept_.clear();
  for (uint32_t image = 0; image < images; ++image) kept_.push_back(detections(image));
  return payload_stage_.finish(plan, plan_, segments_, kept_, changed, stream_.get());
}

/// True if one_launch() is enqueued together with the frame kernel instead of after it: if the last
/// frame needed it.
bool CudaRunner::enqueues_ahead() const {
  const bool wanted = expected_ != 0 || path_ == Path::kOneLaunch;
  return wanted && one_launch_blocks_ != 0 && buffers_.headers.size() == 1;
}

DevicePlan CudaRunner::plan_of(uint32_t image) const {
  DevicePlan own = plan_;
  if (own.angles != nullptr) own.angles += size_t{image} * own.rules.anchors;
  if (own.maps != nullptr) own.maps += image;
  return own;
}

LargeArgs CudaRunner::large_args(uint32_t image) const {
  return {.control = &buffers_.control[image],
          .candidates = args_.candidates.from(size_t{image} * plan_.rules.candidates),
          .count = buffers_.headers[image].candidates,
          .ordered = buffers_.ordered.all(),
          .runs = buffers_.runs.data(),
          .run_index = buffers_.run_index.data(),
          .kept = buffers_.kept.all(),
          .words = buffers_.words.data(),
          .header = &buffers_.headers[image],
          .out = buffers_.output().from(size_t{image} * kept_capacity_),
          .sequence = sequence_};
}

Status CudaRunner::enqueue_one_launch(uint32_t image, uint32_t expected) {
  return check(kernels_->one_launch(plan_of(image), large_args(image), expected, one_launch_blocks_,
                                    stream_.get()),
               "one_launch");
}

Status CudaRunner::run_large_nms(uint32_t image) {
  Header& header = buffers_.headers[image];
  ++sequence_;
  if (one_launch_blocks_ != 0 && fits_one_launch(header.candidates)) {
    KB_TRY(enqueue_one_launch(image, header.candidates));
    return wait({&header, 1});
  }
  const DevicePlan own = plan_of(image);
  LargeArgs args = large_args(image);
  KB_TRY_CUDA(launch_select(own, args, stream_.get()));
  if (plan_.rules.pre_nms_class_top_k != 0) {
    KB_TRY(wait({&header, 1}));
    args.count = header.chosen;
    args.sequence = ++sequence_;
  }
  KB_TRY_CUDA(kernels_->nms(own, args, nms_blocks_, stream_.get()));
  return wait({&header, 1});
}

/// Waits until the tensors are ready or the frame is complete. Polls before it sleeps, for less
/// time if the tensors of the last frames took long.
template <class Arrived>
Status CudaRunner::wait_for_tensors(Arrived arrived) {
  const auto start = std::chrono::steady_clock::now();
  const bool polled = slow_tensors_ % kSlowCycle < kPolledFrames;
  if (!spin(polled ? kSpin : kCrowdedSpin, kSpin, arrived))
    KB_TRY_CUDA(cudaEventSynchronize(begun_.get()));
  const bool slow = std::chrono::steady_clock::now() - start > 2 * kSpin;
  slow_tensors_ = slow ? slow_tensors_ + 1 : 0;
  return {};
}

/// Spins because the end is near once the tensors are ready.
Status CudaRunner::wait(std::span<Header> headers) {
  const auto arrived = [&] {
    return std::ranges::all_of(headers, [&](Header& each) { return has_arrived(each, sequence_); });
  };
  if (std::exchange(waits_for_tensors_, false)) KB_TRY(wait_for_tensors(arrived));
  if (spin(kYield, kSpin, arrived)) return {};
  KB_TRY_CUDA(cudaEventRecord(event_.get(), stream_.get()));
  KB_TRY_CUDA(cudaEventSynchronize(event_.get()));
  if (arrived()) return {};
  return reject(ErrorKind::kNoResource, "The GPU finished a frame without returning its boxes",
                "set backend=auto to continue without CUDA, and report this as a bug");
}

/// Updates the counters; empty boxes outside of the frame or filtered out are included in `kept`.
void CudaRunner::update_funnel(uint32_t image) {
  Header& header = buffers_.headers[image];
  funnels_[image] = {.anchors = header.anchors,
                     .above_threshold = header.above_threshold,
                     .not_finite = header.not_finite,
                     .after_class_filter = header.candidates,
                     .after_top_k = plan_.rules.pre_nms_class_top_k != 0
                                        ? header.chosen
                                        : std::min(header.candidates, plan_.rules.pre_nms_top_k),
                     .kept = header.kept};
  if (header.empty == 0) return;
  const auto written = output_slots(image).first(header.kept);
  const auto filtered =
      std::ranges::count_if(written, [](const Detection& each) { return is_filtered(each.box); });
  funnels_[image].filtered_out = static_cast<uint32_t>(filtered);
  funnels_[image].clipped_away = header.empty - funnels_[image].filtered_out;
  std::ranges::remove_if(written, [](const Detection& each) { return is_empty(each.box); });
}

std::span<Detection> CudaRunner::output_slots(uint32_t image) const {
  return buffers_.out.subspan(size_t{image} * kept_capacity_, kept_capacity_);
}

std::span<const Detection> CudaRunner::detections(uint32_t image) const {
  const Funnel& funnel = funnels_[image];
  return output_slots(image).first(funnel.kept - funnel.clipped_away - funnel.filtered_out);
}

/// Uploads the maps of images that have their own, and waits.
Status CudaRunner::upload_maps(const Plan& plan, uint32_t images) {
  maps_.clear();
  for (uint32_t i = 0; plan.has_maps() && i < images; ++i) maps_.push_back(plan.letterbox_of(i));
  return upload(buffers_.maps, maps_, stream_.get());
}

/// Sets the maps of images that have their own in the order of a stream.
Status CudaRunner::set_maps(const Plan& plan, uint32_t images, cudaStream_t stream) {
  maps_.clear();
  for (uint32_t i = 0; i < images; ++i) maps_.push_back(plan.letterbox_of(i));
  for (uint32_t first = 0; first < images; first += kMapsAtOnce) {
    MapsArgs args{.maps = {}, .count = std::min(images - first, kMapsAtOnce)};
    std::copy_n(maps_.begin() + first, args.count, args.maps);
    KB_TRY_CUDA(launch_set_maps(args, buffers_.maps.data() + first, stream));
  }
  return {};
}

bool CudaRunner::has_maps_of(const Plan& plan, uint32_t images) const {
  if (!plan.has_maps()) return true;
  uint32_t same = 0;
  while (same < images && same < maps_.size() && maps_[same] == plan.letterbox_of(same)) ++same;
  return same == images;
}

Status CudaRunner::wait_for(const TensorView& tensor) {
  if (tensor.ready_event == awaited_[0] && tensor.ready_stream == awaited_[1]) return {};
  awaited_[0] = tensor.ready_event, awaited_[1] = tensor.ready_stream;
  void* event = tensor.ready_event;
  if (event == nullptr && tensor.ready_stream != nullptr && tensor.ready_stream != on_) {
    KB_TRY_CUDA(cudaEventRecord(event_.get(), static_cast<cudaStream_t>(tensor.ready_stream)));
    event = event_.get();
  }
  if (event == nullptr) return {};
  waits_for_tensors_ = true;
  return check(cudaStreamWaitEvent(on_, static_cast<cudaEvent_t>(event), 0), "cudaStreamWaitEvent");
}

Status CudaRunner::bind(const Plan& plan, std::span<const TensorView> tensors) {
  const uint32_t frames = plan.is_joint() ? plan.images_of(tensors) : 1;
  std::ranges::fill(awaited_, nullptr);
  for (uint32_t frame = 0; frame < frames; ++frame) {
    const auto own = plan.tensors_of(tensors, frame);
    KB_TRY(bind_frame(plan, own, frame));
    if (frame == 0 || own.front().space == MemorySpace::kSystem) continue;
    if (!are_adjacent(plan.tensors_of(tensors, frame - 1), own))
      return fail(ErrorKind::kMismatch, "tensors of frames one after the other in memory",
                  "others of frame " + std::to_string(frame));
  }
  load_kind_ = bind_fields(plan_, segments_, plan, plan.tensors_of(tensors, 0), data_);
  return {};
}

/// Makes a frame's tensors available to kernels. @param frame of a joint plan, or 0.
Status CudaRunner::bind_frame(const Plan& plan, std::span<const TensorView> tensors,
                              uint32_t frame) {
  const auto planned = [](const TensorForm& form, const TensorView& view) {
    return form.type == view.type && form.shape == view.shape;
  };
  if (!std::ranges::equal(plan.forms, tensors, planned))  // staging memory is for those
    return fail(ErrorKind::kMismatch, "tensors as planned", to_string(tensors));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const auto* data = static_cast<const std::byte*>(tensors[i].data);
    if (tensors[i].space == MemorySpace::kSystem) {
      KB_ASSIGN(data, staging_.upload(tensors[i], i, frame, on_));
    } else {
      KB_TRY(wait_for(tensors[i]));
    }
    if (frame == 0) data_[i] = data;
  }
  return {};
}

}  // namespace keepbox::cuda
