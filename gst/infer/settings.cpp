// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings of a model, and of the provider that runs it, from properties.
#include "gst/infer/settings.h"

#include <glib.h>

#include <charconv>
#include <format>
#include <string_view>

#include "core/base/text.h"
#include "gst/base/infile.h"
#include "gst/infer/onnx/onnx.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

constexpr size_t kMaxTemplate = size_t{1} << 16;  // bytes

Result<std::optional<std::array<float, 3>>> three_numbers(const std::string& text,
                                                          const char* property) {
  if (text.empty()) return std::nullopt;
  std::array<float, 3> out{};
  g_auto(GStrv) parts = g_strsplit(text.c_str(), ",", -1);
  const guint count = g_strv_length(parts);
  bool good = count == 1 || count == 3;
  for (guint i = 0; i < count && good; ++i) {
    const std::string_view part = g_strstrip(parts[i]);
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), out[i]);
    good = error == std::errc{} && end == part.data() + part.size() && is_finite(out[i]);
  }
  if (!good)
    return reject(ErrorKind::kInvalid,
                  std::string(property) + "=" + text +
                      " is not a number or three comma-separated "
                      "numbers",
                  "set " + std::string(property) + "= to a value such as 123.675,116.28,103.53");
  if (count == 1) out = {out[0], out[0], out[0]};
  return out;
}

Result<AlignTemplate> align_template(const std::string& name) {
  if (name == "arcface-112") return arcface_template();
  KB_ASSIGN(const std::string text,
            read_text(name, kMaxTemplate, "set align=arcface-112, or a file"));
  return placed(parse_template(text), name);
}

/// Returns the name of a property of objects that is set although there are none, or nullptr.
const char* unused_setting(const InferProps& props) {
  if (!props.objects_of.empty()) return "objects-of";
  if (!props.include_classes.empty()) return "include-classes";
  if (props.tensor_mtd) return "tensor-mtd";
  return props.align.empty() ? nullptr : "align";
}

Status check_tensor_mtd(const InferProps& props) {
  if (!props.tensor_mtd || has_tensor_mtds()) return {};
  g_autofree gchar* version = gst_version_string();
  return reject(ErrorKind::kUnsupported,
                std::string("tensor-mtd=true is not possible with ") + version +
                    ": GstAnalyticsTensorMtd came with 1.28",
                "leave tensor-mtd unset, and read tensors of objects with boxsink or libkeepbox");
}

}  // namespace

Result<std::map<std::string, std::string>> provider_options(const InferProps& props) {
  std::map<std::string, std::string> out;
  if (props.provider_options.empty()) return out;
  g_auto(GStrv) parts = g_strsplit(props.provider_options.c_str(), ",", -1);
  for (gchar** part = parts; *part != nullptr; ++part) {
    const std::string_view text = g_strstrip(*part);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return reject(ErrorKind::kInvalid,
                    "provider-options has \"" + std::string(text) + "\", which is not KEY=VALUE",
                    "set provider-options= to KEY=VALUE,KEY=VALUE,...");
    out[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return out;
}

Result<TileGrid> tile_grid(const InferProps& props) {
  TileGrid out{.size = props.tile_size, .overlap = props.tile_overlap, .whole = props.tile_whole};
  if (props.tiles.empty() && props.tile_whole && props.tile_size == 0)
    return reject(ErrorKind::kInvalid, "tile-whole=true has no effect without tiles or tile-size",
                  "set tiles= or tile-size=, or tile-whole=false");
  if (props.tiles.empty()) return out;
  const char* const end = props.tiles.data() + props.tiles.size();
  const auto columns = std::from_chars(props.tiles.data(), end, out.columns);
  const bool cross = columns.ec == std::errc{} && columns.ptr != end && *columns.ptr == 'x';
  const auto rows = cross ? std::from_chars(columns.ptr + 1, end, out.rows) : columns;
  if (!cross || rows.ec != std::errc{} || rows.ptr != end || out.columns == 0 || out.rows == 0)
    return reject(ErrorKind::kInvalid, "tiles=" + props.tiles + " is not COLUMNSxROWS",
                  "set tiles= to a value such as 3x2");
  if (props.tile_size != 0)
    return reject(ErrorKind::kInvalid, "tiles and tile-size are both set",
                  "leave one of them unset");
  KB_TRY(check_grid(out));
  return out;
}

Result<std::optional<ObjectRules>> object_rules(const InferProps& props) {
  if (static_cast<Regions>(props.regions) == Regions::kFrame) {
    if (const char* name = unused_setting(props))
      return reject(ErrorKind::kInvalid, std::string(name) + " has no effect with regions=frame",
                    std::string("set regions=objects, or leave ") + name + " unset");
    return std::nullopt;
  }
  KB_TRY(check_tensor_mtd(props));
  if (props.resize_mode == kResizeToRectangle)
    return reject(ErrorKind::kInvalid, "resize-mode=rect is not possible with regions=objects",
                  "set resize-mode=stretch or letterbox-center");
  if (!props.tiles.empty() || props.tile_size != 0)
    return reject(ErrorKind::kInvalid, "tiles and regions are both set", "leave one of them unset");
  const bool regions = static_cast<Regions>(props.regions) == Regions::kRoi;
  if (regions && !props.objects_of.empty())
    return reject(ErrorKind::kInvalid, "objects-of has no effect with regions=roi",
                  "set regions=objects, or leave objects-of unset");
  if (props.again_growth > 0 && props.again_growth <= 1)
    return reject(ErrorKind::kInvalid,
                  std::format("again-growth={} is not possible", props.again_growth),
                  "set again-growth= above 1, such as 1.2 for 20 percent, or to 0");
  ObjectRules out{.regions = regions,
                  .model = props.objects_of,
                  .min_size = props.min_size,
                  .max_objects = props.max_objects,
                  .grow = props.grow,
                  .again_every = props.again_every,
                  .again_growth = props.again_growth};
  for (const std::string_view each : split(props.include_classes, ','))
    if (const std::string_view label = trimmed(each); !label.empty())
      out.classes.emplace_back(label);
  if (!props.align.empty()) {
    KB_ASSIGN(out.align, align_template(props.align));
  }
  return out;
}

Result<InputSettings> input_settings(const InferProps& props) {
  InputSettings out{.size = {props.input_width, props.input_height},
                    .order = static_cast<ChannelOrder>(props.channel_order)};
  KB_ASSIGN(const auto mean, three_numbers(props.input_mean, "input-mean"));
  KB_ASSIGN(const auto deviation, three_numbers(props.input_std, "input-std"));
  out.mean = mean;
  out.deviation = deviation;
  out.objects = static_cast<Regions>(props.regions) != Regions::kFrame;
  out.rectangle = props.resize_mode == kResizeToRectangle;
  if (out.rectangle) out.resize = ResizeMode::kLetterboxCenter;
  else if (props.resize_mode != kResizeOfModel)
    out.resize = static_cast<ResizeMode>(props.resize_mode);
  if (props.pad_value >= 0) out.pad = static_cast<uint8_t>(props.pad_value);
  return out;
}

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
