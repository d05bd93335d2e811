// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings of a model, and of the provider that runs it, from properties.
#include "gst/infer/settings.h"

#include <glib.h>

#include <charconv>
#include <string_view>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "gst/infer/onnx/session.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/labels.h"
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

constexpr std::string_view kWhole = "+whole";
constexpr float kMaxOverlap = 0.9f;

/// Parses "AxB", or "A" for "AxA"; none if it is malformed or a number is 0.
std::optional<Size> sides_in(std::string_view text) {
  const auto cross = text.find('x');
  Size out;
  const bool good = parse(text.substr(0, cross), out.width) &&
                    parse(cross == text.npos ? text : text.substr(cross + 1), out.height);
  return good && out.width > 0 && out.height > 0 ? std::optional(out) : std::nullopt;
}

/// Parses the overlap of tiles.
std::optional<float> overlap_in(std::string_view text) {
  float out = 0;
  const bool good = parse_finite(text, out) && out >= 0 && out <= kMaxOverlap;
  return good ? std::optional(out) : std::nullopt;
}

Result<Size> input_size(const InferProps& props) {
  if (props.input_size.empty()) return Size{};
  if (const auto size = sides_in(props.input_size)) return *size;
  return reject(ErrorKind::kInvalid,
                "input-size=" + props.input_size + " is not WIDTHxHEIGHT or one number",
                "set input-size= to a value such as 640x384, or 640 for a square");
}

/// When a model runs again on a tracked object.
struct Reinfer {
  unsigned frames = 1;  // 0: never
  float growth = 0;     // 0: none
};

Result<Reinfer> reinfer_of(const InferProps& props) {
  Reinfer out;
  const auto parts = split(props.reinfer, ',');
  const bool good = parts.size() <= 2 && parse(parts[0], out.frames) &&
                    (parts.size() == 1 || (parse_finite(parts[1], out.growth) && out.growth > 1));
  if (good || props.reinfer.empty()) return out;
  return reject(ErrorKind::kInvalid,
                "reinfer=" + props.reinfer +
                    " is not a number of frames, or one and a growth above 1 with a comma between",
                "set reinfer= to a value such as 30, or 30,1.2 for 20 percent of growth, too");
}

/// Returns the name of a property of objects that is set although there are none, or nullptr.
const char* unused_setting(const InferProps& props) {
  const InferProps defaults;
  if (props.objects_of != defaults.objects_of) return "objects-of";
  if (props.include_classes != defaults.include_classes) return "include-classes";
  if (props.min_size != defaults.min_size) return "min-size";
  if (props.grow != defaults.grow) return "grow";
  if (props.align != defaults.align) return "align";
  if (props.reinfer != defaults.reinfer && !props.reinfer.empty()) return "reinfer";
  return props.tensor_mtd ? "tensor-mtd" : nullptr;
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
  TileGrid out;
  if (props.tiles.empty()) return out;
  std::string_view text = props.tiles;
  out.whole = text.ends_with(kWhole);
  if (out.whole) text.remove_suffix(kWhole.size());
  const auto at = text.find('@');
  const auto overlap =
      at == text.npos ? std::optional(out.overlap) : overlap_in(text.substr(at + 1));
  text = text.substr(0, at);
  const auto cross = sides_in(text);
  const bool by_size = text.find('x') == text.npos;
  if (!cross || !overlap)
    return reject(ErrorKind::kInvalid,
                  "tiles=" + props.tiles + " is not COLUMNSxROWS or a side in pixels, each with " +
                      "@OVERLAP of 0 to 0.9 and +whole if wanted",
                  "set tiles= to a value such as 3x2, 640 or 640@0.2+whole");
  out.overlap = *overlap;
  if (by_size) out.size = cross->width;
  else out.columns = cross->width, out.rows = cross->height;
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
  if (!props.tiles.empty())
    return reject(ErrorKind::kInvalid, "tiles and regions are both set", "leave one of them unset");
  const bool regions = static_cast<Regions>(props.regions) == Regions::kRoi;
  if (regions && !props.objects_of.empty())
    return reject(ErrorKind::kInvalid, "objects-of has no effect with regions=roi",
                  "set regions=objects, or leave objects-of unset");
  KB_ASSIGN(const Reinfer reinfer, reinfer_of(props));
  ObjectRules out{.regions = regions,
                  .model = props.objects_of,
                  .min_size = props.min_size,
                  .grow = props.grow,
                  .again_every = reinfer.frames,
                  .again_growth = reinfer.growth};
  const auto [kept, dropped] = class_choice(props.include_classes);
  out.classes.assign(kept.begin(), kept.end());
  out.dropped_classes.assign(dropped.begin(), dropped.end());
  std::erase(out.classes, "");
  if (!props.align.empty()) {
    KB_ASSIGN(out.align, align_template(props.align));
  }
  return out;
}

