// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens sessions, binds device memory, and enqueues runs.
#include "gst/infer/cuda/cudasession.h"

#include <mutex>
#include <utility>

#include "gst/base/error.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
namespace {

constexpr const char* kGraphId = "gpu_graph_id";
constexpr unsigned kRunsPerWait = 64;

constexpr unsigned kFirstRuns = 3;

/// Held by one session of the process at a time while it is opened, tuned by its first runs,
/// captured or ended: the runtime waits for the whole device then, and it or cuDNN captures
/// launches. CUDA permits no such wait in one thread during a capture in another.
std::mutex& preparation() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

Result<std::unique_ptr<CudaSession>> CudaSession::open(SessionSpec spec, CudaContext context,
                                                       bool graph, const std::string* model) {
  std::unique_ptr<CudaSession> out(new CudaSession(std::move(context)));
  const CudaScope scope(out->context_);
  KB_TRY(scope.status());
  KB_ASSIGN(auto stream, make_stream(out->context_, StreamPriority::kLow));
  out->stream_ = std::move(stream);
  KB_ASSIGN(auto tensor_stream, gst_stream(out->context_));
  out->tensors_stream_ = tensor_stream;
  spec.graph = out->graph_ = graph;
  {
    const std::lock_guard alone(preparation());
    KB_ASSIGN(auto session, OnnxSession::open(spec, out->stream_.get(), model));
    out->session_ = std::move(session);
  }
  KB_TRY(out->make_memory(spec.device));
  out->keep_pinned(spec.device);
  KB_ASSIGN(out->waiting_, out->onnx().run_options());
  KB_TRY(out->onnx().check(
      out->onnx().runtime().api().AddRunConfigEntry(out->waiting_.get(), kGraphId, "-1"),
      "options for"));
  return out;
}

Status CudaSession::make_memory(int device) {
  const OrtApi& api = onnx().runtime().api();
  OrtMemoryInfo* memory = nullptr;
  KB_TRY(onnx().check(
      api.CreateMemoryInfo("Cuda", OrtDeviceAllocator, device, OrtMemTypeDefault, &memory),
      "memory for"));
  memory_ = OnnxOwned<OrtMemoryInfo>(memory, api.ReleaseMemoryInfo);
  return {};
}

/// Shares the allocator of the session's page-locked memory. The runtime returns what its operators
/// took of it by a function that it puts on the stream, at the latest when the session is
/// destroyed, and that function shares the allocator, too. If it is the last to do so, it frees the
/// memory, which CUDA does not permit there, and the runtime ends the process.
void CudaSession::keep_pinned(int device) {
  const OnnxRuntime& runtime = onnx().runtime();
  const OrtApi& api = runtime.api();
  for (const int id : {device, 0}) {  // older runtimes have one for all devices
    OrtMemoryInfo* info = nullptr;
    if (!runtime.check(
            api.CreateMemoryInfo("CudaPinned", OrtDeviceAllocator, id, OrtMemTypeCPUOutput, &info),
            "CudaPinned", ""))
      continue;
    const OnnxOwned<OrtMemoryInfo> owner(info, api.ReleaseMemoryInfo);
    OrtAllocator* allocator = nullptr;
    if (!runtime.check(api.CreateAllocator(onnx().get(), info, &allocator), "CudaPinned", ""))
      continue;
    pinned_ = OnnxOwned<OrtAllocator>(allocator, api.ReleaseAllocator);
    return;
  }
  GST_CAT_INFO(tensorinfer_debug, "the session has no page-locked memory");
}

CudaSession::~CudaSession() {
  const CudaScope scope(context_);
  drain();
  memory_.reset();
  {
    const std::lock_guard alone(preparation());
    session_.reset();
  }
  drain();  // its end may have put a function on the stream that uses pinned_
  pinned_.reset();
  stream_ = {};
  g_clear_pointer(&tensors_stream_, gst_mini_object_unref);
}

void CudaSession::drain() const {
  const CudaScope scope(context_);
  if (scope.status() && stream_.get() != nullptr) cuda_driver().stream_synchronize(stream_.get());
}

Result<OnnxBinding> CudaSession::binding() const {
  const OrtApi& api = onnx().runtime().api();
  OrtIoBinding* binding = nullptr;
  KB_TRY(onnx().check(api.CreateIoBinding(onnx().get(), &binding), "making bindings for"));
  return OnnxBinding(binding, api.ReleaseIoBinding);
}

Status CudaSession::bind_input(OrtIoBinding* binding, const std::string& name,
                               const OrtValue* value) const {
  return onnx().check(onnx().runtime().api().BindInput(binding, name.c_str(), value),
                      "binding an input of");
}

Status CudaSession::bind_output(OrtIoBinding* binding, const std::string& name,
                                const OrtValue* value) const {
  return onnx().check(onnx().runtime().api().BindOutput(binding, name.c_str(), value),
                      "binding an output of");
}

Status CudaSession::rebind_outputs(OrtIoBinding* binding) const {
  const OrtApi& api = onnx().runtime().api();
  for (const ModelPort& port : onnx().declaration().outputs)
    KB_TRY(onnx().check(api.BindOutputToDevice(binding, port.name.c_str(), memory_.get()),
                        "binding an output of"));
  return {};
}

Result<std::vector<ModelOutput>> CudaSession::outputs(OrtIoBinding* binding) const {
  const OnnxRuntime& runtime = onnx().runtime();
  const OrtApi& api = runtime.api();
  OrtValue** values = nullptr;
  size_t count = 0;
  KB_TRY(onnx().check(api.GetBoundOutputValues(binding, runtime.allocator(), &values, &count),
                      "outputs of"));
  std::vector<OnnxValue> owners;
  for (size_t i = 0; i < count; ++i) owners.emplace_back(values[i], api.ReleaseValue);
  if (values != nullptr)
    KB_TRY(onnx().check(api.AllocatorFree(runtime.allocator(), values), "outputs of"));
  std::vector<ModelOutput> out;
  for (size_t i = 0; i < owners.size(); ++i) {
    KB_ASSIGN(auto output, onnx().output(std::move(owners[i]), onnx().declaration().outputs[i]));
    out.push_back(std::move(output));
  }
  return out;
}

Result<OnnxValue> CudaSession::tensor(CUdeviceptr data, size_t bytes, DataType type,
                                      std::span<const int64_t> dims) const {
  return onnx().tensor(reinterpret_cast<void*>(data), bytes, type, dims, memory_.get());
}

Result<OnnxRunOptions> CudaSession::run_options() const {
  const OrtApi& api = onnx().runtime().api();
  auto out = onnx().run_options();
  if (!out) return out;
  for (const auto& [key, value] :
       {std::pair{"disable_synchronize_execution_providers", "1"}, std::pair{kGraphId, "-1"}})
    KB_TRY(onnx().check(api.AddRunConfigEntry(out->get(), key, value), "options for"));
  return out;
}

Status CudaSession::enqueue(OrtIoBinding* binding, const OrtRunOptions* options) const {
  return onnx().check(onnx().runtime().api().RunWithBinding(onnx().get(), options, binding),
                      "running");
}

/// Without a wait, the runtime keeps the page-locked memory of some operators, such as Concat,
/// until the session ends: a little more with each run. So one in many waits, unless another
/// session is prepared. Graphs read that memory in each launch.
Status CudaSession::run(OrtIoBinding* binding, const OrtRunOptions* options) const {
  std::unique_lock alone(preparation(), std::defer_lock);
  const bool due = !graph_ && ++unwaited_ >= kRunsPerWait;
  if (runs_ < kFirstRuns) alone.lock();
  else if (due) alone.try_lock();
  runs_ += runs_ < kFirstRuns ? 1 : 0;
  const bool waits = due && alone.owns_lock();
  if (waits) unwaited_ = 0;
  return enqueue(binding, waits ? waiting_.get() : options);
}

Result<CudaGraph> CudaSession::capture(OrtIoBinding* binding, const OrtRunOptions* options) const {
  const std::lock_guard alone(preparation());
  return keepbox::capture(context_, stream_.get(), [&] { return enqueue(binding, options); });
}

}  // namespace keepbox
