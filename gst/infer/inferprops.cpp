// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of tensorinfer's properties: name, blurb, range, default and where the value is kept.
#include "gst/infer/inferprops.h"

#include <charconv>

#include "gst/base/enums.h"
#include "gst/base/plainfile.h"
#include "gst/base/words.h"

namespace keepbox {
namespace {

constexpr guint kMaxInputSide = 1u << 14;
constexpr size_t kMaxTemplate = size_t{1} << 16;  // bytes
constexpr int kModelsOwn = -1;
constexpr int kRectangle = 100;  // of resize-mode; the others are ResizeMode's

GType channel_order_type() {
  static const GType type = register_enum(
      "KeepboxChannelOrder",
      {{static_cast<int>(ChannelOrder::kAuto), "auto",
        "B, G, R for YOLOX models, which are trained that way although their files do not declare "
        "it; R, G, B for all others."},
       {static_cast<int>(ChannelOrder::kRgb), "rgb", "The first channel of the input is red."},
       {static_cast<int>(ChannelOrder::kBgr), "bgr",
        "The first channel of the input is blue, as in OpenCV."}});
  return type;
}

GType input_resize_type() {
  static const GType type = register_enum(
      "KeepboxInputResizeMode",
      {{kModelsOwn, "auto",
        "As the model's family was trained: centred for Ultralytics, top left for YOLOX, stretched "
        "for D-FINE, RT-DETR and PaddleDetection; centred for unknown models."},
       {static_cast<int>(ResizeMode::kStretch), "stretch",
        "Scale each axis independently to fill the input."},
       {static_cast<int>(ResizeMode::kLetterboxCenter), "letterbox-center",
        "Keep the aspect ratio and pad equally on both sides."},
       {static_cast<int>(ResizeMode::kLetterboxTopLeft), "letterbox-topleft",
        "Keep the aspect ratio and pad on the right or at the bottom."},
       {static_cast<int>(ResizeMode::kLetterboxScaler), "letterbox-scaler",
        "Keep the aspect ratio and pad as videoconvertscale add-borders=true does."},
       {static_cast<int>(ResizeMode::kCrop), "crop",
        "Keep the aspect ratio, fill the input and cut off equally on both sides what does not "
        "fit, as torchvision's Resize and CenterCrop do. Objects in the parts cut off are not "
        "found."},
       {kRectangle, "rect",
        "As letterbox-center, with the padding cut down to what the model's stride needs: 640x384 "
        "for frames of 16:9. Needs a model of dynamic width and height, which is loaded for each "
        "size of frames."}});
  return type;
}

enum class Regions { kFrame, kObjects, kRoi };

GType regions_type() {
  static const GType type = register_enum(
      "KeepboxRegions",
      {{static_cast<int>(Regions::kFrame), "frame", "The model is given whole frames, or tiles."},
       {static_cast<int>(Regions::kObjects), "objects",
        "The model is given each object that a decoder upstream found, cut out of the frame; "
        "oriented boxes are rotated upright. Frames without objects are not run."},
       {static_cast<int>(Regions::kRoi), "roi",
        "As objects, for what other elements found: regions of interest "
        "(GstVideoRegionOfInterestMeta), which get boxes, and boxes of decoders other than "
        "boxdecode. The properties of objects apply."}});
  return type;
}

const Property<InferProps> kInferProperties[] = {
    {"model-file",
     "ONNX file of the model. Class names, family and input size are taken from Ultralytics "
     "metadata or GStreamer tensor ids in it, or from a .modelinfo file next to it.",
     &InferProps::model_file},
    {"runtime-library",
     "File or name of the ONNX Runtime library, 1.16 or newer. Empty takes the one named by the "
     "KEEPBOX_ONNXRUNTIME environment variable, or else libonnxruntime.so.1 or the distribution's "
     "library.",
     &InferProps::runtime_library},
    {"provider",
     "Where the model runs: cpu; cuda, with frames, input and tensors in GPU memory; auto, which "
     "is cuda if the library and a device support it, and cpu otherwise; tensorrt (untested), as "
     "cuda, with engines built at the first start and kept in the user's cache folder; or the name "
     "of another provider of the library (untested), with frames and tensors in system memory.",
     &InferProps::provider},
    {"provider-options",
     "Options of the provider as KEY=VALUE,..., with the keys of ONNX Runtime, such as "
     "cudnn_conv_algo_search=HEURISTIC for cuda.",
     &InferProps::provider_options},
    {"device-id", "GPU that the model runs on; -1 takes the pipeline's GPU, or the first one.",
     &InferProps::device_id},
    {"threads", "Number of CPU threads that run the model; 0 lets ONNX Runtime choose.",
     &InferProps::threads, nullptr, 0, 1024},
    {"input-width",
     "Width of the model input in pixels, if it is dynamic in the model; 0 takes the width given "
     "by the model or its metadata.",
     &InferProps::input_width, nullptr, 0, kMaxInputSide},
    {"input-height", "Height of the model input in pixels; 0 as for input-width.",
     &InferProps::input_height, nullptr, 0, kMaxInputSide},
    {"channel-order", "Order of the colour channels that the model was trained with.",
     &InferProps::channel_order, channel_order_type},
    {"resize-mode",
     "How frames are fitted into the model input. Boxes are mapped back accordingly.",
     &InferProps::resize_mode, input_resize_type},
    {"input-mean",
     "Value subtracted from pixels (0 to 255) first: one number, or three comma-separated numbers "
     "for R, G, B. Empty takes the value known for the model, or else 0.",
     &InferProps::input_mean},
    {"input-std",
     "Divisor applied after input-mean, in the same form: 1 keeps 0 to 255, 255 gives 0 to 1. "
     "Empty takes the value known for the model, or else 255 for floats and 1 for integers.",
     &InferProps::input_std},
    {"pad-value",
     "Grey level (0 to 255) of the padding; -1 takes the value known for the model, or else 114.",
     &InferProps::pad_value, nullptr, kModelsOwn, 255},
    {.name = "interval",
     .blurb = "Run the model on every Nth frame; 1 runs it on every frame.",
     .member = &InferProps::interval,
     .lowest = 1,
     .highest = G_MAXINT,
     .live = true},
    {.name = "hold",
     .blurb = "Attach the tensors of the last run to skipped frames, too, so that they keep its "
              "boxes: at most interval - 1 times, and never across a flush, a new segment or new "
              "caps, after which the model runs at once. If false, skipped frames have no tensors, "
              "which is not a mismatch. It has no effect with regions=objects, for which see "
              "again-every.",
     .member = &InferProps::hold,
     .live = true},
    {"max-in-flight",
     "Maximum number of frames in flight on the GPU while frames run one by one; the stream waits "
     "for the oldest of them.",
     &InferProps::max_in_flight, nullptr, 1, 16},
    {"cuda-graph",
     "Capture the model's kernel launches once and replay them for each frame, if the model allows "
     "it.",
     &InferProps::cuda_graph},
    {"batch-size",
     "Maximum number of frames, tiles or objects per run of the model. Elements with the same "
     "model "
     "and the same settings run their frames together: a run has the frames that came during the "
     "run before, "
     "and a stream alone does not wait. 0 measures on a GPU up to which size batches are worth it, "
     "and is 1 on the CPU. 1 runs frame by frame.",
     &InferProps::batch_size, nullptr, 0, 1024},
    {"batch-timeout",
     "Time in milliseconds that a frame waits for others, so that batches are larger.",
     &InferProps::batch_timeout, nullptr, 0, 10000},
    {"open-batch",
     "Run a model that was exported for one picture in batches, after its results in a batch were "
     "found to be the same. The file is not changed.",
     &InferProps::open_batch},
    {"parallel-runs",
     "Number of sessions side by side on a GPU, for several elements with a model that cannot run "
     "batches; each needs memory for the model. 0 is up to 4.",
     &InferProps::parallel_runs, nullptr, 0, 16},
    {"lookahead",
     "Number of frames that the element holds back, so that a file alone fills batches. Adds the "
     "latency of that many frames.",
     &InferProps::lookahead, nullptr, 0, 64},
    {"tiles",
     "Run the model on overlapping parts of each frame, such as 3x2 for three columns and two "
     "rows, so that objects that are small in the frame are large enough in the model input. "
     "boxdecode joins their boxes (see tile-merge there). On a GPU the tiles of a frame are one "
     "batch, on the CPU with batch-size. Empty runs the model on whole frames.",
     &InferProps::tiles},
    {"tile-size",
     "Side of square tiles in frame pixels, instead of tiles; as many as cover the frame. 0 means "
     "no tiles.",
     &InferProps::tile_size, nullptr, 0, kMaxInputSide},
    {"tile-overlap",
     "Overlap of neighbouring tiles as a fraction of their side; objects up to that size are whole "
     "in one of them.",
     &InferProps::tile_overlap, nullptr, 0, 0.9},
    {"tile-whole",
     "Run the model on the whole frame, too, for objects that are larger than the overlap of "
     "tiles.",
     &InferProps::tile_whole},
    {"regions",
     "What the model is given. With objects, its tensors have one image per object, which "
     "classdecode turns into classes or text of the object, and boxdecode into boxes that are its "
     "parts; resize-mode fits objects into the input, by default stretched for models of unknown "
     "origin.",
     &InferProps::regions, regions_type},
    {"objects-of",
     "With regions=objects, the model whose boxes are taken, by the name that its decoder gives "
     "(model-name); empty takes all.",
     &InferProps::objects_of},
    {"include-classes",
     "With regions=objects, labels of the boxes that are taken, separated by commas; empty takes "
     "all.",
     &InferProps::include_classes},
    {"min-size", "With regions=objects, the least shorter side of a box in pixels of the frame.",
     &InferProps::min_size, nullptr, 0, kMaxInputSide},
    {"max-objects",
     "With regions=objects, the maximum number of objects per frame, best scores first.",
     &InferProps::max_objects, nullptr, 1, 1024},
    {"grow", "With regions=objects, factor by which the sides of boxes are enlarged.",
     &InferProps::grow, nullptr, 0.1, 10},
    {"again-every",
     "With regions=objects, number of frames after which the model runs again on an object with a "
     "tracking id (see boxtrack): 1 runs it on each frame, 0 once per object. classdecode keeps "
     "its results in between.",
     &InferProps::again_every, nullptr, 0, G_MAXINT},
    {"align",
     "With regions=objects, a template that the keypoints of objects are aligned to by a "
     "similarity transform: arcface-112 for five points of a face, or a file with width and "
     "height in the first line and x and y of one keypoint in each further one (- for a keypoint "
     "that does not count). Objects without keypoints are not run.",
     &InferProps::align},
    {.name = "qos",
     .blurb = "Let frames of a live source pass without inference if the sink reports that they "
              "will be late: they are held or skipped as frames between intervals are. Frames of "
              "files are never skipped.",
     .member = &InferProps::qos,
     .live = true},
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
    return fail(ErrorKind::kInvalid,
                "one number, or three comma-separated ones, in " + std::string(property),
                '"' + text + '"',
                "set " + std::string(property) + "= to a value such as 123.675,116.28,103.53");
  if (count == 1) out = {out[0], out[0], out[0]};
  return out;
}

}  // namespace

const PropertyTable<InferProps>& infer_properties() {
  static constexpr PropertyTable<InferProps> table(kInferProperties, kChangeWhenReady);
  return table;
}

Result<std::map<std::string, std::string>> provider_options(const InferProps& props) {
  std::map<std::string, std::string> out;
  if (props.provider_options.empty()) return out;
  g_auto(GStrv) parts = g_strsplit(props.provider_options.c_str(), ",", -1);
  for (gchar** part = parts; *part != nullptr; ++part) {
    const std::string_view text = g_strstrip(*part);
    const size_t equals = text.find('=');
    if (equals == std::string_view::npos || equals == 0)
      return fail(ErrorKind::kInvalid, "KEY=VALUE in provider-options",
                  '"' + std::string(text) + '"', "separate the options by commas");
    out[std::string(text.substr(0, equals))] = text.substr(equals + 1);
  }
  return out;
}

Result<TileGrid> tile_grid(const InferProps& props) {
  TileGrid out{.size = props.tile_size, .overlap = props.tile_overlap, .whole = props.tile_whole};
  if (props.tiles.empty() && props.tile_whole && props.tile_size == 0)
    return fail(ErrorKind::kInvalid, "tiles or tile-size together with tile-whole", "neither",
                "set tiles= or tile-size=, or tile-whole=false");
  if (props.tiles.empty()) return out;
  const char* const end = props.tiles.data() + props.tiles.size();
  const auto columns = std::from_chars(props.tiles.data(), end, out.columns);
  const bool cross = columns.ec == std::errc{} && columns.ptr != end && *columns.ptr == 'x';
  const auto rows = cross ? std::from_chars(columns.ptr + 1, end, out.rows) : columns;
  if (!cross || rows.ec != std::errc{} || rows.ptr != end || out.columns == 0 || out.rows == 0)
    return fail(ErrorKind::kInvalid, "COLUMNSxROWS in tiles", '"' + props.tiles + '"',
                "set tiles= to a value such as 3x2");
  if (props.tile_size != 0)
    return fail(ErrorKind::kInvalid, "either tiles or tile-size", "both",
                "leave one of them unset");
  KB_TRY(check_grid(out));
  return out;
}

namespace {

Result<AlignTemplate> align_template(const std::string& name) {
  if (name == "arcface-112") return arcface_template();
  KB_ASSIGN(const std::string text,
            read_text(name, kMaxTemplate, "set align=arcface-112, or a file"));
  auto out = parse_template(text);
  if (!out) {
    out.error().expected += " (" + name + ")";
    return std::unexpected(out.error());
  }
  return out;
}

/// Returns the name of a property of objects that is set although there are none, or nullptr.
const char* unused_setting(const InferProps& props) {
  if (!props.objects_of.empty()) return "objects-of";
  if (!props.include_classes.empty()) return "include-classes";
  return props.align.empty() ? nullptr : "align";
}

}  // namespace

Result<std::optional<ObjectRules>> object_rules(const InferProps& props) {
  if (static_cast<Regions>(props.regions) == Regions::kFrame) {
    if (const char* name = unused_setting(props))
      return fail(ErrorKind::kInvalid, std::string("regions=objects together with ") + name,
                  "regions=frame", std::string("set regions=objects, or leave ") + name + " unset");
    return std::nullopt;
  }
  if (props.resize_mode == kRectangle)
    return fail(ErrorKind::kInvalid, "another resize-mode for regions=objects", "rect",
                "set resize-mode=stretch or letterbox-center");
  if (!props.tiles.empty() || props.tile_size != 0)
    return fail(ErrorKind::kInvalid, "either tiles or regions=objects", "both",
                "leave one of them unset");
  const bool regions = static_cast<Regions>(props.regions) == Regions::kRoi;
  if (regions && !props.objects_of.empty())
    return fail(ErrorKind::kInvalid, "regions=objects together with objects-of", "regions=roi",
                "set regions=objects, or leave objects-of unset");
  ObjectRules out{.regions = regions,
                  .model = props.objects_of,
                  .min_size = props.min_size,
                  .most = props.max_objects,
                  .grow = props.grow,
                  .again_every = props.again_every};
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
  const auto mean = three_numbers(props.input_mean, "input-mean");
  if (!mean) return std::unexpected(mean.error());
  const auto deviation = three_numbers(props.input_std, "input-std");
  if (!deviation) return std::unexpected(deviation.error());
  out.mean = *mean;
  out.deviation = *deviation;
  out.objects = static_cast<Regions>(props.regions) != Regions::kFrame;
  out.rectangle = props.resize_mode == kRectangle;
  if (out.rectangle) out.resize = ResizeMode::kLetterboxCenter;
  else if (props.resize_mode != kModelsOwn) out.resize = static_cast<ResizeMode>(props.resize_mode);
  if (props.pad_value >= 0) out.pad = static_cast<uint8_t>(props.pad_value);
  return out;
}

}  // namespace keepbox
