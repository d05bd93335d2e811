// SPDX-License-Identifier: LGPL-2.1-or-later
// JSON Lines and COCO, and masks as run lengths.
#include "gst/sink/json.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

#include "core/formula/oriented.h"
#include "gst/sink/classes.h"
#include "gst/sink/writer.h"

namespace keepbox {
namespace {

// Numbers of this type are floats, so that they print with the digits of a float, not a double.
using BoxJson = nlohmann::basic_json<nlohmann::ordered_map, std::vector, std::string, bool, int64_t,
                                     uint64_t, float>;

/// Serialises JSON without throwing on bytes that are not UTF-8.
std::string dump(const BoxJson& json) {
  return json.dump(-1, ' ', false, BoxJson::error_handler_t::replace);
}

BoxJson detection_of(const FrameBox& box, const std::string& label, Size frame) {
  const auto width = static_cast<float>(frame.width), height = static_cast<float>(frame.height);
  BoxJson out;
  out["bounding_box"] = {{"x_min", box.box.x1 / width},
                         {"x_max", box.box.x2 / width},
                         {"y_min", box.box.y1 / height},
                         {"y_max", box.box.y2 / height}};
  out["confidence"] = box.score;
  if (box.class_id) out["label_id"] = *box.class_id;
  if (!label.empty()) out["label"] = label;
  // Same place as gvametaconvert uses for the model of an attribute.
  if (std::string model = shown_model(box); !model.empty()) out["model"]["name"] = model;
  return out;
}

BoxJson keypoints_of(const FrameKeypoints& keypoints) {
  BoxJson out;
  if (std::string name = name_of(keypoints.name); !name.empty()) out["name"] = name;
  for (const Keypoint& p : keypoints.points) out["points"].push_back({p.x, p.y, p.score});
  return out;
}

/// Returns the mask in its own pixels, and the box that it covers.
BoxJson mask_of(const MaskView& mask, const Box& place) {
  return {{"x", place.x1},         {"y", place.y1},         {"w", width_of(place)},
          {"h", height_of(place)}, {"width", mask.width()}, {"height", mask.height()},
          {"rle", rle_of(mask)}};
}

/// Returns COCO's three numbers per keypoint; values that are not numbers count as not labelled.
BoxJson coco_keypoints(std::span<const Keypoint> points) {
  BoxJson out = BoxJson::array();
  for (const Keypoint& p : points) {
    const bool known = std::isfinite(p.x) && std::isfinite(p.y) && std::isfinite(p.score);
    for (const float value : {p.x, p.y, p.score}) out.push_back(known ? value : 0.0f);
  }
  return out;
}

/// Returns the pixels of the object, or the corners of an oriented box; null for other boxes.
BoxJson coco_segmentation(const FrameBox& box, Size frame) {
  if (const MaskView mask(box.mask.pixels); is_mask(mask))
    return {{"size", {frame.height, frame.width}}, {"counts", rle_of(mask, box.mask.place, frame)}};
  if (box.angle == 0) return nullptr;
  BoxJson polygon;
  for (const auto [x, y] : corners_of({box.box, box.angle}).at) {
    polygon.push_back(static_cast<float>(x));
    polygon.push_back(static_cast<float>(y));
  }
  return BoxJson::array({polygon});
}

/// Adds the results of classifiers under the names of their attributes, as gvametaconvert does.
void add_labels(const BoxLabels& labels, BoxJson& out) {
  for (const BoxLabel& label : labels) {
    BoxJson result = {{"label", label.text}, {"confidence", label.level}};
    if (label.class_id) result["label_id"] = *label.class_id;
    if (std::string model = name_of(label.model); !model.empty()) result["model"]["name"] = model;
    std::string key = name_of(label.attribute);
    if (key.empty()) key = "classification";
    while (out.contains(key)) key += '_';
    out[key] = std::move(result);
  }
}

/// Returns a value; only integers of up to 16 bits and floats fit in a float.
BoxJson value_of(const TensorView& tensor, size_t index) {
  const auto read = [&]<class T>(T value) -> BoxJson {
    std::memcpy(&value, static_cast<const uint8_t*>(tensor.data) + index * sizeof value,
                sizeof value);
    return value;
  };
  switch (tensor.type) {
    case DataType::kInt32: return read(int32_t{});
    case DataType::kUInt32: return read(uint32_t{});
    case DataType::kInt64: return read(int64_t{});
    case DataType::kUInt64: return read(uint64_t{});
    default: break;
  }
  const float value = load(tensor, index);
  if (is_floating(tensor.type)) return value;
  return static_cast<int64_t>(value);
}

/// Returns the name of a type as DL Streamer writes it.
const char* precision_of(DataType type) {
  switch (type) {
    case DataType::kInt8: return "I8";
    case DataType::kInt16: return "I16";
    case DataType::kInt32: return "I32";
    case DataType::kInt64: return "I64";
    case DataType::kUInt8: return "U8";
    case DataType::kUInt16: return "U16";
    case DataType::kUInt32: return "U32";
    case DataType::kUInt64: return "U64";
    case DataType::kFloat16: return "FP16";
    case DataType::kBFloat16: return "BF16";
    case DataType::kFloat32: return "FP32";
    case DataType::kFloat64: return "FP64";
  }
  return "UNSPECIFIED";
}

BoxJson tensor_of(const ObjectTensor& tensor) {
  BoxJson out = {{"precision", precision_of(tensor.type)}};
  for (const size_t each : tensor.shape.dims()) out["dims"].push_back(each);
  if (!tensor.model.empty()) out["model_name"] = tensor.model;
  if (!tensor.id.empty()) out["layer_name"] = tensor.id;
  const TensorView view = tensor.view();
  BoxJson& data = out["data"] = BoxJson::array();
  for (size_t i = 0; i < view.shape.count().value_or(0); ++i) data.push_back(value_of(view, i));
  return out;
}

/// Returns the tensors of an object. @param all of the frame, in the order of od_id.
BoxJson tensors_of(guint od_id, const std::vector<ObjectTensor>& all) {
  BoxJson out = BoxJson::array();
  for (const ObjectTensor& each : std::ranges::equal_range(all, od_id, {}, &ObjectTensor::od_id))
    out.push_back(tensor_of(each));
  return out;
}

BoxJson object_of(const FrameBox& box, Size frame) {
  const std::string label = name_of(box.label);
  BoxJson out = {{"x", box.box.x1},
                 {"y", box.box.y1},
                 {"w", width_of(box.box)},
                 {"h", height_of(box.box)},
                 {"region_id", box.od_id}};
  if (box.parent) out["parent_id"] = *box.parent;
  if (box.tracking_id) out["id"] = *box.tracking_id;
  if (!label.empty()) out["roi_type"] = label;
  out["detection"] = detection_of(box, label, frame);
  if (box.anchor) out["anchor"] = *box.anchor;
  if (box.held) out["held"] = true;
  if (box.predicted) out["predicted"] = true;
  if (box.angle != 0) out["rotation"] = box.angle;
  if (!box.keypoints.points.empty()) out["keypoints"] = keypoints_of(box.keypoints);
  if (!box.values.values.empty()) out[name_of(box.values.kind)] = box.values.values;
  if (const MaskView mask(box.mask.pixels); is_mask(mask))
    out["mask"] = mask_of(mask, box.mask.place);
  add_labels(box.labels, out);
  return out;
}

/// Returns the results about the whole frame as an object without a detection, as gvametaconvert
/// does.
BoxJson whole_frame_of(const FrameInfo& frame) {
  BoxJson out = {{"x", 0}, {"y", 0}, {"w", frame.size.width}, {"h", frame.size.height}};
  add_labels(frame.labels, out);
  return out;
}

/// Returns a name that no member of an object has: of two elements that count, both may be there.
std::string free_key(const BoxJson& object, std::string key) {
  while (object.contains(key)) key += '_';
  return key;
}

BoxJson numbers_of(const LineCount& line, const ByDirection& numbers) {
  return {{line.directions[0], numbers[0]}, {line.directions[1], numbers[1]}};
}

BoxJson line_of(const LineCount& line) {
  BoxJson out = numbers_of(line, line.crossed);
  if (line.uncertain != ByDirection{}) out["uncertain"] = numbers_of(line, line.uncertain);
  return out;
}

float seconds(GstClockTime time) { return static_cast<float>(seconds_of(time)); }

BoxJson zone_of(const ZoneCount& zone, bool with_models) {
  BoxJson out = {{"now", zone.now()},
                 {"visits", zone.visits},
                 {"mean", seconds(zone.mean)},
                 {"max", seconds(zone.longest)}};
  if (zone.crowded) out["crowded"] = true;
  for (const PresentObject& each : zone.present) {
    BoxJson object = {{"id", each.object.id}, {"seconds", seconds(each.dwell)}};
    if (with_models) object["model"]["name"] = name_of(each.object.model);
    out["present"].push_back(std::move(object));
  }
  return out;
}

/// True if objects in zones are of more than one model.
bool has_models(const FrameCounts& counts) {
  std::optional<GQuark> model;
  for (const ZoneCount& zone : counts.zones)
    for (const PresentObject& each : zone.present)
      if (model.value_or(each.object.model) != each.object.model) return true;
      else model = each.object.model;
  return false;
}

void add_counts(const FrameCounts& counts, BoxJson& out) {
  const bool with_models = has_models(counts);
  for (const LineCount& line : counts.lines) {
    BoxJson& lines = out["lines"];
    lines[free_key(lines, line.name)] = line_of(line);
  }
  for (const ZoneCount& zone : counts.zones) {
    BoxJson& zones = out["zones"];
    zones[free_key(zones, zone.name)] = zone_of(zone, with_models);
  }
}

}  // namespace

void JsonText::add(std::string_view key, std::string_view value) {
  ((((out_ += next_) += '"') += key) += "\":") += value;
  next_ = ',';
}

void JsonText::add_all(std::string_view object) {
  const std::string_view members = object.substr(1, object.size() - 2);
  if (members.empty()) return;
  (out_ += next_) += members;
  next_ = ',';
}

void JsonText::end() {
  if (next_ == '{') out_ += '{';
  out_ += '}';
}

void write_jsonl(const FrameInfo& frame, std::span<const FrameBox> boxes,
                 const WriterOptions& options, std::string& out) {
  BoxJson line;
  line["resolution"] = {{"width", frame.size.width}, {"height", frame.size.height}};
  if (!frame.source.empty()) line["source"] = frame.source;
  if (frame.timestamp) line["timestamp"] = *frame.timestamp;
  if (!frame.wall_time.empty()) line["system_timestamp"] = frame.wall_time;
  if (frame.sender_time) line["rtp"] = {{"sender_ntp_unix_timestamp_ns", *frame.sender_time}};
  line["frame"] = frame.number;
  if (frame.skipped) line["skipped"] = true;
  for (const FrameBox& box : boxes) {
    BoxJson object = object_of(box, frame.size);
    if (frame.tensors) object["tensors"] = tensors_of(box.od_id, *frame.tensors);
    line["objects"].push_back(std::move(object));
  }
  if (frame.labels.size() != 0) line["objects"].push_back(whole_frame_of(frame));
  if (frame.counts != nullptr) add_counts(*frame.counts, line);
  JsonText text(out);
  if (!options.tags.empty()) text.add("tags", options.tags);
  text.add_all(dump(line));
  text.end();
  out += '\n';
}

void write_line(const LineCount& line, std::string& out) { out += dump(line_of(line)); }

void write_zone(const ZoneCount& zone, const FrameCounts& all, std::string& out) {
  out += dump(zone_of(zone, has_models(all)));
}

void write_event(const CountNote& note, const FrameInfo& frame, const WriterOptions& options,
                 std::string& out) {
  using enum CountNote::Kind;
  BoxJson line;
  if (!frame.source.empty()) line["source"] = frame.source;
  if (const auto time = note_time(note, frame)) line["timestamp"] = *time;
  if (!frame.wall_time.empty()) line["system_timestamp"] = frame.wall_time;
  line["event"] = word_of(note.kind);
  line["name"] = note.name;
  if (!note.direction.empty()) line["direction"] = note.direction;
  if (note.kind != kCrowded) line["id"] = note.object.id;
  if (note.label != 0) line["label"] = name_of(note.label);
  if (note.object.model != 0 && !note.unnamed) line["model"]["name"] = name_of(note.object.model);
  if (note.kind == kLeft || note.kind == kDwelt) line["seconds"] = seconds(note.dwell);
  if (note.direction.empty()) line["now"] = note.now;
  JsonText text(out);
  if (!options.tags.empty()) text.add("tags", options.tags);
  text.add_all(dump(line));
  text.end();
  out += '\n';
}

void write_object(const FrameBox& box, Size frame, std::string& out) {
  out += dump(object_of(box, frame));
}

void write_coco_result(const CocoSubject& of, const FrameBox& box, std::string& out) {
  const Box at = around({box.box, box.angle});
  BoxJson result = {{"image_id", of.image},
                    {"category_id", of.category},
                    {"bbox", {at.x1, at.y1, width_of(at), height_of(at)}},
                    {"score", box.score}};
  if (!box.keypoints.points.empty()) result["keypoints"] = coco_keypoints(box.keypoints.points);
  if (BoxJson shape = coco_segmentation(box, of.frame); !shape.is_null())
    result["segmentation"] = std::move(shape);
  if (std::string model = shown_model(box); !model.empty()) result["model"] = model;
  out += dump(result);
}

namespace {

constexpr int kBits = 5;               // per digit
constexpr int64_t kMore = 1 << kBits;  // set in each digit except the last
constexpr char kZero = '0';

/// Appends a number; the highest bit of its last digit is its sign.
void append_digits(std::string& out, int64_t number) {
  for (bool more = true; more;) {
    const int64_t digit = number & (kMore - 1);
    number >>= kBits;
    more = number != ((digit & (kMore >> 1)) != 0 ? -1 : 0);
    out += static_cast<char>(kZero + digit + (more ? kMore : 0));
  }
}

}  // namespace

void RunLengths::add(uint64_t first, uint64_t last) {
  if (first >= last) return;
  if (first == end_ && !lengths_.empty()) {
    lengths_.back() += last - first;
  } else {
    lengths_.push_back(first - end_);
    lengths_.push_back(last - first);
  }
  end_ = last;
}

std::string RunLengths::text(uint64_t pixels) {
  std::vector<uint64_t> lengths = std::exchange(lengths_, {});
  const uint64_t end = std::exchange(end_, 0);
  if (end < pixels || lengths.empty()) lengths.push_back(pixels - end);
  std::string out;
  for (size_t i = 0; i < lengths.size(); ++i)
    append_digits(out, static_cast<int64_t>(lengths[i] - (i > 2 ? lengths[i - 2] : 0)));
  return out;
}

std::string rle_of(const MaskView& mask, const Box& place, Size frame) {
  MaskRuns columns(mask, place, frame, MaskRuns::Lines::kColumns);
  RunLengths lengths;
  for (int x = columns.lines().first; x < columns.lines().last; ++x) {
    const uint64_t column = uint64_t(x) * frame.height;
    for (const PixelRun& run : columns.of(x))
      lengths.add(column + uint64_t(run.first), column + uint64_t(run.last));
  }
  return lengths.text(uint64_t{frame.width} * frame.height);
}

std::string rle_of(const MaskView& mask) {
  const Size own{mask.width(), mask.height()};
  return rle_of(mask, {0, 0, float(own.width), float(own.height)}, own);
}

}  // namespace keepbox
