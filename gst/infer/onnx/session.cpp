// SPDX-License-Identifier: LGPL-2.1-or-later
// Sessions of ONNX Runtime: loaded by a provider, described, and run.
#include "gst/infer/onnx/session.h"

#include <glib.h>
#include <gst/gst.h>
#include <onnxruntime_c_api.h>
#include <onnxruntime_session_options_config_keys.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <iterator>
#include <optional>

#include "core/base/cpulimits.h"
#include "core/base/text.h"
#include "gst/base/error.h"
#include "gst/infer/facts/modelports.h"
#include "gst/infer/onnx/externaldata.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {

/// Adds the spec's provider to the options of a session. Errors name the provider and the ones that
/// there are, or the option that it rejects.
/// @param stream the cudaStream_t for provider cuda, or nullptr.
Status append_provider(const OnnxRuntime& runtime, const SessionSpec& spec,
                       OrtSessionOptions* options, void* stream);

namespace {

struct TypePair {
  ONNXTensorElementDataType onnx;
  DataType core;
};

constexpr TypePair kOnnxTypes[] = {
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, DataType::kFloat32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT8, DataType::kUInt8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT8, DataType::kInt8},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT16, DataType::kUInt16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT16, DataType::kInt16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32, DataType::kInt32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64, DataType::kInt64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16, DataType::kFloat16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_DOUBLE, DataType::kFloat64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT32, DataType::kUInt32},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_UINT64, DataType::kUInt64},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BFLOAT16, DataType::kBFloat16},
    {ONNX_TENSOR_ELEMENT_DATA_TYPE_BOOL, DataType::kUInt8},
};

std::optional<DataType> core_type(ONNXTensorElementDataType type) {
  const auto* pair = std::ranges::find(kOnnxTypes, type, &TypePair::onnx);
  return pair == std::end(kOnnxTypes) ? std::nullopt : std::optional(pair->core);
}

const std::string kNumbers = "a numeric tensor with up to 8 dimensions";
constexpr int64_t kMaxMetadata = 512;  // keys; the runtime copies all of them per value
template <class T>
OnnxOwned<T> owned(T* object, void (*release)(T*)) {
  return OnnxOwned<T>(object, release);
}

}  // namespace

Status check_model_file(const std::string& file) {
  if (file.empty())
    return reject(ErrorKind::kInvalid, "model-file= is not set", "set it to an ONNX file");
  if (g_file_test(file.c_str(), G_FILE_TEST_IS_REGULAR)) return {};
  const bool other = g_file_test(file.c_str(), G_FILE_TEST_EXISTS);
  return file_error(file + (other ? " is not a regular file" : " does not exist"),
                    "set model-file= to an ONNX file");
}

OnnxSession::OnnxSession(const OnnxRuntime& runtime, SessionSpec spec)
    : runtime_(&runtime),
      spec_(std::move(spec)),
      session_(nullptr, runtime.api().ReleaseSession),
      host_(nullptr, runtime.api().ReleaseMemoryInfo) {}

Result<std::unique_ptr<OnnxSession>> OnnxSession::open(const SessionSpec& spec, void* stream,
                                                       const std::string* model) {
  KB_ASSIGN(const auto runtime, OnnxRuntime::load());
  KB_TRY(check_model_file(spec.file));
  KB_TRY(external_files(spec.file));
  std::unique_ptr<OnnxSession> out(new OnnxSession(*runtime, spec));
  KB_TRY(out->load(stream, model));
  KB_TRY(out->describe());
  return out;
}

Status OnnxSession::check(OrtStatus* status, const std::string& subject) const {
  return runtime_->check(status, "ONNX Runtime failed while " + subject + " " + spec_.file,
                         "see GST_DEBUG=tensorinfer:6");
}

Status OnnxSession::load(void* stream, const std::string* model) {
  const OrtApi& api = runtime_->api();
  OrtSessionOptions* made = nullptr;
  KB_TRY(check(api.CreateSessionOptions(&made), "making options for"));
  const auto options = owned(made, api.ReleaseSessionOptions);
  KB_TRY(check(api.SetSessionGraphOptimizationLevel(made, ORT_ENABLE_ALL),
               "setting the optimisation of"));
  KB_TRY(set_threads(made));
  KB_TRY(append_provider(*runtime_, spec_, made, stream));
  return create(made, model);
}

