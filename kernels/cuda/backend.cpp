// SPDX-License-Identifier: LGPL-2.1-or-later
// Entry of the CUDA backend.
#include "kernels/cuda/backend.h"

#include "kernels/cuda/device/launches.h"
#include "kernels/cuda/runner.h"

namespace keepbox::cuda {
namespace {

/// Maximum second dimension of a grid.
constexpr uint32_t kMaxImages = 65535;

/// Maximum number of candidates for methods that compare all pairs: more would block the device
/// noticeably for its other users.
constexpr uint32_t kMaxPaired = 1u << 16;

bool compares_all(const Rules& rules) {
  if (rules.method == NmsMethod::kNone) return false;
  return rules.method != NmsMethod::kGreedy || needs_sequential_nms(rules);
}

/// Maximum count in a tally, see warp.cuh.
constexpr uint64_t kMaxScored = (uint64_t{1} << 22) - 1;

Status supports(const Plan& plan) {
  const uint32_t images = plan.layout.images;
  if (images == 0 || images > kMaxImages)
    return reject(ErrorKind::kUnsupported,
                  "backend=cuda cannot decode " + std::to_string(images) +
                      " images at once: the maximum is " + std::to_string(kMaxImages),
                  "set backend=auto");
  int devices = 0;
  const cudaError_t error = cudaGetDeviceCount(&devices);
  if (error != cudaSuccess) (void)cudaGetLastError();
  if (error != cudaSuccess || devices == 0)
    return reject(ErrorKind::kNoResource,
                  std::string("backend=cuda has no device: ") +
                      (error == cudaSuccess ? "there is none" : cudaGetErrorString(error)),
                  "set backend=auto");
  for (const TensorForm& form : plan.forms)
    if (const auto count = form.shape.count(); !count || *count / images > ~0u)
      return reject(ErrorKind::kUnsupported,
                    "backend=cuda cannot read a tensor of " + form.shape.to_string() +
                        ": the maximum is 2^32 elements",
                    "set backend=auto");
  if (plan.forms.size() > kMaxTensors)
    return reject(ErrorKind::kUnsupported,
                  "backend=cuda cannot read " + std::to_string(plan.forms.size()) +
                      " tensors: the maximum is " + std::to_string(kMaxTensors),
                  "set backend=auto");
  if (plan.payload.mean)
    return reject(ErrorKind::kUnsupported,
                  "backend=cuda does not average " + std::string(plan.payload.kind.name) +
                      " for nms-method=weighted",
                  "set backend=auto, or nms-method=greedy");
  const uint64_t scored = uint64_t{plan.layout.anchors} * plan.layout.classes;
  if (plan.rules.multi_label && scored > kMaxScored)
    return reject(ErrorKind::kUnsupported,
                  "backend=cuda cannot compare " + std::to_string(scored) +
                      " scores with multi-label: the maximum is " + std::to_string(kMaxScored),
                  "set multi-label=false or backend=auto");
  return check_pairs(plan.rules);
}

std::string_view device_name() {
  thread_local cudaDeviceProp properties;
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess ||
      cudaGetDeviceProperties(&properties, device) != cudaSuccess)
    return "no device";
  return properties.name;
}

Result<int> device_of(const void* data) {
  cudaPointerAttributes attributes{};
  KB_TRY_CUDA(cudaPointerGetAttributes(&attributes, data));
  if (attributes.type == cudaMemoryTypeDevice || attributes.type == cudaMemoryTypeManaged)
    return attributes.device;
  return reject(ErrorKind::kInvalid, "A tensor that is said to be in CUDA memory is not",
                "set its memory to KEEPBOX_DECODE_HOST, or its data to a device pointer");
}

Result<int> exchange_device(int device) {
  int before = 0;
  KB_TRY_CUDA(cudaGetDevice(&before));
  if (before != device) KB_TRY_CUDA(cudaSetDevice(device));
  return before;
}

Status download(const TensorView& from, std::span<std::byte> to) {
  const auto stream = static_cast<cudaStream_t>(from.ready_stream);
  KB_TRY_CUDA(cudaMemcpyAsync(to.data(), from.data, to.size(), cudaMemcpyDeviceToHost, stream));
  return check(cudaStreamSynchronize(stream), "cudaStreamSynchronize");
}

void* default_stream() { return cudaStreamLegacy; }

constexpr Devices kDevices{device_of, exchange_device, download, default_stream};

}  // namespace

Status check_pairs(const Rules& rules) {
  if (!compares_all(rules) || rules.pre_nms_top_k <= kMaxPaired) return {};
  return reject(ErrorKind::kUnsupported,
                "backend=cuda cannot compare " + std::to_string(rules.pre_nms_top_k) +
                    " candidates with this nms-method and these limits",
                "set backend=auto, or another nms-method=");
}

Backend backend() {
  return {.name = "cuda",
          .summary = "CUDA kernels on an NVIDIA GPU, for tensors in its memory",
          .memory = MemorySpace::kCuda,
          .supports = supports,
          .runner = [](const Plan& plan, MemorySpace memory,
                       ThreadPool*) { return make_runner(plan, memory); },
          .box_runner = box_runner,
          .input_maker = input_maker,
          .crop_maker = crop_maker,
          .variant = device_name,
          .devices = &kDevices};
}

Result<std::unique_ptr<Runner>> make_runner(const Plan& plan, MemorySpace memory, Path path,
                                            const Kernels* kernels) {
  auto runner = std::make_unique<CudaRunner>();
  const Kernels& chosen = kernels != nullptr ? *kernels : kernels_for(plan.rules);
  KB_TRY(runner->prepare(plan, memory, path, chosen));
  return runner;
}

}  // namespace keepbox::cuda
