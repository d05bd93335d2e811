// SPDX-License-Identifier: LGPL-2.1-or-later
// Variants from frames to boxes, as text for gst_parse_launch().
#include <algorithm>

#include "tests/bench/infer/infer.h"

namespace keepbox::test {
namespace {

constexpr const char* kCuda = "video/x-raw(memory:CUDAMemory)";

std::string decoded(const Options& options) {
  return "boxdecode name=boxes%" +
         (options.labels.empty() ? "" : " label-file=" + quoted(options.labels));
}

Way inferred(const Options& options, const char* name, const char* provider) {
  return {.name = name,
          .chain = "tensorinfer name=infer% provider=" + std::string(provider) + " model-file=" +
                   quoted(options.model) + " " + options.infer + " ! " + decoded(options),
          .entry = "infer%",
          .exit = "boxes%",
          .elements = {"tensorinfer", "boxdecode", "appsrc"},
          .cuda = std::string_view(provider) == "cuda"};
}

/// Returns a variant with frames in CUDA memory, from the decoder if there is a clip.
Way on_gpu(const Options& options, const char* name) {
  Way way = inferred(options, name, "cuda");
  way.resident = options.clip.empty();
  way.elements.insert(way.elements.end(), {"cudaupload", "cudadownload"});
  if (way.resident) return way;
  way.source = "filesrc location=" + quoted(options.clip) +
               " ! qtdemux ! h264parse ! nvh264dec ! " + kCuda + " ! ";
  way.elements.insert(way.elements.end(), {"filesrc", "qtdemux", "h264parse", "nvh264dec"});
  return way;
}

/// Returns a variant whose frames are inferred while boxes of earlier ones are decoded.
Way queued(const Options& options, Way way) {
  way.name += "-queued";
  way.chain.replace(way.chain.find(" ! boxdecode"), 3,
                    " ! queue max-size-bytes=0 max-size-time=0 max-size-buffers=" +
                        std::to_string(options.queue) + " ! ");
  return way;
}

/// Returns a variant whose model classifies the eight shapes of each frame.
Way on_objects(const Options& options, Way way) {
  way.name += "-objects";
  way.objects = true;
  const size_t model = way.chain.find(" model-file="), decode = way.chain.find(" ! boxdecode");
  way.chain = way.chain.substr(0, model) + " regions=objects resize-mode=stretch" +
              way.chain.substr(model, decode - model) + " ! classdecode name=boxes%" +
              (options.labels.empty() ? "" : " label-file=" + quoted(options.labels));
  way.elements.emplace_back("classdecode");
  return way;
}

Way uploaded_before(const Options& options) {
  Way way = inferred(options, "gpu-cudaupload", "cuda");
  way.before = std::string("cudaupload ! ") + kCuda + " ! ";
  way.elements.push_back("cudaupload");
  return way;
}

Way stock(const Options& options, const std::string& input, const char* name, bool optimized) {
  return {.name = name,
          .chain = "framesave name=save% ! videoconvertscale add-borders=true ! " + input + " ! " +
                   stock_element(options, optimized) + " name=infer% ! " + decoded(options) +
                   " ! framerestore name=restore%",
          .entry = "save%",
          .exit = "restore%",
          .elements = {"onnxinference", "videoconvertscale", "framesave", "framerestore",
                       "boxdecode", "appsrc"}};
}

Way paced(Way way) {
  way.name += "-paced";
  way.paced = true;
  return way;
}

/// True if a row is to be measured; those for other models only if they are named.
bool wanted(const Options& options, const Way& way) {
  if (way.objects && !options.clip.empty()) return false;  // nothing is attached to its frames
  if (!options.rows.empty()) return std::ranges::find(options.rows, way.name) != options.rows.end();
  if (way.objects) return false;
  return options.provider == "auto" || (options.provider == "cuda") == way.cuda;
}

}  // namespace

std::vector<Way> ways(const Options& options, const std::string& input_caps) {
  Way host = on_gpu(options, "gpu-download");
  host.chain += " backend=simd";
  Way plain = stock(options, input_caps, "stock", true);
  Way untuned = stock(options, input_caps, "stock-defaults", false);
  std::vector<Way> out{on_gpu(options, "gpu"),
                       queued(options, on_gpu(options, "gpu")),
                       std::move(host),
                       uploaded_before(options),
                       inferred(options, "uploaded", "cuda"),
                       inferred(options, "cpu", "cpu"),
                       queued(options, inferred(options, "cpu", "cpu")),
                       std::move(plain),
                       std::move(untuned),
                       on_objects(options, on_gpu(options, "gpu")),
                       on_objects(options, inferred(options, "cpu", "cpu")),
                       paced(on_gpu(options, "gpu")),
                       paced(inferred(options, "uploaded", "cuda")),
                       paced(inferred(options, "cpu", "cpu"))};
  std::erase_if(out, [&](const Way& way) { return !wanted(options, way); });
  return out;
}

std::string missing(const Way& way) {
  for (const std::string& name : way.elements) {
    GstElementFactory* factory = gst_element_factory_find(name.c_str());
    if (factory == nullptr) return name;
    gst_object_unref(factory);
  }
  return {};
}

std::string stock_element(const Options& options, bool optimized) {
  std::string text = "onnxinference model-file=" + quoted(options.model);
  GstElement* element = gst_element_factory_make("onnxinference", nullptr);
  if (element == nullptr) return text;
  gst_object_ref_sink(element);
  const auto has = [&](const char* property) {
    return g_object_class_find_property(G_OBJECT_GET_CLASS(element), property) != nullptr;
  };
  // GStreamer 1.26 needs the property, later versions read the .modelinfo
  if (has("input-image-format")) text += " input-image-format=chw";
  if (optimized && has("optimization-level")) text += " optimization-level=enable-all";
  gst_object_unref(element);
  return text;
}

std::string numbered(const std::string& text, int stream) {
  std::string out;
  for (const char letter : text)
    out += letter == '%' ? std::to_string(stream) : std::string(1, letter);
  return out;
}

std::string quoted(const std::string& value) {
  std::string out = "\"";
  for (const char letter : value) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += letter;
  }
  return out + '"';
}

}  // namespace keepbox::test