Result<InputSettings> input_settings(const InferProps& props) {
  InputSettings out{.order = static_cast<ChannelOrder>(props.channel_order)};
  KB_ASSIGN(out.size, input_size(props));
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

/// Batches are settled by measurement on a GPU, and off on the CPU, unless they are set.
BatchRules batch_rules(const InferProps& props, const ProviderChoice& provider) {
  return {.size = props.batch_size == 0 && !provider.cuda() ? 1 : props.batch_size,
          .timeout_ms = props.batch_timeout};
}

/// True unless the provider's own option turns them off.
bool uses_graphs(const SessionSpec& spec) {
  const auto set = spec.provider_options.find("enable_cuda_graph");
  return set == spec.provider_options.end() || set->second != "0";
}

}  // namespace

bool ProviderChoice::cuda() const { return is(name, kCudaProvider); }

bool is_automatic(const InferProps& props) { return is(props.provider, "auto"); }

Result<ProviderChoice> choose_provider(const InferProps& props) {
  if (!is_automatic(props)) return ProviderChoice{without_suffix(props.provider), "as set"};
  KB_ASSIGN(const OnnxRuntime* runtime, OnnxRuntime::load());
  const std::string name = runtime->name();
  if (!runtime->has_provider("CUDAExecutionProvider"))
    return ProviderChoice{"cpu", name + " has no CUDA provider"};
  if (!cuda_available()) return ProviderChoice{"cpu", "no CUDA driver, or a build without CUDA"};
  return ProviderChoice{kCudaProvider, name + " and a CUDA device"};
}

Status check_cuda() {
  KB_ASSIGN(const OnnxRuntime* runtime, OnnxRuntime::load());
  if (runtime->has_provider("CUDAExecutionProvider")) return {};
  return reject(ErrorKind::kNoResource, runtime->name() + " has no " + kCudaProvider,
                "set provider=cpu, or KEEPBOX_ONNXRUNTIME in the environment to a build of ONNX "
                "Runtime for CUDA");
}

Result<SessionSpec> session_spec(const InferProps& props, const ProviderChoice& provider,
                                 Size size) {
  const bool cuda = provider.cuda();
  SessionSpec spec{.file = props.model_file,
                   .provider = provider.name,
                   .device = cuda ? props.device_id : 0,
                   .threads = cuda ? 0 : props.threads,
                   .batch = batch_rules(props, provider),
                   .ahead = props.lookahead,
                   .files = file_stamps(props.model_file)};
  if (cuda || spec.batch.size > 1) {  // inputs have one size then
    KB_ASSIGN(const Size set, input_size(props));
    spec.width = size == Size{} ? set.width : size.width;
    spec.height = size == Size{} ? set.height : size.height;
  }
  if (cuda || !is_automatic(props)) {
    KB_ASSIGN(spec.provider_options, provider_options(props));
  }
  spec.graph = cuda && uses_graphs(spec);
  return spec;
}

SessionSpec trial_spec(const InferProps& props) {
  return {.file = props.model_file,
          .provider = "cpu",
          .threads = props.threads,
          .files = file_stamps(props.model_file)};
}

}  // namespace keepbox
