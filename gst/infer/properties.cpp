// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of tensorinfer's properties: name, blurb, range, default and where the value is kept.
#include "gst/infer/properties.h"

#include "gst/base/props.h"
#include "gst/infer/facts/modelfacts.h"

namespace keepbox {
namespace {

constexpr guint kMaxInputSide = 1u << 14;

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
      {{kResizeOfModel, "auto",
        "As the model's family was trained: centred for Ultralytics, top left for YOLOX, "
        "stretched for D-FINE, RT-DETR and PaddleDetection, centred for unknown models."},
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
       {kResizeToRectangle, "rect",
        "As letterbox-center, with no more padding than the model's stride requires: 640x384 for "
        "16:9 frames. Requires a model with dynamic width and height, which is loaded for each "
        "frame size."}});
  return type;
}

GType regions_type() {
  static const GType type = register_enum(
      "KeepboxRegions",
      {{static_cast<int>(Regions::kFrame), "frame", "Whole frames, or tiles of them."},
       {static_cast<int>(Regions::kObjects), "objects",
        "Each object that a decoder upstream found, cut out of the frame; oriented boxes are "
        "rotated upright. The model does not run on frames without objects."},
       {static_cast<int>(Regions::kRoi), "roi",
        "Each region of interest of other elements (GstVideoRegionOfInterestMeta), which gets a "
        "box, and each box of decoders other than boxdecode. The properties of objects apply."}});
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
    {"threads",
     "Number of CPU threads that run the model. 0 is a thread per core of the machine, or per "
     "processor if the process may use only some of them: by its affinity or the CPU quota of its "
     "container.",
     &InferProps::threads, nullptr, 0, 1024},
    {"input-width",
     "Width of the model input in pixels, if it is dynamic in the model; 0 takes the width given "
     "by the model or its metadata.",
     &InferProps::input_width, nullptr, 0, kMaxInputSide},
    {"input-height", "Height of the model input in pixels; see input-width.",
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
     &InferProps::pad_value, nullptr, -1, 255},
    {.name = "interval",
     .blurb = "Run the model on every Nth frame; 1 runs it on every frame.",
     .member = &InferProps::interval,
     .lowest = 1,
     .highest = G_MAXINT,
     .live = true},
    {.name = "hold",
     .blurb = "Attach the tensors of the last run to skipped frames as well, so that they keep its "
              "boxes: at most interval - 1 times, and never across a flush, a new segment or new "
              "caps, after which the model runs at once. If false, skipped frames have no tensors, "
              "and boxdecode accepts that. No effect with regions=objects; see again-every.",
     .member = &InferProps::hold,
     .live = true},
    {"max-in-flight",
     "Maximum number of runs in flight on the GPU, of single frames or full batches; further "
     "frames wait for the end of the oldest run.",
     &InferProps::max_in_flight, nullptr, 1, 16},
    {"cuda-graph",
     "Capture the model's kernel launches once and replay them for each frame, if the model allows "
     "it.",
     &InferProps::cuda_graph},
    {"batch-size",
     "Maximum number of frames, tiles or objects per run of the model. Elements with the "
     "same model and the same settings share runs: frames that arrive during a run are in "
     "the next one, so that a single stream does not wait. 0 measures on a GPU which size "
     "pays off, and means 1 on the CPU. 1 runs frames one by one.",
     &InferProps::batch_size, nullptr, 0, 1024},
    {"batch-timeout",
     "Time in milliseconds that a frame waits for others to fill a batch; 0 does not wait.",
     &InferProps::batch_timeout, nullptr, 0, 10000},
    {"open-batch",
     "Run a model that was exported with a batch of 1 in larger batches, if a trial gives the "
     "same results. The file is not changed.",
     &InferProps::open_batch},
    {"parallel-runs",
     "Maximum number of sessions that run in parallel on a GPU, for several elements with a "
     "model that cannot run batches. Each session needs memory for the model. 0 means up to 4.",
     &InferProps::parallel_runs, nullptr, 0, 16},
    {"lookahead",
     "Number of frames that the element holds back, so that a single file can fill batches. Adds "
     "the latency of that many frames. Put a queue with room for as many frames after the element, "
     "such as queue max-size-bytes=0: 10 MB, its default, are three frames of 1080p.",
     &InferProps::lookahead, nullptr, 0, 64},
    {"tiles",
     "Run the model on overlapping parts of each frame, such as 3x2 for three columns and two "
     "rows, so that objects that are small in the frame are large enough in the model input. "
     "boxdecode joins their boxes (see its tile-merge). The tiles of a frame run as a batch: on "
     "a GPU always, on the CPU if batch-size allows it. Empty runs the model on whole frames.",
     &InferProps::tiles},
    {"tile-size",
     "Side of square tiles in frame pixels, of which there are as many as cover the frame. "
     "An alternative to tiles; 0 means none.",
     &InferProps::tile_size, nullptr, 0, kMaxInputSide},
    {"tile-overlap",
     "Overlap of neighbouring tiles as a fraction of their side; an object up to that size is "
     "complete in at least one tile.",
     &InferProps::tile_overlap, nullptr, 0, 0.9},
    {"tile-whole",
     "Run the model on the whole frame, too, for objects that are larger than the overlap of "
     "tiles.",
     &InferProps::tile_whole},
    {"regions",
     "What the model runs on. With objects, the tensors have one image per object: "
     "classdecode turns it into classes or text of the object, boxdecode into boxes of its "
     "parts. resize-mode fits objects into the input; the default for unknown models is "
     "stretch.",
     &InferProps::regions, regions_type},
    {"objects-of",
     "With regions=objects, name of the model whose boxes are used (model-name of its decoder); "
     "empty uses all boxes.",
     &InferProps::objects_of},
    {"include-classes",
     "With regions=objects, comma-separated labels of the boxes that are used; empty uses all.",
     &InferProps::include_classes},
    {"min-size", "With regions=objects, minimum length of a box's shorter side in frame pixels.",
     &InferProps::min_size, nullptr, 0, kMaxInputSide},
    {"max-objects", "With regions=objects, maximum number of objects per frame, best scores first.",
     &InferProps::max_objects, nullptr, 1, 1024},
    {"grow", "With regions=objects, factor by which boxes are enlarged before they are cut out.",
     &InferProps::grow, nullptr, 0.1, 10},
    {"again-every",
     "With regions=objects, number of frames after which the model runs again on an object with a "
     "tracking id (see boxtrack): 1 runs it on each frame, 0 once per object. classdecode keeps "
     "its results in between.",
     &InferProps::again_every, nullptr, 0, G_MAXINT},
    {"again-growth",
     "With regions=objects, factor above 1 by which the area of a tracked object's box has "
     "to grow for the model to run on it again before again-every frames have passed: 1.2 "
     "means 20 percent. 0 means never.",
     &InferProps::again_growth, nullptr, 0, 100},
    {"align",
     "With regions=objects, template that the keypoints of objects are aligned to by a "
     "similarity transform: arcface-112 for five points of a face, or a file with width and "
     "height on the first line and x and y of one keypoint on each further line (- for a "
     "keypoint that is not used). The model does not run on objects without keypoints.",
     &InferProps::align},
    {"tensor-mtd",
     "With regions=objects, also attach each object's part of the tensors to the object: a "
     "GstAnalyticsTensorMtd that is part of its GstAnalyticsODMtd, for elements and applications "
     "that read these. Needs GStreamer 1.28. boxdecode, classdecode, boxsink and libkeepbox do not "
     "need it.",
     &InferProps::tensor_mtd},
    {.name = "qos",
     .blurb = "Skip frames of a live source if the sink reports that they would be late. They "
              "pass without inference, like the frames that interval skips. Frames of files are "
              "never skipped.",
     .member = &InferProps::qos,
     .live = true},
};

}  // namespace

const PropertyTable<InferProps>& infer_properties() {
  static constexpr PropertyTable<InferProps> table(kInferProperties, kChangeWhenReady);
  return table;
}

}  // namespace keepbox