/// The runtime's own choice is a thread per core of the machine, bound to it, whatever the process
/// may use of them. Its threads wait for work in a loop: under a quota that takes the time of those
/// that have some, and once it is used up all of them stop until the next period.
Status OnnxSession::set_threads(OrtSessionOptions* options) const {
  const CpuLimits cpus = read_cpu_limits();
  const OrtApi& api = runtime_->api();
  unsigned threads = spec_.threads;
  if (threads == 0 && cpus.limited()) threads = cpus.usable();
  GST_CAT_INFO(tensorinfer_debug,
               "%s: threads %u (0: chosen by the runtime), processors %u of %u, CPU quota %.2f (0: "
               "none)%s",
               spec_.file.c_str(), threads, cpus.allowed, cpus.online, cpus.quota,
               cpus.throttled() ? ", so threads do not wait in a loop" : "");
  if (threads > 0)
    KB_TRY(check(api.SetIntraOpNumThreads(options, static_cast<int>(threads)),
                 "setting the threads of"));
  if (!cpus.throttled()) return {};
  return check(
      api.AddSessionConfigEntry(options, kOrtSessionOptionsConfigAllowIntraOpSpinning, "0"),
      "setting the threads of");
}

Status OnnxSession::create(OrtSessionOptions* options, const std::string* model) {
  const OrtApi& api = runtime_->api();
  if (model != nullptr) {
    const std::string folder = std::filesystem::absolute(spec_.file).parent_path();
    KB_TRY(check(
        api.AddSessionConfigEntry(
            options, kOrtSessionOptionsModelExternalInitializersFileFolderPath, folder.c_str()),
        "setting the weights folder of"));
  }
  OrtSession* session = nullptr;
  OrtStatus* status =
      model == nullptr ? api.CreateSession(runtime_->env(), spec_.file.c_str(), options, &session)
                       : api.CreateSessionFromArray(runtime_->env(), model->data(), model->size(),
                                                    options, &session);
  session_.reset(session);
  const auto code = status != nullptr ? api.GetErrorCode(status) : ORT_OK;
  const bool no_model = code == ORT_INVALID_PROTOBUF || code == ORT_NO_MODEL;
  return runtime_->check(
      status, runtime_->name() + " cannot run " + spec_.file,
      no_model ? kNoModelHint
               : "set model-file= to another model, or export it again: external weights must be "
                 "next to it, and a newer opset requires a newer ONNX Runtime");
}

Result<ModelPort> OnnxSession::port(bool input, size_t index) const {
  const OrtApi& api = runtime_->api();
  OrtTypeInfo* type = nullptr;
  char* name = nullptr;
  KB_TRY(check((input ? api.SessionGetInputName : api.SessionGetOutputName)(
                   session_.get(), index, runtime_->allocator(), &name),
               "names in"));
  ModelPort out{.name = runtime_->taken_text(name)};
  KB_TRY(check((input ? api.SessionGetInputTypeInfo : api.SessionGetOutputTypeInfo)(session_.get(),
                                                                                    index, &type),
               "types in"));
  const auto holder = owned(type, api.ReleaseTypeInfo);
  const OrtTensorTypeAndShapeInfo* tensor = nullptr;
  KB_TRY(check(api.CastTypeInfoToTensorInfo(type, &tensor), "types in"));
  if (tensor == nullptr) return out;  // not a tensor but a sequence or a map
  ONNXTensorElementDataType element{};
  size_t rank = 0;
  KB_TRY(check(api.GetTensorElementType(tensor, &element), "types in"));
  KB_TRY(check(api.GetDimensionsCount(tensor, &rank), "shapes in"));
  out.type = core_type(element);
  out.dims.resize(rank);
  KB_TRY(check(api.GetDimensions(tensor, out.dims.data(), rank), "shapes in"));
  return out;
}

/// Outputs that cannot become tensors are not requested; the model runs without them.
void OnnxSession::add_output(ModelPort port) {
  const bool taken = port.type && port.dims.size() <= Shape::kMaxRank;
  (taken ? declaration_.outputs : declaration_.left_out).push_back(std::move(port));
}

