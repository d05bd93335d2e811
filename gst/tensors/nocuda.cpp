// SPDX-License-Identifier: LGPL-2.1-or-later
// Builds without libgstcuda: contexts are not found, and what needs one fails.
#include "gst/tensors/cudascope.h"

namespace keepbox {
namespace {

std::unexpected<Error> not_built(const std::string& hint) {
  return reject(ErrorKind::kNoResource, "This build of keepbox has no CUDA",
                hint + ", or build with ./dev build --cuda");
}

}  // namespace

bool cuda_available() { return false; }
Status require_cuda(const std::string& hint) { return not_built(hint); }

DeviceContext DeviceContext::of(GstBuffer*) { return {}; }

DeviceScope::DeviceScope(const DeviceContext&) {}
DeviceScope::~DeviceScope() = default;

MemorySpace SharedCuda::memory() const { return MemorySpace::kSystem; }
Result<CudaContext> SharedCuda::ensure(GstElement*, int, const std::string& hint) {
  return not_built(hint);
}
Result<CudaContext> SharedCuda::offer_primary(GstElement*, int) {
  return not_built("set provider=cpu");
}
void SharedCuda::adopt(const CudaContext&) {}
void SharedCuda::offer(GstElement*, GstContext*, int) {}
bool SharedCuda::answer(GstElement*, GstQuery*) { return false; }

int cuda_device_of(const CudaContext&) { return 0; }
bool map_cuda(GstBuffer*, GstMapInfo*, TensorView&) { return false; }
void await_producer(GstBuffer*) {}

Result<GstMemory*> wrap_device_data(const DeviceData&, GDestroyNotify, gpointer) {
  return not_built("add tensors in system memory");
}

Result<std::unique_ptr<Uploader>> SharedCuda::make_uploader(const CudaContext&) {
  return not_built("set memory=system");
}

std::unique_ptr<Device> make_device() { return std::make_unique<SharedCuda>(); }

}  // namespace keepbox
