// SPDX-License-Identifier: LGPL-2.1-or-later
// Sessions on a device: prepared, bound to device memory, run by graphs.
#include "gst/infer/cuda/cudaruns.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "gst/base/error.h"
#include "gst/tensors/cudascope.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {

Result<std::unique_ptr<CudaRuns>> CudaRuns::create(const CudaSession& session,
                                                   const ModelFacts& facts, unsigned batch,
                                                   std::span<const CUdeviceptr> inputs) {
  std::unique_ptr<CudaRuns> out(new CudaRuns(session, facts, batch));
  KB_TRY(out->make_extras());
  for (const CUdeviceptr input : inputs) {
    KB_ASSIGN(auto slot, out->make_slot(input));
    out->slots_.push_back(std::move(slot));
  }
  KB_TRY(out->capture_all());
  return out;
}

Result<CudaRuns::Slot> CudaRuns::make_slot(CUdeviceptr input) {
  const ModelPort& port = session_.onnx().declaration().inputs[facts_.image_input];
  KB_ASSIGN(auto begun, make_event(session_.context(), EventUse::kTime));
  KB_ASSIGN(auto done, make_event(session_.context(), EventUse::kWaiting));
  KB_ASSIGN(auto value, session_.tensor(input, batch_ * facts_.input.bytes(), facts_.input.type,
                                        bound_dims(port, facts_.input, batch_)));
  KB_ASSIGN(auto binding, session_.binding());
  KB_TRY(session_.bind_input(binding.get(), port.name, value.get()));
  KB_TRY(bind_extras(binding.get()));
  return Slot{.input = std::move(value),
              .binding = std::move(binding),
              .begun = std::move(begun),
              .done = std::move(done)};
}

Status CudaRuns::make_extras() {
  for (const SizeInput& extra : facts_.size_inputs) {
    const ModelPort& port = session_.onnx().declaration().inputs[extra.index];
    KB_ASSIGN(auto made, make_extra(port, extra.kind, facts_.input.size, batch_));
    KB_ASSIGN(auto memory, allocate(session_.context(), made.values.size()));
    KB_TRY(cuda_status(cuda_driver().copy_in(memory.get(), made.values.data(), made.values.size(),
                                             session_.stream()),
                       "copying a value to a model input"));
    session_.drain();
    KB_ASSIGN(auto value, session_.tensor(memory.get(), made.values.size(), *port.type, made.dims));
    extras_.push_back({std::move(memory), std::move(value)});
  }
  return {};
}

Status CudaRuns::bind_extras(OrtIoBinding* binding) const {
  for (size_t i = 0; i < facts_.size_inputs.size(); ++i) {
    const ModelPort& port = session_.onnx().declaration().inputs[facts_.size_inputs[i].index];
    KB_TRY(session_.bind_input(binding, port.name, extras_[i].value.get()));
  }
  return {};
}

/// Checks that there is a part per picture if there are several.
Status CudaRuns::check(std::span<const ModelOutput> outputs) const {
  if (batch_ == 1) return {};
  for (size_t i = 0; i < outputs.size(); ++i)
    KB_TRY(check_slices(session_.onnx().declaration(), i, outputs[i].shape, batch_));
  return {};
}

/// Captures graphs after a plain run, which reveals the shapes of the outputs.
Status CudaRuns::capture_all() {
  KB_ASSIGN(const auto options, session_.run_options());
  OrtIoBinding* const first = slots_.front().binding.get();
  if (!session_.graph() && batch_ == 1) return {};
  KB_TRY(session_.rebind_outputs(first));
  KB_TRY(session_.run(first, options.get()));
  session_.drain();
  KB_ASSIGN(const auto like, session_.outputs(first));
  KB_TRY(check(like));
  if (!session_.graph()) return {};
  KB_TRY(make_outputs(like));
  for (Slot& slot : slots_) KB_TRY(capture(slot, options.get()));
  return {};
}

Status CudaRuns::make_outputs(std::span<const ModelOutput> like) {
  for (const ModelOutput& each : like) {
    if (each.bytes == 0) return reject(ErrorKind::kUnsupported, "The model has an empty output");
    KB_ASSIGN(auto memory, allocate(session_.context(), each.bytes));
    const auto sizes = each.shape.dims();
    const std::vector<int64_t> dims(sizes.begin(), sizes.end());
    KB_ASSIGN(auto value, session_.tensor(memory.get(), each.bytes, each.type, dims));
    outputs_.push_back({std::move(memory), std::move(value), each.type, each.shape, each.bytes});
  }
  return {};
}

Status CudaRuns::capture(Slot& slot, const OrtRunOptions* options) {
  const auto& ports = session_.onnx().declaration().outputs;
  for (size_t i = 0; i < ports.size(); ++i)
    KB_TRY(session_.bind_output(slot.binding.get(), ports[i].name, outputs_[i].value.get()));
  // Allocations and tuning of the first run must not be captured.
  KB_TRY(session_.run(slot.binding.get(), options));
  session_.drain();
  KB_ASSIGN(auto graph, session_.capture(slot.binding.get(), options));
  slot.graph = std::move(graph);
  // Otherwise the first launch, whose frame may be wanted soon, takes that time.
  return cuda_status(cuda_driver().graph_upload(slot.graph.get(), session_.stream()),
                     "uploading a graph");
}

