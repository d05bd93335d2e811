// SPDX-License-Identifier: LGPL-2.1-or-later
// One table of tensorinfer's properties: name, blurb, range, default and where the value is kept.
#include "gst/infer/inferprops.h"

#include <charconv>

#include "gst/base/enums.h"

namespace keepbox {
namespace {

constexpr guint kMostInputSide = 1u << 14;
constexpr int kModelsOwn = -1;

GType channel_order_type() {
  static const GType type = register_enum(
      "KeepboxChannelOrder",
      {{static_cast<int>(ChannelOrder::kAuto), "auto",
        "B, G, R for the heads of YOLOX, which was trained so and whose files do not say it; R, G, B "
        "for all others."},
       {static_cast<int>(ChannelOrder::kRgb), "rgb", "The model's first channel is red."},
       {static_cast<int>(ChannelOrder::kBgr), "bgr",
        "The model's first channel is blue, as OpenCV reads pictures."}});
  return type;
}

GType input_resize_type() {
  static const GType type = register_enum(
      "KeepboxInputResizeMode",
      {{kModelsOwn, "auto",
        "As the model's family was trained: Ultralytics centred, YOLOX top left, D-FINE, RT-DETR and "
        "PaddleDetection stretched; centred where nothing is known."},
       {static_cast<int>(ResizeMode::kStretch), "stretch",
        "Each axis scaled on its own to the whole input."},
       {static_cast<int>(ResizeMode::kLetterboxCenter), "letterbox-center",
        "The aspect ratio kept, padded equally on both sides."},
       {static_cast<int>(ResizeMode::kLetterboxTopLeft), "letterbox-topleft",
        "The aspect ratio kept, padded at the right or the bottom."},
       {static_cast<int>(ResizeMode::kLetterboxScaler), "letterbox-scaler",
        "As videoconvertscale with add-borders=true places the picture."}});
  return type;
}

const Property<InferProps> kInferProperties[] = {
    {"model-file",
     "ONNX file of the model. Class names, family and input size come from Ultralytics' metadata "
     "in it, from GStreamer's tensor ids in it, or from a .modelinfo beside it.",
     &InferProps::model_file},
    {"runtime-library",
     "File or name of ONNX Runtime's library, 1.16 or newer; empty takes that of KEEPBOX_ONNXRUNTIME in "
     "the environment, else libonnxruntime.so.1 or the distribution's.",
     &InferProps::runtime_library},
    {"provider",
     "Where the model runs: cpu; cuda, with frames, input and tensors in the GPU's memory; auto, which "
     "is cuda where the library and a device offer it and cpu elsewhere; or another provider of the "
     "library by its name, with frames and tensors in system memory (not tried).",
     &InferProps::provider},
    {"device-id", "GPU that the model runs on; -1 takes that of the pipeline, or the first.",
     &InferProps::device_id},
    {"threads", "Threads that run the model on the CPU; 0 leaves it to ONNX Runtime.",
     &InferProps::threads, nullptr, 0, 1024},
    {"input-width",
     "Width of the model's input in pixels, where the model leaves it open; 0 takes what the model or "
     "its metadata say.",
     &InferProps::input_width, nullptr, 0, kMostInputSide},
    {"input-height", "Height of the model's input in pixels; 0 as for input-width.",
     &InferProps::input_height, nullptr, 0, kMostInputSide},
    {"channel-order", "Order of the colours that the model was trained with.",
     &InferProps::channel_order, channel_order_type},
    {"resize-mode", "How frames are fitted into the model's input. Boxes come back by the same way.",
     &InferProps::resize_mode, input_resize_type},
    {"input-mean",
     "What is subtracted from pixels of 0 to 255 first: a number, or three with commas, of R, G, B; empty "
     "takes what is known of the model, else 0.",
     &InferProps::input_mean},
    {"input-std",
     "What they are divided by then, as input-mean: 1 leaves 0 to 255, 255 makes 0 to 1; empty takes what "
     "is known of the model, else 255 for floats and 1 for integers.",
     &InferProps::input_std},
    {"pad-value",
     "Grey of 0 to 255 of what the picture leaves free of the input; -1 takes what is known of the "
     "model, else 114.",
     &InferProps::pad_value, nullptr, kModelsOwn, 255},
    {.name = "interval",
     .blurb = "Every how many frames the model runs: 1 for each, 3 for each third.",
     .member = &InferProps::interval, .lowest = 1, .highest = G_MAXINT, .live = true},
    {.name = "hold",
     .blurb = "Frames between get the tensors of the last run again, so that they have its boxes: at most "
              "interval - 1 of them, and none behind a flush, a new segment or new caps, where the model "
              "runs at once. Else they have none, which is no mismatch.",
     .member = &InferProps::hold, .live = true},
    {"max-in-flight",
     "Most frames that the GPU works on at once; the stream waits for the oldest of them.",
     &InferProps::max_in_flight, nullptr, 1, 16},
    {"cuda-graph",
     "Captures the model's launches once and replays them with each frame, where the model allows that.",
     &InferProps::cuda_graph},
};

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
    return fail(ErrorKind::kInvalid, "a number, or three with commas, in " + std::string(property),
                '"' + text + '"', "set " + std::string(property) + "= as in 123.675,116.28,103.53");
  if (count == 1) out = {out[0], out[0], out[0]};
  return out;
}

}  // namespace

const PropertyTable<InferProps>& infer_properties() {
  static constexpr PropertyTable<InferProps> table(kInferProperties, kChangeWhenReady);
  return table;
}

Result<InputSettings> input_settings(const InferProps& props) {
  InputSettings out{.size = {props.input_width, props.input_height},
                    .order = static_cast<ChannelOrder>(props.channel_order)};
  const auto mean = three_numbers(props.input_mean, "input-mean");
  if (!mean) return std::unexpected(mean.error());
  const auto deviation = three_numbers(props.input_std, "input-std");
  if (!deviation) return std::unexpected(deviation.error());
  out.mean = *mean;
  out.deviation = *deviation;
  if (props.resize_mode != kModelsOwn) out.resize = static_cast<ResizeMode>(props.resize_mode);
  if (props.pad_value >= 0) out.pad = static_cast<uint8_t>(props.pad_value);
  return out;
}

}  // namespace keepbox
