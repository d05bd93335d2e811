// SPDX-License-Identifier: LGPL-2.1-or-later
// JSON Lines in the schema of DL Streamer's gvametaconvert, and COCO results.
#include <nlohmann/json.hpp>

#include "gst/sink/formats.h"
#include "gst/sink/text.h"

namespace keepbox {
namespace {

// Numbers of this type are floats, so that they print with a float's digits and not a double's.
using Json = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t,
                                  uint64_t, float>;

/// A string that throws nothing on bytes that are not UTF-8.
std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

Json detection_of(const FrameBox& box, const std::string& label, Size frame) {
  const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
  Json out;
  out["bounding_box"] = {{"x_min", box.box.x1 / width},
                         {"x_max", box.box.x2 / width},
                         {"y_min", box.box.y1 / height},
                         {"y_max", box.box.y2 / height}};
  out["confidence"] = box.score;
  if (box.class_id) out["label_id"] = *box.class_id;
  if (!label.empty()) out["label"] = label;
  // Where gvametaconvert names the model of an attribute.
  if (std::string model = shown_model(box); !model.empty()) out["model"]["name"] = model;
  return out;
}

Json object_of(const FrameBox& box, Size frame) {
  const std::string label = name_of(box.label);
  Json out = {{"x", box.box.x1},
              {"y", box.box.y1},
              {"w", width_of(box.box)},
              {"h", height_of(box.box)},
              {"region_id", box.od_id}};
  if (box.tracking_id) out["id"] = *box.tracking_id;
  if (!label.empty()) out["roi_type"] = label;
  out["detection"] = detection_of(box, label, frame);
  if (box.anchor) out["anchor"] = *box.anchor;
  if (box.angle != 0) out["rotation"] = box.angle;
  return out;
}

}  // namespace

void write_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes,
                 const WriterOptions& options, std::string& out) {
  Json line;
  line["resolution"] = {{"width", frame.size.width}, {"height", frame.size.height}};
  if (!options.source.empty()) line["source"] = options.source;
  if (frame.timestamp) line["timestamp"] = *frame.timestamp;
  if (!frame.wall_time.empty()) line["system_timestamp"] = frame.wall_time;
  if (frame.sender_time) line["rtp"] = {{"sender_ntp_unix_timestamp_ns", *frame.sender_time}};
  line["frame"] = frame.number;
  for (const FrameBox& box : boxes) line["objects"].push_back(object_of(box, frame.size));
  std::string text = dump(line);
  // As text: the user's numbers may have more digits than Json keeps.
  if (!options.tags.empty()) text.insert(1, "\"tags\":" + options.tags + ',');
  out += text + '\n';
}

void write_coco_result(int64_t image, int64_t category, const FrameBox& box, std::string& out) {
  Json result = {{"image_id", image},
                 {"category_id", category},
                 {"bbox", {box.box.x1, box.box.y1, width_of(box.box), height_of(box.box)}},
                 {"score", box.score}};
  if (std::string model = shown_model(box); !model.empty()) result["model"] = model;
  out += dump(result);
}

}  // namespace keepbox
