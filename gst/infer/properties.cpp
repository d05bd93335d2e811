// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of tensorinfer's properties: name, blurb, range, default and where the value is kept.
#include "gst/infer/properties.h"

#include "gst/infer/facts/modelfacts.h"

namespace keepbox {
namespace {

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
  static const GType type = [] {
    auto values = enum_values<ResizeMode>(kResizeWords);
    values.insert(
        values.begin(),
        {kResizeOfModel, "auto",
         "As the model's family was trained: centred for Ultralytics, top left for YOLOX, "
         "stretched for D-FINE, RT-DETR and PaddleDetection, centred for unknown models"});
    values.push_back({kResizeToRectangle, "rect",
                      "As letterbox-center, with no more padding than the model's stride requires: "
                      "640x384 for 16:9 frames. Requires a model with dynamic width and height, "
                      "which is loaded for each frame size"});
    return register_enum("KeepboxInputResizeMode", values);
  }();
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
    {.name = "model-file",
     .blurb = "ONNX file of the model. Class names, family and input size are taken from "
              "Ultralytics metadata or GStreamer tensor ids in it, or from a .modelinfo file next "
              "to it.",
     .member = &InferProps::model_file},
    {.name = "provider",
     .blurb = "Where the model runs: cpu; cuda, with frames, input and tensors in GPU memory; "
              "auto, which is cuda if ONNX Runtime and a device support it, and cpu otherwise; or "
              "the name of another provider of ONNX Runtime, such as OpenVINO, with frames and "
              "tensors in system memory. The KEEPBOX_ONNXRUNTIME environment variable names the "
              "library of ONNX Runtime, 1.16 or newer; the default is libonnxruntime.so.1 or the "
              "distribution's library.",
     .member = &InferProps::provider},
    {.name = "provider-options",
     .blurb = "Options of the provider as KEY=VALUE,..., with the keys of ONNX Runtime, such as "
              "cudnn_conv_algo_search=HEURISTIC for cuda.",
     .member = &InferProps::provider_options},
    {.name = "device-id",
     .blurb = "GPU that the model runs on; -1 takes the pipeline's GPU, or the first one.",
     .member = &InferProps::device_id},
    {.name = "threads",
     .blurb = "Number of CPU threads that run the model. 0 is a thread per core of the machine, or "
              "per processor if the process may use only some of them: by its affinity or the CPU "
              "quota of its container.",
     .member = &InferProps::threads,
     .lowest = 0,
     .highest = 1024},
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
              "and boxdecode accepts that. No effect with regions=objects; see reinfer.",
     .member = &InferProps::hold,
     .live = true},
    {.name = "tiles",
     .blurb = "Run the model on overlapping parts of each frame, so that objects that are small in "
              "the frame are large enough in the model input: 3x2 are three columns and two rows, "
              "640 are square tiles of that side in frame pixels, as many as cover the frame. "
              "@OVERLAP adds the overlap of neighbours as a fraction of their side, from 0 to 0.9; "
              "0.2 without it. An object up to that size is complete in at least one tile. +whole "
              "adds the whole frame, for larger objects: 640@0.25+whole. boxdecode joins the boxes "
              "of tiles (see its tile-merge). The tiles of a frame run as a batch: on a GPU "
              "always, on the CPU if batch-size allows it. Empty runs the model on whole frames.",
     .member = &InferProps::tiles},
    {.name = "batch-size",
     .blurb = "Maximum number of frames, tiles or objects per run of the model. Elements with the "
              "same model and the same settings share runs: frames that arrive during a run are in "
              "the next one, so that a single stream does not wait. A model that was exported with "
              "a batch of 1 is opened if a trial gives the same results; its file is not changed. "
              "0 measures on a GPU which size pays off, and means 1 on the CPU. 1 runs frames one "
              "by one.",
     .member = &InferProps::batch_size,
     .lowest = 0,
     .highest = 1024},
    {.name = "batch-timeout",
     .blurb = "Time in milliseconds that a frame waits for others to fill a batch; 0 does not "
              "wait.",
     .member = &InferProps::batch_timeout,
     .lowest = 0,
     .highest = 10000},
    {.name = "lookahead",
     .blurb = "Number of frames that the element holds back, so that a single file can fill "
              "batches. Adds the latency of that many frames. Put a queue with room for as many "
              "frames after the element, such as queue max-size-bytes=0: 10 MB, its default, are "
              "three frames of 1080p.",
     .member = &InferProps::lookahead,
     .lowest = 0,
     .highest = 64},
    {.name = "input-size",
     .blurb = "WIDTHxHEIGHT of the model input in pixels, or one number for a square, if its size "
              "is dynamic in the model. Empty takes the size given by the model or its metadata.",
     .member = &InferProps::input_size},
    {.name = "resize-mode",
     .blurb = "How frames are fitted into the model input. Boxes are mapped back accordingly.",
     .member = &InferProps::resize_mode,
     .enum_type = input_resize_type},
    {.name = "pad-value",
     .blurb = "Grey level (0 to 255) of the padding; -1 takes the value known for the model, or "
              "else 114.",
     .member = &InferProps::pad_value,
     .lowest = -1,
     .highest = 255},
    {.name = "channel-order",
     .blurb = "Order of the colour channels that the model was trained with.",
     .member = &InferProps::channel_order,
     .enum_type = channel_order_type},
    {.name = "input-mean",
     .blurb = "Value subtracted from pixels (0 to 255) first: one number, or three comma-separated "
              "numbers for R, G, B. Empty takes the value known for the model, or else 0.",
     .member = &InferProps::input_mean},
    {.name = "input-std",
     .blurb = "Divisor applied after input-mean, in the same form: 1 keeps 0 to 255, 255 gives 0 "
              "to 1. Empty takes the value known for the model, or else 255 for floats and 1 for "
              "integers.",
     .member = &InferProps::input_std},
    {.name = "regions",
     .blurb = "What the model runs on. With objects, the tensors have one image per object, of the "
              "32 with the best scores in a frame: classdecode turns it into classes or text of "
              "the object, boxdecode into boxes of its parts. resize-mode fits objects into the "
              "input; the default for unknown models is stretch.",
     .member = &InferProps::regions,
     .enum_type = regions_type},
    {.name = "objects-of",
     .blurb = "With regions=objects, name of the model whose boxes are used (model-name of its "
              "decoder); empty uses all boxes.",
     .member = &InferProps::objects_of},
    {.name = "include-classes",
     .blurb =
         "With regions=objects, comma-separated labels of the boxes that are used, such as "
         "car,bus. Boxes of a label with ! before it are not used: !dog uses all others. Empty "
         "uses all.",
     .member = &InferProps::include_classes},
    {.name = "min-size",
     .blurb = "With regions=objects, minimum length of a box's shorter side in frame pixels.",
     .member = &InferProps::min_size,
     .lowest = 0,
     .highest = 1 << 14},
    {.name = "grow",
     .blurb = "With regions=objects, factor by which boxes are enlarged before they are cut out.",
     .member = &InferProps::grow,
     .lowest = 0.1,
     .highest = 10},
    {.name = "align",
     .blurb = "With regions=objects, template that the keypoints of objects are aligned to by a "
              "similarity transform: arcface-112 for five points of a face, or a file with width "
              "and height on the first line and x and y of one keypoint on each further line (- "
              "for a keypoint that is not used). The model does not run on objects without "
              "keypoints.",
     .member = &InferProps::align},
    {.name = "reinfer",
     .blurb = "With regions=objects, number of frames after which the model runs again on an "
              "object with a tracking id (see boxtrack): 1 runs it on each frame, 0 once per "
              "object. A second number above 1 is a factor of growth: with 30,1.2 the model also "
              "runs when the area of the object's box has grown by 20 percent since the last run. "
              "classdecode keeps its results in between.",
     .member = &InferProps::reinfer},
    {.name = "tensor-mtd",
     .blurb = "With regions=objects, also attach each object's part of the tensors to the object: "
              "a GstAnalyticsTensorMtd that is part of its GstAnalyticsODMtd, for elements and "
              "applications that read these. Needs GStreamer 1.28. boxdecode, classdecode, boxsink "
              "and libkeepbox do not need it.",
     .member = &InferProps::tensor_mtd},
};

}  // namespace

const PropertyTable<InferProps>& infer_properties() {
  static constexpr PropertyTable<InferProps> table(kInferProperties, kChangeWhenReady);
  return table;
}

}  // namespace keepbox
