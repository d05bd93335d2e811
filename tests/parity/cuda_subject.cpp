// SPDX-License-Identifier: LGPL-2.1-or-later
// Copies to the device, launches one kernel, copies back. Outputs are poisoned before.
#include "tests/parity/cuda_subject.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <unordered_map>

#include "kernels/cuda/backend.h"
#include "kernels/cuda/host/buffers.h"
#include "tests/parity/circle_cuda.h"
#include "tests/parity/harness.h"

namespace keepbox::test {
namespace {

using namespace keepbox::cuda;

void must(cudaError_t error, int line) {
  if (error == cudaSuccess) return;
  std::fprintf(stderr, "%s:%d: %s\n", __FILE__, line, cudaGetErrorString(error));
  std::abort();
}
#define MUST(call) must((call), __LINE__)

/// Warps that share the classes of an anchor, if possible.
constexpr uint32_t kSlices = 4;

/// Poisoned buffers of the backend, and its plan.
struct Bench {
  std::byte *device = nullptr, *host = nullptr;
  Buffers buffers;
  DevicePlan plan;
  SegmentTable segments;

  explicit Bench(const Plan& from) {
    Carver measure_device(nullptr), measure_host(nullptr);
    carve(measure_device, measure_host, from);
    MUST(cudaMalloc(reinterpret_cast<void**>(&device), measure_device.used() + 1));
    MUST(cudaMallocHost(reinterpret_cast<void**>(&host), measure_host.used() + 1));
    MUST(cudaMemset(device, kPoison, measure_device.used()));
    std::memset(host, kPoison, measure_host.used());
    Carver on_device(device), on_host(host);
    buffers = carve(on_device, on_host, from);
    plan = device_plan(from, buffers);
    MUST(cudaMemset(buffers.control.data(), 0, buffers.control.size_bytes()));
    upload(buffers.class_threshold.data(), from.class_threshold.data(),
           from.class_threshold.size());
    upload(buffers.class_wanted.data(), from.class_wanted.data(), from.class_wanted.size());
    upload(buffers.priors.data(), from.priors.data(), from.priors.size());
    upload(buffers.levels.data(), from.levels.data(), from.levels.size());
    upload(buffers.anchor_sizes.data(), from.anchor_sizes.data(), from.anchor_sizes.size());
    upload(buffers.size_limits.data(), from.size_limits.data(), from.size_limits.size());
    upload(buffers.regions.data(), from.regions.data(), from.regions.size());
    const auto table = device_segments(from, kFrameThreads / kSlices, segments);
    upload(buffers.segments.data(), table.data(), table.size());
    segments.list = buffers.segments.data();
  }
  Bench(const Bench&) = delete;
  ~Bench() {
    cudaFree(device);
    cudaFreeHost(host);
  }

  template <class T>
  static void upload(T* to, const T* from, size_t count) {
    MUST(cudaMemcpy(to, from, count * sizeof(T), cudaMemcpyHostToDevice));
  }

  uint32_t anchor_of(uint64_t key) const {
    return anchor_in_key(plan.rules.contract, key_anchor(key));
  }

  void upload(const Boxes& to, std::span<const Candidate> from) const {
    std::vector<uint64_t> keys;
    std::vector<float4> boxes;
    std::vector<float> angles(buffers.angles.size());
    for (const Candidate& c : from) {
      keys.push_back(c.key);
      boxes.push_back({c.box.x1, c.box.y1, c.box.x2, c.box.y2});
      if (!angles.empty()) angles[anchor_of(c.key)] = c.angle;
    }
    upload(to.keys, keys.data(), keys.size());
    upload(to.boxes, boxes.data(), boxes.size());
    upload(buffers.angles.data(), angles.data(), angles.size());
  }

  void download(std::span<Candidate> to, const Boxes& from, uint32_t image = 0) const {
    std::vector<float> angles(buffers.angles.size());
    MUST(cudaMemcpy(angles.data(), buffers.angles.data(), buffers.angles.size_bytes(),
                    cudaMemcpyDeviceToHost));
    const auto angle_of = [&](uint64_t key) {
      return angles.empty() ? 0 : angles[size_t{image} * plan.rules.anchors + anchor_of(key)];
    };
    std::vector<uint64_t> got_keys(to.size());
    std::vector<float4> got_boxes(to.size());
    MUST(cudaMemcpy(got_keys.data(), from.keys, to.size() * sizeof(uint64_t),
                    cudaMemcpyDeviceToHost));
    MUST(cudaMemcpy(got_boxes.data(), from.boxes, to.size() * sizeof(float4),
                    cudaMemcpyDeviceToHost));
    for (size_t i = 0; i < to.size(); ++i)
      to[i] = {got_keys[i],
               {got_boxes[i].x, got_boxes[i].y, got_boxes[i].z, got_boxes[i].w},
               angle_of(got_keys[i])};
  }

