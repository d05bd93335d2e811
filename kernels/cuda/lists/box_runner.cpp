// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppresses boxes that come from no tensors, on the caller's stream.
#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <format>
#include <memory>
#include <new>
#include <span>
#include <utility>

#include "core/plan/limits.h"
#include "kernels/cuda/backend.h"
#include "kernels/cuda/device/launches.h"
#include "kernels/cuda/host/buffers.h"
#include "kernels/cuda/host/memory.h"
#include "kernels/cuda/lists/lists.h"

namespace keepbox::cuda {
namespace {

/// Makes a device the current one, until its end.
class OnDevice {
 public:
  explicit OnDevice(int device) {
    if (cudaGetDevice(&before_) != cudaSuccess) before_ = device;
    if (device != before_) cudaSetDevice(device);
    else before_ = kUnchanged;
  }
  ~OnDevice() {
    if (before_ != kUnchanged) cudaSetDevice(before_);
  }
  OnDevice(const OnDevice&) = delete;

 private:
  static constexpr int kUnchanged = -1;
  int before_ = kUnchanged;
};

/// Numbers that memory is allocated for.
struct Room {
  uint32_t boxes = 0, largest = 0, problems = 0;  // of all problems, of one, number of problems

  bool holds(const Room& other) const {
    return other.boxes <= boxes && other.largest <= largest && other.problems <= problems;
  }
  /// Returns room for both, in powers of two.
  Room grown(const Room& other) const {
    const auto grow = [](uint32_t own, uint32_t wanted) {
      return wanted <= own
                 ? own
                 : static_cast<uint32_t>(std::min(std::bit_ceil(uint64_t{wanted}), uint64_t{~0u}));
    };
    return {grow(boxes, other.boxes), grow(largest, other.largest), grow(problems, other.problems)};
  }
};

/// Memory of all problems, and of the one that is suppressed.
struct ListBuffers {
  // Device memory:
  std::span<Control> control;
  std::span<Header> headers;
  std::span<ListCounters> counters;
  BoxSpans candidates;
  std::span<float> angles;
  std::span<Detection> out;
  std::span<uint64_t> runs;
  std::span<uint32_t> run_index;
  BoxSpans ordered, kept;
  std::span<uint32_t> words;
  // Host memory:
  std::span<ListResults> results;
  std::span<uint32_t> counts;
};

/// @param plan for the largest problem.
ListBuffers carve(Carver& device, Carver& host, const Plan& plan, const Room& room) {
  const size_t in_runs = (size_t{room.largest} + kRun - 1) / kRun * kRun;
  const auto boxes = [&](size_t count) {
    return BoxSpans{device.take<uint64_t>(count), device.take<float4>(count)};
  };
  ListBuffers out;
  out.control = device.take<Control>(room.problems);
  out.headers = device.take<Header>(room.problems);
  out.counters = device.take<ListCounters>(room.problems);
  out.candidates = boxes(room.boxes);
  out.angles = device.take<float>(plan.rules.oriented ? room.boxes : 0);
  out.out = device.take<Detection>(room.boxes);
  out.runs = device.take<uint64_t>(in_runs);
  out.run_index = device.take<uint32_t>(in_runs);
  out.ordered = boxes(room.largest);
  out.kept = boxes(room.largest);
  out.words = device.take<uint32_t>(large_words(plan.rules.method, plan.rules.pre_nms_top_k));
  out.results = host.take<ListResults>(1);
  out.counts = host.take<uint32_t>(room.problems);
  return out;
}

/// Memory for boxes of the host.
class ListStaging {
 public:
  /// Starts the copy of problems in host memory to the device. @return them there.
  Result<BoxProblems> upload(const BoxProblems& from, bool oriented, cudaStream_t stream) {
    const size_t values = BoxList::values_of(oriented);
    const auto carve = [&](Carver carver) {
      boxes_ = carver.take<float>(values * from.boxes);
      scores_ = carver.take<float>(from.boxes);
      classes_ = carver.take<int64_t>(from.list.classes != nullptr ? from.boxes : 0);
      indices_ = carver.take<int64_t>(from.boxes);
      return carver.used();
    };
    const size_t bytes = carve(Carver(nullptr));
    if (bytes > bytes_) {
      bytes_ = 0;
      KB_ASSIGN(device_, allocate_device(bytes));
      bytes_ = bytes;
    }
    carve(Carver(device_.get()));
    const auto copy = [&](auto to, const auto* data) -> Status {
      if (to.empty()) return {};
      return check(
          cudaMemcpyAsync(to.data(), data, to.size_bytes(), cudaMemcpyHostToDevice, stream),
          "cudaMemcpyAsync");
    };
    KB_TRY(copy(boxes_, from.list.boxes));
    KB_TRY(copy(scores_, from.list.scores));
    KB_TRY(copy(classes_, from.list.classes));
    BoxProblems out = from;
    out.memory = MemorySpace::kCuda;
    out.stream = stream;
    out.list = {boxes_.data(), scores_.data(), classes_.empty() ? nullptr : classes_.data()};
    out.indices = indices_.data();
    return out;
  }

