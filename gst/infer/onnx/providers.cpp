// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds a provider by the name that users know, and passes its options on.
#include "gst/infer/onnx/providers.h"

#include <glib/gstdio.h>

#include <cerrno>
#include <format>
#include <iterator>
#include <string>
#include <vector>

#include "gst/base/error.h"

namespace keepbox {
namespace {

constexpr const char* kProviderSuffix = "ExecutionProvider";
constexpr const char* kUnusable = " cannot be used";

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
    out += (out.empty() ? "" : ", ") + full.substr(0, full.find(kProviderSuffix));
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
  if (refused != nullptr) {
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

/// Returns a folder of engines for one model, runtime and number of pictures. TensorRT itself adds
/// its version and the GPU's architecture to the names of files.
std::string engine_folder(const OnnxRuntime& runtime, const SessionSpec& spec) {
  std::string key = runtime.name();
  for (const FileStamp& file : spec.files)
    key += std::format(" {}:{}:{}:{}", file.device, file.inode, file.bytes, file.modified);
  g_autofree gchar* hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key.c_str(), -1);
  g_autofree gchar* folder = g_build_filename(g_get_user_cache_dir(), "keepbox", "tensorrt", hash,
                                              std::to_string(spec.pictures).c_str(), nullptr);
  return folder;
}

/// Prefers TensorRT; operators that it lacks run on CUDA, on the same stream.
Status append_tensorrt(const OnnxRuntime& runtime, const SessionSpec& spec,
                       OrtSessionOptions* options, void* stream) {
  const OrtApi& api = runtime.api();
  const std::string wanted = "provider tensorrt of " + runtime.name() + kUnusable;
  const std::string hint = "install the TensorRT that this build requires, or set provider=cuda";
  OrtTensorRTProviderOptionsV2* made = nullptr;
  KB_TRY(runtime.check(api.CreateTensorRTProviderOptions(&made), wanted, hint));
  const OnnxOwned<OrtTensorRTProviderOptionsV2> owner(made, api.ReleaseTensorRTProviderOptions);
  const std::string device = std::to_string(spec.device), folder = engine_folder(runtime, spec);
  if (g_mkdir_with_parents(folder.c_str(), 0700) != 0)
    return file_error("Cannot make the folder for engines " + folder + ": " + g_strerror(errno),
                      "make it writable, or set XDG_CACHE_HOME");
  const char* const keys[] = {"device_id", "trt_engine_cache_enable", "trt_engine_cache_path",
                              "trt_timing_cache_enable", "trt_timing_cache_path"};
  const char* const values[] = {device.c_str(), "1", folder.c_str(), "1", folder.c_str()};
  KB_TRY(runtime.check(api.UpdateTensorRTProviderOptions(made, keys, values, std::size(keys)),
                       wanted, hint));
  KB_TRY(set_options(runtime, spec, made, api.UpdateTensorRTProviderOptions));
  if (stream != nullptr)
    KB_TRY(runtime.check(
        api.UpdateTensorRTProviderOptionsWithValue(made, "user_compute_stream", stream), wanted,
        hint));
  return runtime.check(api.SessionOptionsAppendExecutionProvider_TensorRT_V2(options, made), wanted,
                       hint);
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
        "set provider= to one of these, or runtime-library= to a build with that "
        "provider");
  if (stem == "CUDA") return append_cuda(runtime, spec, options, stream);
  if (stem == "Tensorrt") {
    KB_TRY(append_tensorrt(runtime, spec, options, stream));
    SessionSpec rest = spec;
    rest.provider_options.clear();
    return append_cuda(runtime, rest, options, stream);
  }
  if (stem != "CPU") return append_other(runtime, spec, options, stem);
  if (spec.provider_options.empty()) return {};
  return reject(ErrorKind::kInvalid, "provider-options has no effect: provider=cpu has no options",
                "set provider=, or leave provider-options= unset");
}

}  // namespace keepbox