  LargeArgs slow(size_t count) const {
    return {.control = buffers.control.data(),
            .candidates = buffers.candidates.all(),
            .count = static_cast<uint32_t>(count),
            .ordered = buffers.ordered.all(),
            .runs = buffers.runs.data(),
            .run_index = buffers.run_index.data(),
            .kept = buffers.kept.all(),
            .words = buffers.words.data(),
            .header = buffers.headers.data(),
            .out = {buffers.out.data()},
            .sequence = 1};
  }
};

uint32_t device_decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                       AnchorRange, std::span<Candidate> out, Funnel& funnel) {
  Bench bench(plan);
  const OnDevice on_device(tensors);
  std::vector<const std::byte*> data;
  for (const TensorView& view : on_device.views())
    data.push_back(static_cast<const std::byte*>(view.data));
  const Layout& layout = plan.layout;
  const auto numbers = bind_fields(bench.plan, bench.segments, plan, on_device.views(), data);
  const FrameArgs args{.control = bench.buffers.control.data(),
                       .candidates = bench.buffers.candidates.all(),
                       .bucketed = bench.buffers.bucketed.all(),
                       .headers = bench.buffers.headers.data(),
                       .slices = kSlices,
                       .decode_only = true};
  MUST(kernels_for(plan.rules)
           .frame(bench.plan, args, bench.segments, numbers, dim3(3, layout.images), nullptr));
  MUST(cudaDeviceSynchronize());
  const Header& header = bench.buffers.headers[image];
  funnel = {.anchors = header.anchors,
            .above_threshold = header.above_threshold,
            .not_finite = header.not_finite,
            .after_class_filter = header.candidates};
  const size_t first = size_t{image} * plan.rules.candidates;
  bench.download(out.first(header.candidates), bench.buffers.candidates.all().from(first), image);
  return header.candidates;
}

uint32_t device_select(const Plan& plan, std::span<const Candidate> candidates, std::span<SortSlot>,
                       std::span<Candidate> ordered) {
  const Bench bench(plan);
  const LargeArgs args = bench.slow(candidates.size());
  bench.upload(args.candidates, candidates);
  MUST(launch_select(bench.plan, args, nullptr));
  MUST(cudaDeviceSynchronize());
  const uint32_t count =
      plan.rules.pre_nms_class_top_k != 0
          ? bench.buffers.headers[0].chosen
          : std::min(plan.rules.pre_nms_top_k, static_cast<uint32_t>(candidates.size()));
  bench.download(ordered.first(count), args.ordered);
  return count;
}

uint32_t device_nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
                    const NmsScratch&) {
  const Bench bench(plan);
  const LargeArgs args = bench.slow(candidates.size());
  bench.upload(args.ordered, candidates);
  uint32_t blocks = 0;
  MUST(kernels_for(plan.rules).load(&blocks));
  MUST(kernels_for(plan.rules).nms(bench.plan, args, blocks, nullptr));
  MUST(cudaDeviceSynchronize());
  // Maps anchors to indices in `candidates`, because scores may have changed.
  std::unordered_map<uint32_t, uint32_t> places;
  for (uint32_t i = 0; i < candidates.size(); ++i)
    places.emplace(static_cast<uint32_t>(candidates[i].key), i);
  uint32_t count = 0;
  for (const Detection& box : bench.buffers.out.first(bench.buffers.headers[0].kept)) {
    const uint32_t anchor = anchor_in_key(plan.rules.contract, box.anchor);
    const uint64_t key = order_key(box.score, anchor, box.class_id);
    const auto found = places.find(static_cast<uint32_t>(key));
    if (found == places.end()) return static_cast<uint32_t>(kept.size()) + 1;
    candidates[found->second].key = key;
    kept[count++] = found->second;
  }
  return count;
}

template <Path kPath>
Result<std::unique_ptr<Runner>> runner_by(const Plan& plan, MemorySpace memory, ThreadPool*) {
  return make_runner(plan, memory, kPath);
}

template <Path kPath>
Result<std::unique_ptr<Runner>> circles_by(const Plan& plan, MemorySpace memory, ThreadPool*) {
  return make_runner(plan, memory, kPath, &circle_kernels());
}