  /// Copies the kept indices to the host. @pre the counts are on the host.
  Status download(const BoxProblems& to, cudaStream_t stream) const {
    for (uint32_t i = 0; i < to.problems(); ++i)
      if (to.counts[i] != 0)
        KB_TRY_CUDA(cudaMemcpyAsync(to.indices + to.begin(i), indices_.data() + to.begin(i),
                                    to.counts[i] * sizeof(int64_t), cudaMemcpyDeviceToHost,
                                    stream));
    return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
  }

 private:
  DeviceBlob device_;
  size_t bytes_ = 0;
  std::span<float> boxes_, scores_;
  std::span<int64_t> classes_, indices_;
};

/// Enqueues everything on the caller's stream. Its memory is used by one call at a time: a call
/// waits on its stream for an event after the one before.
class CudaBoxRunner final : public BoxRunner {
 public:
  CudaBoxRunner(const Settings& settings, Plan plan, int device)
      : settings_(settings), plan_(std::move(plan)), device_(device) {}
  ~CudaBoxRunner() override;

  Status run(const BoxProblems& problems) override;

 private:
  Status choose_device(const BoxProblems& problems);
  Status prepare();
  Status run_here(const BoxProblems& problems);
  Result<Room> room_for(const BoxProblems& problems);
  Status grow(const Room& wanted, cudaStream_t stream);
  Status enqueue(const BoxProblems& problems);
  Status enqueue(const BoxProblems& problems, uint32_t first, const ListArgs& args);
  ListArgs list_args(const BoxProblems& problems, uint32_t first, uint32_t count);
  Status suppress(const BoxProblems& problems, uint32_t problem);
  Status finish(const BoxProblems& problems);

