// SPDX-License-Identifier: LGPL-2.1-or-later
// Launches and waits.
#include "kernels/cuda/runner.h"

#include <algorithm>
#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>
#include <thread>

namespace keepbox::cuda {
namespace {

constexpr uint32_t kWarp = 32;

/// As long as most frames take: spinning sees the end some microseconds before a blocking wait
/// does.
constexpr std::chrono::microseconds kSpin{50};
/// As long as another thread may have the processor in the meantime.
constexpr std::chrono::microseconds kYield{200};

/// Does the frame kernel suppress by this method itself?
bool in_tail(NmsMethod method) {
  return method == NmsMethod::kGreedy || method == NmsMethod::kNone;
}

bool has_arrived(Header& header, uint32_t sequence) {
  return std::atomic_ref(header.sequence).load(std::memory_order_acquire) == sequence;
}

}  // namespace

CudaRunner::~CudaRunner() {
  if (stream_ != nullptr) cudaStreamSynchronize(stream_.get());
}

Status CudaRunner::prepare(const Plan& plan, MemorySpace memory, Path path) {
  auto stream = make_stream();
  if (!stream) return std::unexpected(stream.error());
  auto event = make_event();
  if (!event) return std::unexpected(event.error());
  stream_ = std::move(*stream);
  event_ = std::move(*event);
  KB_TRY(allocate(plan));
  if (memory == MemorySpace::kSystem) KB_TRY(allocate_staging(plan));
  KB_TRY(upload_tables(plan));
  plan_ = device_plan(plan, buffers_);
  KB_TRY_CUDA(shape_frame(plan_.class_ids, &shape_));
  KB_TRY_CUDA(load_slow_path());
  KB_TRY_CUDA(nms_blocks(&nms_blocks_));
  if (nms_blocks_ == 0)
    return fail(ErrorKind::kNoResource, "a device for kernels of 1,024 threads with grid barriers",
                "one without", "set backend=auto");
  kept_capacity_ = plan.rules.kept_capacity;
  args_ = {.control = buffers_.control.data(),
           .candidates = {buffers_.keys.data(), buffers_.boxes.data()},
           .headers = buffers_.headers.data(),
           .out = reinterpret_cast<uint64_t*>(buffers_.out.data()),
           .out_stride = kept_capacity_,
           .tail_capacity = path == Path::kAny && in_tail(plan.rules.method) ? shape_.tail_capacity : 0};
  KB_TRY(choose_grid());
  data_.resize(plan.forms.size());
  funnels_.resize(plan.layout.images);
  of_class_.resize(plan.rules.contract.per_class_limit ? kMaxClasses : 0);
  return {};
}

Status CudaRunner::allocate(const Plan& plan) {
  Carver device(nullptr), host(nullptr);
  carve(device, host, plan);
  auto on_device = allocate_device(device.used() + 1);
  if (!on_device) return std::unexpected(on_device.error());
  auto on_host = allocate_host(host.used() + 1);
  if (!on_host) return std::unexpected(on_host.error());
  device_ = std::move(*on_device);
  host_ = std::move(*on_host);
  Carver device_memory(device_.get()), host_memory(host_.get());
  buffers_ = carve(device_memory, host_memory, plan);
  std::memset(host_.get(), 0, host.used());
  return {};
}

Status CudaRunner::allocate_staging(const Plan& plan) {
  size_t bytes = 0;
  for (const TensorForm& form : plan.forms) {
    const auto count = form.shape.count();
    if (!count) return std::unexpected(count.error());
    staging_at_.push_back(bytes);
    bytes += (*count * size_of(form.type) + Carver::kAlignment - 1) / Carver::kAlignment *
             Carver::kAlignment;
  }
  auto on_device = allocate_device(bytes + 1);
  if (!on_device) return std::unexpected(on_device.error());
  auto on_host = allocate_host(bytes + 1);
  if (!on_host) return std::unexpected(on_host.error());
  staging_device_ = std::move(*on_device);
  staging_host_ = std::move(*on_host);
  return {};
}

Status CudaRunner::upload_tables(const Plan& plan) {
  const auto upload = [&](auto to, const auto& from) {
    return check(cudaMemcpyAsync(to.data(), from.data(), to.size_bytes(), cudaMemcpyHostToDevice,
                                 stream_.get()),
                 "cudaMemcpyAsync");
  };
  KB_TRY(upload(buffers_.class_threshold, plan.class_threshold));
  KB_TRY(upload(buffers_.class_wanted, plan.class_wanted));
  KB_TRY(upload(buffers_.priors, plan.priors));
  return check(cudaStreamSynchronize(stream_.get()), "cudaStreamSynchronize");
}

Status CudaRunner::retune(const Plan& plan) {
  KB_TRY(upload_tables(plan));
  plan_ = device_plan(plan, buffers_);
  return {};
}

/// One block a multiprocessor over all images, and no more than have work to do.
Status CudaRunner::choose_grid() {
  int device = 0, processors = 0;
  KB_TRY_CUDA(cudaGetDevice(&device));
  KB_TRY_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device));
  const auto images = static_cast<uint32_t>(buffers_.headers.size());
  uint32_t most = plan_.anchors;  // blocks that have work
  if (plan_.scan == Scan::kReady) most = (plan_.anchors + kFrameThreads - 1) / kFrameThreads;
  if (plan_.scan == Scan::kPlanes) most = (plan_.anchors + kWarp - 1) / kWarp;
  const auto share = static_cast<uint32_t>(processors) / images;
  grid_ = dim3(std::clamp(share, 1u, std::max(most, 1u)), images);
  // As many warps share the classes of an anchor as leave no block a second round.
  const uint32_t spare = grid_.x * kFrameThreads / std::max(1u, plan_.anchors);
  args_.slices = std::bit_floor(std::clamp(spare, 1u, kFrameThreads / kWarp));
  return {};
}