constexpr HostKernels kDeviceKernels = {.decode = device_decode,
                                        .select = device_select,
                                        .nms = device_nms,
                                        .payload = nullptr,
                                        .masks = nullptr};

}  // namespace

std::vector<std::string> cuda_subjects() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) return {};
  return {"cuda", "cuda crowd", "cuda slow", "cuda masked", "cuda alone", "cuda staged"};
}

Backend cuda_subject(const std::string& name) {
  Backend subject = cuda::backend();
  if (name == "cuda") subject.kernels = &kDeviceKernels;
  if (name == "cuda crowd") subject.runner = runner_by<Path::kOneLaunch>;
  if (name == "cuda slow") subject.runner = runner_by<Path::kLarge>;
  if (name == "cuda masked") subject.runner = runner_by<Path::kMasked>;
  if (name == "cuda alone") subject.runner = runner_by<Path::kAlone>;
  if (name == "cuda staged") subject.memory = MemorySpace::kSystem;
  return subject;
}

Backend circle_subject(const std::string& name) {
  Backend subject = cuda::backend();
  subject.runner = name == "cuda crowd"    ? circles_by<Path::kOneLaunch>
                   : name == "cuda slow"   ? circles_by<Path::kLarge>
                   : name == "cuda masked" ? circles_by<Path::kMasked>
                                           : circles_by<Path::kAny>;
  return subject;
}

namespace {

/// A copy of values in CUDA memory.
template <class T>
class DeviceCopy {
 public:
  explicit DeviceCopy(const std::vector<T>& from) : count_(from.size()) {
    if (from.empty()) return;
    MUST(cudaMalloc(reinterpret_cast<void**>(&data_), count_ * sizeof(T)));
    MUST(cudaMemcpy(data_, from.data(), count_ * sizeof(T), cudaMemcpyHostToDevice));
  }
  ~DeviceCopy() { cudaFree(data_); }
  DeviceCopy(const DeviceCopy&) = delete;

  T* get() const { return data_; }
  std::vector<T> read() const {
    std::vector<T> out(count_);
    MUST(cudaMemcpy(out.data(), data_, count_ * sizeof(T), cudaMemcpyDeviceToHost));
    return out;
  }

 private:
  T* data_ = nullptr;
  size_t count_;
};

}  // namespace

Result<KeptOf> suppressed_on_device(Suppressor& suppressor, const BoxTable& table, bool waits) {
  const DeviceCopy boxes(table.boxes), scores(table.scores);
  const DeviceCopy classes(table.classes);
  const DeviceCopy indices(std::vector(table.count() + 1, kUnwritten));
  BoxProblems problems{.memory = MemorySpace::kCuda,
                       .list = {boxes.get(), scores.get(), classes.get()},
                       .boxes = table.count(),
                       .starts = table.starts.empty() ? nullptr : table.starts.data(),
                       .start_count = static_cast<uint32_t>(table.starts.size()),
                       .indices = indices.get()};
  std::vector<uint32_t> counts(problems.problems(), 77);
  const DeviceCopy device_counts(counts);
  problems.counts = waits ? counts.data() : device_counts.get();
  problems.counts_memory = waits ? MemorySpace::kSystem : MemorySpace::kCuda;
  cudaStream_t stream = nullptr;
  MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  MUST(cudaDeviceSynchronize());  // copies from pageable memory may return early
  problems.stream = stream;
  const Status status = suppressor.run(problems);
  MUST(cudaStreamSynchronize(stream));
  MUST(cudaStreamDestroy(stream));
  KB_TRY(status);
  return kept_of(problems, indices.read(), waits ? counts : device_counts.read());
}

OnDevice::OnDevice(std::span<const TensorView> views) : views_(views.begin(), views.end()) {
  for (TensorView& view : views_) {
    const size_t shift = reinterpret_cast<uintptr_t>(view.data) % 64;
    std::byte* blob = nullptr;
    MUST(cudaMalloc(reinterpret_cast<void**>(&blob), view.bytes + shift + 1));
    MUST(cudaMemcpy(blob + shift, view.data, view.bytes, cudaMemcpyHostToDevice));
    view.data = blob + shift;
    view.space = MemorySpace::kCuda;
    blobs_.push_back(blob);
  }
  MUST(cudaStreamSynchronize(nullptr));  // copies from pageable memory may return early
}

OnDevice::~OnDevice() {
  for (void* blob : blobs_) cudaFree(blob);
}

}  // namespace keepbox::test