Status OnnxSession::describe() {
  const OrtApi& api = runtime_->api();
  OrtMemoryInfo* host = nullptr;
  KB_TRY(check(api.CreateMemoryInfo("Cpu", OrtDeviceAllocator, 0, OrtMemTypeDefault, &host),
               "memory for"));
  host_.reset(host);
  declaration_.file = spec_.file;
  size_t inputs = 0, outputs = 0;
  KB_TRY(check(api.SessionGetInputCount(session_.get(), &inputs), "inputs of"));
  KB_TRY(check(api.SessionGetOutputCount(session_.get(), &outputs), "outputs of"));
  for (size_t i = 0; i < inputs + outputs; ++i) {
    const bool input = i < inputs;
    KB_ASSIGN(auto one, port(input, input ? i : i - inputs));
    if (input) declaration_.inputs.push_back(std::move(one));
    else add_output(std::move(one));
  }
  if (declaration_.outputs.empty())
    return fail(ErrorKind::kUnsupported, kNumbers + (" in an output of " + spec_.file),
                ports_text(declaration_.left_out), "export the model with such an output");
  take_batch();
  for (const ModelPort& each : declaration_.inputs) input_names_.push_back(each.name.c_str());
  for (const ModelPort& each : declaration_.outputs) output_names_.push_back(each.name.c_str());
  return read_metadata();
}

/// Takes the batch from the first picture. Ports of a fixed batch become those of one picture.
void OnnxSession::take_batch() {
  constexpr size_t kPictureRank = 4;
  const auto is_picture = [](const ModelPort& port) { return port.dims.size() == kPictureRank; };
  const auto picture = std::ranges::find_if(declaration_.inputs, is_picture);
  if (picture == declaration_.inputs.end() || picture->dims[0] == 0) return;
  declaration_.batch = picture->dims[0];
  if (declaration_.batch <= 1) return;
  for (auto* ports : {&declaration_.inputs, &declaration_.outputs})
    for (ModelPort& port : *ports)
      if (!port.dims.empty() && port.dims[0] == declaration_.batch) port.dims[0] = 1;
}

Status OnnxSession::read_metadata() {
  const OrtApi& api = runtime_->api();
  OrtModelMetadata* metadata = nullptr;
  KB_TRY(check(api.SessionGetModelMetadata(session_.get(), &metadata), "metadata of"));
  const auto holder = owned(metadata, api.ReleaseModelMetadata);
  char** keys = nullptr;
  int64_t count = 0;
  KB_TRY(check(
      api.ModelMetadataGetCustomMetadataMapKeys(metadata, runtime_->allocator(), &keys, &count),
      "metadata of"));
  const bool read = count <= kMaxMetadata;
  declaration_.metadata_left_out = read ? 0 : static_cast<size_t>(count);
  for (int64_t i = 0; i < count; ++i) {
    const std::string key = runtime_->taken_text(keys[i]);
    if (!read) continue;
    char* value = nullptr;
    KB_TRY(check(api.ModelMetadataLookupCustomMetadataMap(metadata, runtime_->allocator(),
                                                          key.c_str(), &value),
                 "metadata of"));
    declaration_.metadata[key] = runtime_->taken_text(value);
  }
  if (keys != nullptr) return check(api.AllocatorFree(runtime_->allocator(), keys), "metadata of");
  return {};
}

Result<OnnxValue> OnnxSession::tensor(void* data, size_t bytes, DataType type,
                                      std::span<const int64_t> dims,
                                      const OrtMemoryInfo* memory) const {
  OrtValue* value = nullptr;
  const auto* pair = std::ranges::find(kOnnxTypes, type, &TypePair::core);
  KB_TRY(check(runtime_->api().CreateTensorWithDataAsOrtValue(
                   memory != nullptr ? memory : host_.get(), data, bytes, dims.data(), dims.size(),
                   pair->onnx, &value),
               "wrapping an input of"));
  return OnnxValue(value, runtime_->api().ReleaseValue);
}