Status CudaRunner::wait_for(const TensorView& tensor) {
  void* event = tensor.ready_event;
  if (event == nullptr && tensor.ready_stream != nullptr && tensor.ready_stream != stream_.get()) {
    KB_TRY_CUDA(cudaEventRecord(event_.get(), static_cast<cudaStream_t>(tensor.ready_stream)));
    event = event_.get();
  }
  if (event == nullptr) return {};
  return check(cudaStreamWaitEvent(stream_.get(), static_cast<cudaEvent_t>(event), 0),
               "cudaStreamWaitEvent");
}

Status CudaRunner::stage(const TensorView& tensor, size_t index) {
  if (staging_host_ == nullptr)
    return fail(ErrorKind::kUnsupported, "tensors in CUDA memory", "tensors in system memory",
                "set backend=auto");
  std::byte* const to = staging_device_.get() + staging_at_[index];
  std::byte* const pinned = staging_host_.get() + staging_at_[index];
  const size_t bytes = *tensor.shape.count() * size_of(tensor.type);
  if (bytes != 0) std::memcpy(pinned, tensor.data, bytes);
  data_[index] = to;
  return check(cudaMemcpyAsync(to, pinned, bytes, cudaMemcpyHostToDevice, stream_.get()),
               "cudaMemcpyAsync");
}

Status CudaRunner::bind(const Plan& plan, std::span<const TensorView> tensors) {
  const auto planned = [](const TensorForm& form, const TensorView& view) {
    return form.type == view.type && form.shape == view.shape;
  };
  if (!std::ranges::equal(plan.forms, tensors, planned))  // the staging memory is made for those
    return fail(ErrorKind::kMismatch, "the tensors that the plan was made for", to_string(tensors));
  for (size_t i = 0; i < tensors.size(); ++i) {
    data_[i] = static_cast<const std::byte*>(tensors[i].data);
    if (tensors[i].space == MemorySpace::kSystem)
      KB_TRY(stage(tensors[i], i));
    else
      KB_TRY(wait_for(tensors[i]));
  }
  numbers_ = bind_fields(plan_, plan.layout, tensors, data_);
  return {};
}

