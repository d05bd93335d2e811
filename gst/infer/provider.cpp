// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses the provider of a model.
#include "gst/infer/provider.h"

#include <glib.h>

#include <string_view>

#include "gst/infer/onnx/onnx.h"
#include "gst/infer/settings/infersettings.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {
namespace {

bool is(const std::string& name, const char* other) {
  return g_ascii_strcasecmp(name.c_str(), other) == 0;
}

/// Returns "CUDA" for "CUDAExecutionProvider", the short name that users know.
std::string without_suffix(std::string name) {
  constexpr std::string_view kSuffix = "ExecutionProvider";
  if (name.ends_with(kSuffix)) name.resize(name.size() - kSuffix.size());
  return name;
}

/// Batches are settled by measurement on a GPU, and off on the CPU, unless they are set. TensorRT
/// would build an engine for each size that is measured, which takes minutes.
BatchRules batch_rules(const InferProps& props, const ProviderChoice& provider) {
  const bool measured = provider.cuda() && !provider.tensorrt();
  return {.size = props.batch_size == 0 && !measured ? 1 : props.batch_size,
          .timeout_ms = props.batch_timeout,
          .parallel = props.parallel_runs,
          .open = props.open_batch};
}

}  // namespace

bool ProviderChoice::cuda() const { return is(name, kCudaProvider) || tensorrt(); }
bool ProviderChoice::tensorrt() const { return is(name, kTensorRtProvider); }

bool is_automatic(const InferProps& props) { return is(props.provider, "auto"); }

Result<ProviderChoice> choose_provider(const InferProps& props) {
  if (!is_automatic(props)) return ProviderChoice{without_suffix(props.provider), "as set"};
  KB_ASSIGN(const ModelRuntime* runtime, load_onnx_runtime(props.runtime_library));
  const std::string name = runtime->name();
  if (!runtime->has_provider("CUDAExecutionProvider"))
    return ProviderChoice{"cpu", name + " has no CUDA provider"};
  if (!cuda_available()) return ProviderChoice{"cpu", "no CUDA driver, or a build without CUDA"};
  return ProviderChoice{kCudaProvider, name + " and a CUDA device"};
}

Status check_cuda(const InferProps& props, const ProviderChoice& provider) {
  KB_ASSIGN(const ModelRuntime* runtime, load_onnx_runtime(props.runtime_library));
  const bool tensorrt = provider.tensorrt();
  if (runtime->has_provider(tensorrt ? "TensorrtExecutionProvider" : "CUDAExecutionProvider"))
    return {};
  return reject(ErrorKind::kNoResource,
                runtime->name() + " has no " + (tensorrt ? kTensorRtProvider : kCudaProvider),
                "set provider=cpu, or runtime-library= to a build of ONNX Runtime for CUDA");
}

Result<SessionSpec> session_spec(const InferProps& props, const ProviderChoice& provider,
                                 Size size) {
  const bool cuda = provider.cuda();
  SessionSpec spec{.file = props.model_file,
                   .runtime_library = props.runtime_library,
                   .provider = provider.name,
                   .device = cuda ? props.device_id : 0,
                   .threads = cuda ? 0 : props.threads,
                   .graph = cuda && !provider.tensorrt() && props.cuda_graph,
                   .in_flight = cuda ? props.max_in_flight : 1,
                   .batch = batch_rules(props, provider),
                   .ahead = props.lookahead,
                   .files = file_stamps(props.model_file)};
  if (cuda || spec.batch.size > 1) {  // inputs have one size then
    spec.width = size == Size{} ? props.input_width : size.width;
    spec.height = size == Size{} ? props.input_height : size.height;
  }
  if (cuda || !is_automatic(props)) {
    KB_ASSIGN(spec.provider_options, provider_options(props));
  }
  return spec;
}

SessionSpec trial_spec(const InferProps& props) {
  return {.file = props.model_file,
          .runtime_library = props.runtime_library,
          .provider = "cpu",
          .threads = props.threads,
          .files = file_stamps(props.model_file)};
}

}  // namespace keepbox