Result<ModelOutput> OnnxSession::output(OnnxValue value, const ModelPort& port) const {
  const OrtApi& api = runtime_->api();
  OrtTensorTypeAndShapeInfo* info = nullptr;
  KB_TRY(check(api.GetTensorTypeAndShape(value.get(), &info), "reading an output of"));
  const auto holder = owned(info, api.ReleaseTensorTypeAndShapeInfo);
  ONNXTensorElementDataType element{};
  size_t rank = 0;
  KB_TRY(check(api.GetTensorElementType(info, &element), "reading an output type of"));
  KB_TRY(check(api.GetDimensionsCount(info, &rank), "reading an output shape of"));
  const auto type = core_type(element);
  std::array<int64_t, Shape::kMaxRank> dims{};
  if (!type || rank > dims.size())
    return fail(ErrorKind::kUnsupported,
                kNumbers + (" from output " + port.name) + " of " + spec_.file,
                "a different type, or " + std::to_string(rank) + " dimensions",
                "export the model without that output");
  KB_TRY(check(api.GetDimensions(info, dims.data(), rank), "reading an output shape of"));
  std::array<size_t, Shape::kMaxRank> sizes{};
  std::ranges::transform(std::span(dims).first(rank), sizes.begin(), [](int64_t dim) {
    return static_cast<size_t>(std::max<int64_t>(dim, 0));
  });
  ModelOutput out{
      .type = *type,
      .shape = rank == 0 ? Shape{1} : Shape(std::span<const size_t>(sizes).first(rank))};
  out.bytes = out.shape.count().value_or(0) * size_of(out.type);
  void* data = nullptr;
  KB_TRY(check(api.GetTensorMutableData(value.get(), &data), "data of"));
  out.data = static_cast<std::byte*>(data);
  out.value = std::move(value);
  return out;
}

Result<OnnxRunOptions> OnnxSession::run_options() const {
  OrtRunOptions* made = nullptr;
  KB_TRY(check(runtime_->api().CreateRunOptions(&made), "making run options for"));
  return OnnxRunOptions(made, runtime_->api().ReleaseRunOptions);
}

Result<std::vector<ModelOutput>> OnnxSession::run(std::span<const OrtValue* const> inputs,
                                                  const OrtRunOptions* options) const {
  std::vector<OrtValue*> values(output_names_.size(), nullptr);
  OrtStatus* status =
      runtime_->api().Run(session_.get(), options, input_names_.data(), inputs.data(),
                          inputs.size(), output_names_.data(), values.size(), values.data());
  std::vector<OnnxValue> owners;
  for (OrtValue* value : values) owners.emplace_back(value, runtime_->api().ReleaseValue);
  KB_TRY(check(status, "running"));
  std::vector<ModelOutput> out;
  for (size_t i = 0; i < owners.size(); ++i) {
    KB_ASSIGN(auto one, output(std::move(owners[i]), declaration_.outputs[i]));
    out.push_back(std::move(one));
  }
  return out;
}

Status HostRun::bind(size_t input, std::span<std::byte> data, DataType type,
                     std::span<const int64_t> dims) {
  KB_ASSIGN(auto value, session_->tensor(data.data(), data.size(), type, dims));
  inputs_[input] = value.get();
  values_.push_back(std::move(value));
  return {};
}

Result<HostRun> HostRun::create(const OnnxSession& session, const OrtRunOptions* options,
                                const ModelFacts& facts, std::span<std::byte> pictures,
                                unsigned batch) {
  const auto& ports = session.declaration().inputs;
  HostRun out;
  out.session_ = &session;
  out.options_ = options;
  out.inputs_.resize(ports.size(), nullptr);
  KB_TRY(out.bind(facts.image_input, pictures, facts.input.type,
                  bound_dims(ports[facts.image_input], facts.input, batch)));
  for (const SizeInput& extra : facts.size_inputs) {
    const ModelPort& port = ports[extra.index];
    KB_ASSIGN(auto made, make_extra(port, extra.kind, facts.input.size, batch));
    KB_TRY(out.bind(extra.index, made.values, *port.type, made.dims));
    out.extras_.push_back(std::move(made.memory));
  }
  return out;
}