Status CudaRunner::run(const Plan& plan, std::span<const TensorView> tensors) {
  KB_TRY(bind(plan, tensors));
  if (!clean_)
    KB_TRY_CUDA(
        cudaMemsetAsync(buffers_.control.data(), 0, buffers_.control.size_bytes(), stream_.get()));
  clean_ = false;
  args_.sequence = ++sequence_;
  KB_TRY_CUDA(launch_frame(plan_, args_, numbers_, grid_, shape_, stream_.get()));
  KB_TRY(wait(buffers_.headers));
  for (uint32_t image = 0; image < funnels_.size(); ++image) {
    if (buffers_.headers[image].state == State::kMore) KB_TRY(run_slowly(image));
    take_counts(plan, image);
  }
  clean_ = true;
  return {};
}

Status CudaRunner::run_slowly(uint32_t image) {
  Header& header = buffers_.headers[image];
  const size_t first = size_t{image} * plan_.anchors;
  const SlowArgs args{
      .candidates = {args_.candidates.keys + first, args_.candidates.boxes + first},
      .count = header.candidates,
      .ordered = {buffers_.ordered_keys.data(), buffers_.ordered_boxes.data()},
      .runs = buffers_.runs.data(),
      .run_index = buffers_.run_index.data(),
      .kept = {buffers_.kept_keys.data(), buffers_.kept_boxes.data()},
      .words = buffers_.words.data(),
      .header = &header,
      .out = reinterpret_cast<uint64_t*>(buffers_.out.data() + size_t{image} * kept_capacity_),
      .sequence = ++sequence_};
  KB_TRY_CUDA(launch_select(plan_, args, stream_.get()));
  KB_TRY_CUDA(launch_nms(plan_, args, nms_blocks_, stream_.get()));
  return wait({&header, 1});
}

Status CudaRunner::wait(std::span<Header> headers) {
  const auto arrived = [&] {
    return std::ranges::all_of(headers, [&](Header& each) { return has_arrived(each, sequence_); });
  };
  const auto start = std::chrono::steady_clock::now();
  for (auto spent = kSpin - kSpin; spent < kYield;
       spent = std::chrono::duration_cast<std::chrono::microseconds>(
           std::chrono::steady_clock::now() - start)) {
    if (spent > kSpin) std::this_thread::yield();
    for (int i = 0; i < 64; ++i)
      if (arrived()) return {};
  }
  KB_TRY_CUDA(cudaStreamSynchronize(stream_.get()));
  if (arrived()) return {};
  return fail(ErrorKind::kNoResource, "boxes from the device", "none", "report this as a bug");
}

/// In the slow path all boxes are kept that are not suppressed; a limit for each class on its own
/// can be applied afterwards, for those beyond it suppress only each other.
void CudaRunner::trim_classes(const Plan& plan, uint32_t image) {
  Header& header = buffers_.headers[image];
  Candidate* const out = buffers_.out.data() + size_t{image} * kept_capacity_;
  std::ranges::fill(of_class_, 0u);
  uint32_t count = 0;
  for (uint32_t i = 0; i < header.kept; ++i)
    if (of_class_[key_class(out[i].key)]++ < plan.rules.max_detections) out[count++] = out[i];
  header.kept = count;
}

void CudaRunner::take_counts(const Plan& plan, uint32_t image) {
  if (plan.rules.contract.per_class_limit) trim_classes(plan, image);
  const Header& header = buffers_.headers[image];
  funnels_[image] = {.anchors = header.anchors,
                     .above_threshold = header.above_threshold,
                     .not_finite = header.not_finite,
                     .after_class_filter = header.candidates,
                     .after_top_k = std::min(header.candidates, plan.rules.pre_nms_top_k),
                     .kept = header.kept};
}

std::span<const Candidate> CudaRunner::kept(uint32_t image) const {
  return buffers_.out.subspan(size_t{image} * kept_capacity_, kept_capacity_)
      .first(buffers_.headers[image].kept);
}

}  // namespace keepbox::cuda