Status CudaRuns::start(Slot& slot, const OrtRunOptions* options) {
  if (session_.graph())
    return cuda_status(cuda_driver().graph_launch(slot.graph.get(), session_.stream()),
                       "launching the model's graph");
  KB_TRY(session_.rebind_outputs(slot.binding.get()));
  return session_.run(slot.binding.get(), options);
}

Result<std::vector<CudaOutput>> CudaRuns::run(size_t number, std::span<void* const> ready,
                                              const OrtRunOptions* options) {
  const CudaDriver& cuda = cuda_driver();
  Slot& slot = slots_[number];
  for (void* const event : ready)
    if (event != nullptr)
      KB_TRY(cuda_status(cuda.stream_wait(session_.stream(), static_cast<CUevent>(event), 0),
                         "ordering streams"));
  KB_TRY(cuda_status(cuda.event_record(slot.begun.get(), session_.stream()), "recording an event"));
  KB_TRY(start(slot, options));
  std::vector<CudaOutput> out;
  if (session_.graph()) {
    for (const Fixed& each : outputs_)
      out.push_back(
          {.data = each.memory.get(), .type = each.type, .shape = each.shape, .bytes = each.bytes});
    return out;
  }
  KB_ASSIGN(auto outputs, session_.outputs(slot.binding.get()));
  KB_TRY(check(outputs));
  for (ModelOutput& each : outputs)
    out.push_back({.value = std::move(each.value),
                   .data = reinterpret_cast<CUdeviceptr>(each.data),
                   .type = each.type,
                   .shape = each.shape,
                   .bytes = each.bytes});
  return out;
}

Status CudaRuns::end(size_t number) {
  Slot& slot = slots_[number];
  KB_TRY(cuda_status(cuda_driver().event_record(slot.done.get(), session_.stream()),
                     "recording an event"));
  slot.used = true;
  return cuda_status(
      cuda_driver().stream_wait(gst_stream_handle(session_.tensors_stream()), slot.done.get(), 0),
      "ordering streams");
}

Status CudaRuns::wait(size_t number) {
  const Slot& slot = slots_[number];
  if (!slot.used) return {};
  return cuda_status(cuda_driver().event_synchronize(slot.done.get()), "running the model");
}

double CudaRuns::microseconds(size_t number) const {
  const Slot& slot = slots_[number];
  float milliseconds = 0;
  if (!slot.used) return 0;
  const CUresult result =
      cuda_driver().event_elapsed(&milliseconds, slot.begun.get(), slot.done.get());
  return result == CUDA_SUCCESS ? milliseconds * 1e3 : 0;
}

Result<double> CudaRuns::rate() {
  constexpr int kRuns = 6;
  KB_ASSIGN(const auto options, session_.run_options());
  double least = std::numeric_limits<double>::max();
  for (int i = 0; i <= kRuns; ++i) {  // the first warms up
    KB_ASSIGN(const auto outputs, run(0, {}, options.get()));
    KB_TRY(end(0));
    KB_TRY(wait(0));
    least = std::min(least, std::max(microseconds(0), 1.0));
  }
  return batch_ / least * 1e6;
}

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
  const bool first = runs_ < kFirstRuns;
  if (first) alone.lock();
  runs_ += first ? 1 : 0;
  const bool waits = due && (first || alone.try_lock());
  if (waits) unwaited_ = 0;
  return enqueue(binding, waits ? waiting_.get() : options);
}

Result<CudaGraph> CudaSession::capture(OrtIoBinding* binding, const OrtRunOptions* options) const {
  const std::lock_guard alone(preparation());
  return keepbox::capture(context_, stream_.get(), [&] { return enqueue(binding, options); });
}

namespace {

void release_tensor(gpointer tensor) { delete static_cast<std::shared_ptr<CudaTensor>*>(tensor); }

}  // namespace

Result<CudaTensorPool::PooledMemory> CudaTensorPool::take(size_t bytes) {
  {
    const std::lock_guard guard(lock_);
    const auto fits = [&](const PooledMemory& piece) { return piece.memory.bytes() == bytes; };
    const auto found = std::ranges::find_if(free_, fits);
    if (found != free_.end()) {
      PooledMemory piece = std::move(*found);
      std::swap(*found, free_.back());
      free_.pop_back();
      return piece;
    }
  }
  KB_ASSIGN(auto ready, make_event(context_, EventUse::kOrder));
  PooledMemory piece{.ready = std::move(ready)};
  if (bytes == 0) return piece;
  KB_ASSIGN(auto memory, allocate(context_, bytes));
  piece.memory = std::move(memory);
  return piece;
}

void CudaTensorPool::give_back(PooledMemory piece) {
  const std::lock_guard guard(lock_);
  free_.push_back(std::move(piece));
}