namespace {

constexpr const char* kProviderSuffix = "ExecutionProvider";
constexpr const char* kUnusable = " cannot be used";
constexpr const char* kUnknown = "Unknown provider name";  // begins the runtime's message

/// Returns the runtime's spelling of a provider, "OpenVINO" for "openvino"; empty if it has none.
std::string provider_stem(const OnnxRuntime& runtime, const std::string& name) {
  for (const std::string& full : runtime.providers()) {
    const std::string stem = full.substr(0, full.find(kProviderSuffix));
    if (g_ascii_strcasecmp(stem.c_str(), name.c_str()) == 0) return stem;
  }
  return {};
}

std::string list_of(const OnnxRuntime& runtime) {
  std::string out;
  for (const std::string& full : runtime.providers())
    append(out, full.substr(0, full.find(kProviderSuffix)));
  return out;
}

Status append_other(const OnnxRuntime& runtime, const SessionSpec& spec, OrtSessionOptions* options,
                    const std::string& stem) {
  std::vector<const char*> keys, values;
  std::string list;
  for (const auto& [key, value] : spec.provider_options) {
    keys.push_back(key.c_str());
    values.push_back(value.c_str());
    list += (list.empty() ? " with " : ", ") + key;
  }
  // Some are registered in capitals, unlike in the list.
  g_autofree gchar* capitals = g_ascii_strup(stem.c_str(), -1);
  const auto append = [&](const char* name) {
    return runtime.api().SessionOptionsAppendExecutionProvider(options, name, keys.data(),
                                                               values.data(), keys.size());
  };
  OrtStatus* refused = append(stem.c_str());
  if (refused != nullptr && g_str_has_prefix(runtime.api().GetErrorMessage(refused), kUnknown)) {
    runtime.api().ReleaseStatus(refused);
    refused = append(capitals);
  }
  return runtime.check(refused, "provider " + stem + " of " + runtime.name() + list + kUnusable,
                       "set provider=cpu, install what that provider requires, or correct "
                       "provider-options=");
}

/// Sets options of a provider one by one, so that an error names the one that is wrong.
template <class Options, class Update>
Status set_options(const OnnxRuntime& runtime, const SessionSpec& spec, Options* options,
                   Update update) {
  for (const auto& [key, value] : spec.provider_options) {
    const char *name = key.c_str(), *set = value.c_str();
    KB_TRY(runtime.check(update(options, &name, &set, 1),
                         "provider option " + key + "=" + value + " of " + runtime.name(),
                         "correct provider-options="));
  }
  return {};
}

/// Disables TF32, which rounds to ten bits, so that tensors equal those of the CPU up to rounding.
Status append_cuda(const OnnxRuntime& runtime, const SessionSpec& spec, OrtSessionOptions* options,
                   void* stream) {
  const OrtApi& api = runtime.api();
  const std::string hint =
      "install the CUDA libraries and cuDNN that this build requires (see "
      "GST_DEBUG=tensorinfer:4), or set provider=cpu";
  const std::string wanted = "provider cuda of " + runtime.name() + kUnusable;
  OrtCUDAProviderOptionsV2* made = nullptr;
  KB_TRY(runtime.check(api.CreateCUDAProviderOptions(&made), wanted, hint));
  const OnnxOwned<OrtCUDAProviderOptionsV2> cuda(made, api.ReleaseCUDAProviderOptions);
  const std::string device = std::to_string(spec.device);
  const char* const keys[] = {"device_id", "use_tf32", "enable_cuda_graph"};
  const char* const values[] = {device.c_str(), "0", spec.graph ? "1" : "0"};
  KB_TRY(runtime.check(api.UpdateCUDAProviderOptions(made, keys, values, std::size(keys)), wanted,
                       hint));
  KB_TRY(set_options(runtime, spec, made, api.UpdateCUDAProviderOptions));
  if (stream != nullptr)
    KB_TRY(runtime.check(
        api.UpdateCUDAProviderOptionsWithValue(made, "user_compute_stream", stream), wanted, hint));
  return runtime.check(api.SessionOptionsAppendExecutionProvider_CUDA_V2(options, made), wanted,
                       hint);
}

}  // namespace

Status append_provider(const OnnxRuntime& runtime, const SessionSpec& spec,
                       OrtSessionOptions* options, void* stream) {
  const std::string stem = provider_stem(runtime, spec.provider);
  if (stem.empty())
    return file_error(
        runtime.name() + " has no provider " + spec.provider + ", only " + list_of(runtime),
        "set provider= to one of these, or KEEPBOX_ONNXRUNTIME in the environment to a build with "
        "that provider");
  if (stem == "CUDA") return append_cuda(runtime, spec, options, stream);
  if (stem != "CPU") return append_other(runtime, spec, options, stem);
  if (spec.provider_options.empty()) return {};
  return reject(ErrorKind::kInvalid, "provider-options has no effect: provider=cpu has no options",
                "set provider=, or leave provider-options= unset");
}

}  // namespace keepbox