  Settings settings_;
  Plan plan_;
  int device_;
  const Kernels* kernels_ = nullptr;  // null until they are loaded
  uint32_t nms_blocks_ = 0, processors_ = 0;
  Event event_;
  DeviceBlob memory_;
  HostBlob host_;
  Room room_;
  ListBuffers buffers_;
  bool clean_ = false;  // control blocks, headers and counters are 0
  uint32_t sequence_ = 0;
  Stream staging_stream_;
  ListStaging staging_;
};

CudaBoxRunner::~CudaBoxRunner() {
  if (kernels_ == nullptr) return;
  const OnDevice current(device_);
  cudaEventSynchronize(event_.get());
  event_.reset();
  memory_.reset();
  host_.reset();
  staging_stream_.reset();
  staging_ = {};
}

/// Chooses the device that has the boxes, unless one is set.
Status CudaBoxRunner::choose_device(const BoxProblems& problems) {
  if (device_ >= 0) return {};
  if (problems.memory == MemorySpace::kSystem) {
    KB_TRY_CUDA(cudaGetDevice(&device_));
    return {};
  }
  const void* const data =
      problems.boxes != 0 ? static_cast<const void*>(problems.list.boxes) : problems.counts;
  cudaPointerAttributes found{};
  KB_TRY_CUDA(cudaPointerGetAttributes(&found, data));
  if (found.type == cudaMemoryTypeUnregistered)
    return reject(ErrorKind::kInvalid, "The boxes are not in CUDA memory",
                  "pass a device pointer, or state that the memory is the host's");
  device_ = found.device;
  return {};
}

Status CudaBoxRunner::prepare() {
  if (kernels_ != nullptr) return {};
  KB_ASSIGN(event_, make_event());
  int processors = 0;
  KB_TRY_CUDA(cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device_));
  processors_ = static_cast<uint32_t>(processors);
  const Kernels& kernels = kernels_for(plan_.rules);
  KB_TRY_CUDA(kernels.load(&nms_blocks_));
  kernels_ = &kernels;
  return {};
}

Status CudaBoxRunner::run(const BoxProblems& problems) {
  if (problems.problems() == 0) return {};
  if (problems.boxes == 0 && problems.counts_memory == MemorySpace::kSystem) {
    std::fill_n(problems.counts, problems.problems(), 0);
    return {};
  }
  KB_TRY(choose_device(problems));
  const OnDevice current(device_);
  KB_TRY(prepare());
  if (problems.memory == MemorySpace::kCuda) return run_here(problems);
  if (staging_stream_ == nullptr) {
    KB_ASSIGN(staging_stream_, make_stream());
  }
  cudaStream_t const stream = staging_stream_.get();
  KB_ASSIGN(const auto uploaded, staging_.upload(problems, plan_.rules.oriented, stream));
  KB_TRY(run_here(uploaded));
  return staging_.download(problems, stream);
}

/// Returns the memory that problems need, or an error if they are too large.
Result<Room> CudaBoxRunner::room_for(const BoxProblems& problems) {
  Room out{.boxes = problems.boxes, .problems = problems.problems()};
  for (uint32_t i = 0; i < problems.problems(); ++i)
    out.largest = std::max(out.largest, problems.size(i));
  fit_to(plan_, settings_, out.largest);
  KB_TRY(check_ceiling(plan_, out.largest));
  KB_TRY(check_pairs(plan_.rules));
  return out;
}

Status CudaBoxRunner::grow(const Room& wanted, cudaStream_t stream) {
  if (!room_.holds(wanted)) {
    const Room room = room_.grown(wanted);
    KB_TRY_CUDA(cudaEventSynchronize(event_.get()));
    room_ = {};
    memory_.reset();
    host_.reset();
    clean_ = false;
    fit_to(plan_, settings_, room.largest);
    Carver device(nullptr), host(nullptr);
    carve(device, host, plan_, room);
    KB_ASSIGN(memory_, allocate_device(device.used() + 1));
    KB_ASSIGN(host_, allocate_host(host.used() + 1));
    std::memset(host_.get(), 0, host.used());
    Carver device_memory(memory_.get()), host_memory(host_.get());
    buffers_ = carve(device_memory, host_memory, plan_, room);
    room_ = room;
  }
  if (std::exchange(clean_, false)) return {};
  const auto clear = [&](auto span) {
    return check(cudaMemsetAsync(span.data(), 0, span.size_bytes(), stream), "cudaMemsetAsync");
  };
  KB_TRY(clear(buffers_.control));
  KB_TRY(clear(buffers_.headers));
  return clear(buffers_.counters);
}

Status CudaBoxRunner::run_here(const BoxProblems& problems) {
  const auto stream = static_cast<cudaStream_t>(problems.stream);
  KB_ASSIGN(const auto room, room_for(problems));
  KB_TRY_CUDA(cudaStreamWaitEvent(stream, event_.get(), 0));
  KB_TRY(grow(room, stream));
  const Status enqueued = enqueue(problems);
  KB_TRY_CUDA(cudaEventRecord(event_.get(), stream));  // after an error too: something may run
  KB_TRY(enqueued);
  clean_ = true;
  return problems.counts_memory == MemorySpace::kSystem ? finish(problems) : Status();
}

Status CudaBoxRunner::enqueue(const BoxProblems& problems) {
  const bool waits = problems.counts_memory == MemorySpace::kSystem;
  buffers_.results[0].bad_class = 0;
  sequence_ += waits ? 1 : 0;
  bool signalled = false;
  for (uint32_t first = 0; first < problems.problems(); first += kProblemsAtOnce) {
    ListArgs args =
        list_args(problems, first, std::min(problems.problems() - first, kProblemsAtOnce));
    signalled = waits && problems.problems() == 1 && args.is_small();
    args.sequence = signalled ? sequence_ : 0;
    KB_TRY(enqueue(problems, first, args));
  }
  if (!waits || signalled) return {};
  return check(launch_list_signal(buffers_.results.data(), sequence_,
                                  static_cast<cudaStream_t>(problems.stream)),
               "list_signal");
}

/// True if one launch suppresses a problem by these rules.
bool takes_one_launch(const Rules& rules) {
  return supports_one_launch(rules) && fits_one_launch(rules.candidates);
}

/// True if the kernels of these rules do not read the number of candidates from the device.
bool counts_all(const Rules& rules) {
  return !takes_one_launch(rules) &&
         (rules.method != NmsMethod::kGreedy || needs_sequential_nms(rules));
}

ListArgs CudaBoxRunner::list_args(const BoxProblems& problems, uint32_t first, uint32_t count) {
  const bool waits = problems.counts_memory == MemorySpace::kSystem;
  ListArgs args{.count = count,
                .list = problems.list,
                .candidates = buffers_.candidates.all(),
                .angles = plan_.rules.oriented ? buffers_.angles.data() : nullptr,
                .out = buffers_.out.data(),
                .indices = problems.indices,
                .control = &buffers_.control[first],
                .headers = &buffers_.headers[first],
                .counters = &buffers_.counters[first],
                .counts = (waits ? buffers_.counts.data() : problems.counts) + first,
                .results = waits ? buffers_.results.data() : nullptr};
  for (uint32_t i = 0; i < count; ++i) {
    args.starts[i] = problems.begin(first + i);
    args.largest = std::max(args.largest, problems.size(first + i));
    fit_to(plan_, settings_, problems.size(first + i));
    args.counts_all[i] = counts_all(plan_.rules);
  }
  args.starts[count] = problems.end(first + count - 1);
  return args;
}

/// Enqueues some problems, whose suppression uses the same memory one after the other.
/// @param first problem.
Status CudaBoxRunner::enqueue(const BoxProblems& problems, uint32_t first, const ListArgs& args) {
  const auto stream = static_cast<cudaStream_t>(problems.stream);
  KB_TRY_CUDA(launch_list_candidates(device_plan(plan_, {}), args, stream));
  for (uint32_t i = 0; i < args.count; ++i) KB_TRY(suppress(problems, first + i));
  return check(launch_list_indices(args, stream), "list_indices");
}

/// Enqueues the suppression of a problem.
Status CudaBoxRunner::suppress(const BoxProblems& problems, uint32_t problem) {
  const auto stream = static_cast<cudaStream_t>(problems.stream);
  const uint32_t first = problems.begin(problem), boxes = problems.size(problem);
  if (boxes == 0) return {};
  fit_to(plan_, settings_, boxes);
  DevicePlan plan = device_plan(plan_, {});
  plan.angles = plan.rules.oriented ? &buffers_.angles[first] : nullptr;
  plan.extent = &buffers_.counters[problem].extent;
  const LargeArgs args{.control = &buffers_.control[problem],
                       .candidates = buffers_.candidates.all().from(first),
                       .count = boxes,
                       .ordered = buffers_.ordered.all(),
                       .runs = buffers_.runs.data(),
                       .run_index = buffers_.run_index.data(),
                       .kept = buffers_.kept.all(),
                       .words = buffers_.words.data(),
                       .header = &buffers_.headers[problem],
                       .out = {.host = &buffers_.out[first]}};
  if (takes_one_launch(plan.rules))
    return check(kernels_->one_launch(plan, args, boxes, processors_, stream), "one_launch");
  KB_TRY_CUDA(launch_select(plan, args, stream));
  return check(kernels_->nms(plan, args, nms_blocks_, stream), "nms");
}

/// Waits for the counts.
Status CudaBoxRunner::finish(const BoxProblems& problems) {
  ListResults& results = buffers_.results[0];
  const auto arrived = [&] {
    return std::atomic_ref(results.sequence).load(std::memory_order_acquire) == sequence_;
  };
  if (!spin(kYield, kSpin, arrived)) KB_TRY_CUDA(cudaEventSynchronize(event_.get()));
  if (!arrived())
    return reject(ErrorKind::kNoResource, "The GPU finished without returning its boxes",
                  "set backend=auto to continue without CUDA, and report this as a bug");
  if (results.bad_class != 0)
    return std::unexpected(class_error(std::format("of box {}", ~results.bad_class)));
  std::ranges::copy(buffers_.counts.first(problems.problems()), problems.counts);
  return {};
}

}  // namespace

Result<std::unique_ptr<BoxRunner>> box_runner(const Settings& settings, bool oriented, int device) {
  KB_ASSIGN(auto plan, plan_suppression(settings, oriented));
  if (!plan.rules.uniform || settings.pre_nms_class_top_k != 0)
    return reject(ErrorKind::kUnsupported,
                  "backend=cuda suppresses boxes without thresholds, filters or limits of classes",
                  "leave class-thresholds=, include-classes= and pre-nms-class-top-k= unset");
  return std::make_unique<CudaBoxRunner>(settings, std::move(plan), device);
}

}  // namespace keepbox::cuda