/// Copies an output of a graph, which writes to a fixed place, while tensors may be kept for long.
Result<std::shared_ptr<CudaTensor>> CudaTensor::create(std::shared_ptr<void> owner,
                                                       CudaTensorPool& pieces,
                                                       const CudaSession& session,
                                                       CudaOutput output) {
  std::shared_ptr<CudaTensor> out(new CudaTensor(std::move(owner), pieces, session));
  const bool copied = output.value == nullptr;
  KB_ASSIGN(auto piece, pieces.take(copied ? output.bytes : 0));
  out->piece_ = std::move(piece);
  out->value_ = std::move(output.value);
  out->data_ = copied ? out->piece_.memory.get() : output.data;
  out->type_ = output.type;
  out->shape_ = output.shape;
  out->bytes_ = output.bytes;
  if (copied) {
    // A tensor that was dropped may still be written, on the stream of another size.
    KB_TRY(cuda_status(cuda_driver().stream_wait(session.stream(), out->piece_.ready.get(), 0),
                       "ordering streams"));
    KB_TRY(cuda_status(cuda_driver().copy(out->data_, output.data, output.bytes, session.stream()),
                       "copying a tensor"));
  }
  KB_TRY(cuda_status(cuda_driver().event_record(out->piece_.ready.get(), session.stream()),
                     "recording an event"));
  return out;
}

Result<std::shared_ptr<CudaTensor>> CudaTensor::joined(std::shared_ptr<void> owner,
                                                       CudaTensorPool& pieces,
                                                       const CudaSession& session, CUstream stream,
                                                       std::vector<OwnedBuffer> parts) {
  const CudaDriver& cuda = cuda_driver();
  std::shared_ptr<CudaTensor> out(new CudaTensor(std::move(owner), pieces, session));
  out->parts_ = std::move(parts);
  for (const OwnedBuffer& each : out->parts_) out->bytes_ += gst_buffer_get_size(each.get());
  KB_ASSIGN(out->piece_, pieces.take(out->bytes_));
  out->data_ = out->piece_.memory.get();
  size_t at = 0;
  for (const OwnedBuffer& each : out->parts_) {
    const size_t bytes = gst_buffer_get_size(each.get());
    if (bytes == 0) continue;
    GstMapInfo map;
    if (!gst_buffer_map(each.get(), &map, kReadCuda))
      return reject(ErrorKind::kNoResource, "The tensors of the tiles are on several GPUs",
                    "set batch-size=1 or provider=cpu");
    GstMemory* const memory = gst_buffer_peek_memory(each.get(), 0);
    const auto ready = static_cast<CUevent>(gst_mini_object_get_qdata(
        GST_MINI_OBJECT_CAST(memory), g_quark_from_static_string(kReadyEvent)));
    Status copied = cuda_status(cuda.stream_wait(stream, ready, 0), "ordering streams");
    if (copied)
      copied = cuda_status(
          cuda.copy(out->data_ + at, reinterpret_cast<CUdeviceptr>(map.data), bytes, stream),
          "copying a tensor");
    gst_buffer_unmap(each.get(), &map);
    KB_TRY(copied);
    at += bytes;
  }
  const CUevent ready = out->piece_.ready.get();
  KB_TRY(cuda_status(cuda.event_record(ready, stream), "recording an event"));
  KB_TRY(cuda_status(cuda.stream_wait(gst_stream_handle(session.tensors_stream()), ready, 0),
                     "ordering streams"));
  return out;
}

CudaTensor::~CudaTensor() {
  if (!parts_.empty() && piece_.ready.get() != nullptr) {
    // Other streams write to the memory of the parts, and to that of the tensor, once it is free.
    const CudaScope scope(session_.context());
    (void)cuda_driver().event_synchronize(piece_.ready.get());
  }
  value_.reset();
  if (piece_.ready.get() != nullptr) pieces_.give_back(std::move(piece_));
}

Result<OwnedBuffer> CudaTensor::wrapped(const std::shared_ptr<CudaTensor>& tensor, size_t offset,
                                        size_t bytes) {
  OwnedBuffer out(gst_buffer_new());
  if (bytes == 0) return out;
  if (bytes > kMaxCudaBytes)
    return reject(ErrorKind::kUnsupported,
                  "An output has " + std::to_string(bytes) + " bytes, more than 2 GiB",
                  "export the model with smaller outputs");
  // Consumers that ignore the event have the stream. NEED_SYNC would wait for later runs.
  GstMemory* memory = wrap_cuda(
      tensor->session_.context(), reinterpret_cast<gpointer>(tensor->data_ + offset), bytes,
      tensor->session_.tensors_stream(), release_tensor, new std::shared_ptr<CudaTensor>(tensor));
  GST_MINI_OBJECT_FLAG_SET(memory, GST_MEMORY_FLAG_READONLY);
  gst_mini_object_set_qdata(GST_MINI_OBJECT_CAST(memory), g_quark_from_static_string(kReadyEvent),
                            tensor->piece_.ready.get(), nullptr);
  gst_buffer_append_memory(out.get(), memory);
  return out;
}

}  // namespace keepbox
