// SPDX-License-Identifier: LGPL-2.1-or-later
// Checks JSON Lines and COCO results against the boxes, with a JSON parser and a reader of run
// lengths.
#include <cmath>
#include <nlohmann/json.hpp>

#include "gst/metas/masks.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/rowreader.h"
#include "tests/fuzz/writers.h"

namespace keepbox::fuzz {
namespace {

using Json = nlohmann::json;

Json parsed(const std::string& text) {
  Json out = Json::parse(text, nullptr, false);
  if (out.is_discarded()) violated("no JSON: " + text);
  return out;
}

/// Checks a float to the bit; null if JSON has no such number.
void check_number(const Json& json, float value) {
  const bool same =
      std::isfinite(value) ? json.is_number() && json.get<float>() == value : json.is_null();
  if (!same)
    violated("a number that reads otherwise: " + json.dump() + " and not " + std::to_string(value));
}

void check_text(const Json& object, const char* key, const std::string& wanted) {
  if (object.value(key, std::string()) != wanted)
    violated(std::string(key) + " that reads otherwise: " + object.dump());
}

template <class Number>
void check_whole(const Json& object, const char* key, const std::optional<Number>& wanted) {
  if (object.contains(key) != wanted.has_value() || (wanted && object[key] != *wanted))
    violated(std::string(key) + " that reads otherwise: " + object.dump());
}

std::vector<bool> pixels_of(const Json& counts, size_t width, size_t height) {
  const auto pixels = read_run_lengths(counts.get<std::string>(), width * height);
  if (!pixels) violated("run lengths of another picture: " + counts.dump());
  return *pixels;
}

/// Checks the mask in its own pixels.
void check_own_mask(const Json& json, const MaskView& mask, const Box& place) {
  check_number(json["x"], place.x1);
  check_number(json["y"], place.y1);
  check_number(json["w"], place.x2 - place.x1);
  check_number(json["h"], place.y2 - place.y1);
  const auto pixels = pixels_of(json["rle"], mask.width(), mask.height());
  for (guint x = 0; x < mask.width(); ++x)
    for (guint y = 0; y < mask.height(); ++y)
      if (pixels[x * mask.height() + y] != (mask.row(y)[x] != 0))
        violated("a mask that reads otherwise");
  count("masks of their own pixels");
}

bool is_whole(float value) { return std::abs(value) < 1e6f && value == std::round(value); }

/// Checks the mask in the frame's pixels; exactly if it is shown one to one.
void check_frame_mask(const Json& json, const MaskView& mask, const Box& place, Size frame) {
  if (json["size"] != Json::array({frame.height, frame.width})) violated("a mask of another frame");
  const auto pixels = pixels_of(json["counts"], frame.width, frame.height);
  const bool exact = is_whole(place.x1) && is_whole(place.y1) &&
                     place.x2 - place.x1 == float(mask.width()) &&
                     place.y2 - place.y1 == float(mask.height());
  const auto from = [](uint32_t at, float first) {
    return static_cast<uint32_t>(int64_t{at} - static_cast<int64_t>(first));
  };
  count(exact ? "masks one to one" : "masks enlarged");
  for (uint32_t x = 0; x < frame.width; ++x)
    for (uint32_t y = 0; y < frame.height; ++y) {
      const bool in = float(x) + 0.5f >= place.x1 && float(x) + 0.5f < place.x2 &&
                      float(y) + 0.5f >= place.y1 && float(y) + 0.5f < place.y2;
      const bool wanted = in && exact && mask.row(from(y, place.y1))[from(x, place.x1)] != 0;
      const bool found = pixels[size_t{x} * frame.height + y];
      if ((exact && found != wanted) || (found && !in))
        violated("a mask that reads otherwise on its frame");
    }
}

void check_points(const Json& json, const FrameKeypoints& keypoints) {
  check_text(json, "name", written_name(keypoints.name));
  if (json["points"].size() != keypoints.points.size()) violated("points that are lost");
  for (size_t i = 0; i < keypoints.points.size(); ++i) {
    const Keypoint& point = keypoints.points[i];
    const Json& read = json["points"][i];
    if (!read.is_array() || read.size() != 3) violated("a point of other numbers: " + read.dump());
    check_number(read[0], point.x);
    check_number(read[1], point.y);
    check_number(read[2], point.score);
  }
}

void check_object(const Json& object, const FrameBox& box, Size frame) {
  const Json& detection = object["detection"];
  check_number(object["x"], box.box.x1);
  check_number(object["y"], box.box.y1);
  check_number(object["w"], box.box.x2 - box.box.x1);
  check_number(object["h"], box.box.y2 - box.box.y1);
  check_number(detection["bounding_box"]["x_max"], box.box.x2 / static_cast<float>(frame.width));
  check_number(detection["confidence"], box.score);
  check_text(object, "roi_type", written_name(box.label));
  check_text(detection, "label", written_name(box.label));
  check_text(detection.value("model", Json::object()), "name", written_model(box));
  check_whole(detection, "label_id", box.class_id);
  check_whole(object, "id", box.tracking_id);
  check_whole(object, "anchor", box.anchor);
  if (object.contains("rotation") != (box.angle != 0))
    violated("a rotation that is lost or invented");
  if (box.angle != 0) check_number(object["rotation"], box.angle);
  if (object.contains("keypoints") != !box.keypoints.points.empty())
    violated("points lost or invented");
  if (object.contains("keypoints")) check_points(object["keypoints"], box.keypoints);
  const MaskView mask(box.mask.pixels);
  if (object.contains("mask") != is_mask(mask)) violated("a mask that is lost or invented");
  if (is_mask(mask)) check_own_mask(object["mask"], mask, box.mask.place);
}

void check_result(const Json& result, const FrameBox& box, Size frame) {
  if (!result["category_id"].is_number_integer()) violated("a result without a category");
  check_number(result["score"], box.score);
  check_text(result, "model", written_model(box));
  if (box.angle == 0) {
    const std::array bbox{box.box.x1, box.box.y1, box.box.x2 - box.box.x1, box.box.y2 - box.box.y1};
    for (size_t i = 0; i < bbox.size(); ++i) check_number(result["bbox"][i], bbox[i]);
  }
  if (result.contains("keypoints") != !box.keypoints.points.empty())
    violated("points lost or invented");
  if (result.contains("keypoints") && result["keypoints"].size() != 3 * box.keypoints.points.size())
    violated("points that are lost");
  const MaskView mask(box.mask.pixels);
  if (result.contains("segmentation") != (is_mask(mask) || box.angle != 0))
    violated("a segmentation lost or invented");
  if (is_mask(mask)) check_frame_mask(result["segmentation"], mask, box.mask.place, frame);
  else if (box.angle != 0 && result["segmentation"][0].size() != 8)
    violated("a polygon without four corners");
}

}  // namespace

void check_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes,
                 const WriterOptions& options, const std::string& text) {
  if (text.empty() && boxes.empty() && !options.write_empty) return;
  if (text.find('\n') != text.size() - 1) violated("not one line a frame: " + text);
  const Json line = parsed(text);
  if (line["frame"] != frame.number || line["resolution"]["width"] != frame.size.width)
    violated("another frame: " + text);
  check_whole(line, "timestamp", frame.timestamp);
  check_whole(line.value("rtp", Json::object()), "sender_ntp_unix_timestamp_ns", frame.sender_time);
  if (line.contains("tags") != !options.tags.empty()) violated("tags that are lost or invented");
  const Json objects = line.value("objects", Json::array());
  if (objects.size() != boxes.size()) violated("not an object a box");
  for (size_t i = 0; i < boxes.size(); ++i) check_object(objects[i], boxes[i], frame.size);
}

void check_coco(std::span<const CocoFrame> frames, const WriterOptions& options,
                const std::string& text) {
  const Json results = parsed(text);
  size_t at = 0;
  for (size_t i = 0; i < frames.size(); ++i)
    for (const FrameBox& box : frames[i].boxes) {
      if (at == results.size()) violated("results that are lost");
      const Json& result = results[at++];
      const int64_t image = options.images.empty() ? frames[i].info.number : options.images[i].id;
      if (result["image_id"] != image) violated("a result of another image");
      const auto is_listed = [&](const CocoId& id) { return result["category_id"] == id.id; };
      if (!options.categories.empty() && std::ranges::none_of(options.categories, is_listed))
        violated("a category that is not listed");
      check_result(result, box, frames[i].info.size);
    }
  if (at != results.size()) violated("results that are invented");
}

}  // namespace keepbox::fuzz
