// SPDX-License-Identifier: LGPL-2.1-or-later
// The index of a recording: a line of JSON per frame.
#include "gst/recording/index.h"

#include <glib.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <memory>

#include "core/model/classnames.h"
#include "gst/base/error.h"

namespace keepbox {
namespace {

constexpr const char* kColumnMajor = "col-major";

std::expected<Shape, std::string> shape_at(const Json& object) {
  const auto found = object.find("dims");
  if (found == object.end()) return Shape();
  const auto is_dim = [](const Json& dim) { return dim.is_number_unsigned(); };
  if (!found->is_array() || found->size() > Shape::kMaxRank || !std::ranges::all_of(*found, is_dim))
    return wrong("dims that are not a shape");
  const auto dims = found->get<std::vector<size_t>>();
  return Shape(std::span<const size_t>(dims));
}

std::expected<IndexedTensor, std::string> parse_tensor(const Json& entry) {
  if (!entry.is_object()) return wrong("a tensor that is not an object");
  const auto file = text_at(entry, "file"), id = text_at(entry, "id"),
             type = text_at(entry, "type"), order = text_at(entry, "dims-order");
  for (const auto& text : {file, id, type, order})
    if (!text) return wrong(text.error());
  if (!is_plain_name(*file)) return wrong("the file '" + *file + "', not a plain file name");
  const auto known = data_type_from(*type);
  if (!known) return wrong("type '" + *type + "'");
  if (!order->empty() && *order != kColumnMajor && *order != "row-major")
    return wrong("dims-order '" + *order + "'");
  auto shape = shape_at(entry);
  if (!shape) return wrong(shape.error());
  auto source = source_at(entry);
  if (!source) return wrong(source.error());
  IndexedTensor out{
      .file = *file, .id = *id, .type = *known, .shape = *shape, .source = std::move(*source)};
  if (*order == kColumnMajor) out.order = GST_TENSOR_DIM_ORDER_COL_MAJOR;
  return out;
}

std::expected<IndexedFrame, std::string> parse_line(std::string_view text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object()) return wrong("something other than a JSON object");
  const auto tensors = line.find("tensors");
  if (tensors == line.end() || !tensors->is_array()) return wrong("a missing list of tensors");
  const auto pts = number_at(line, "pts", INT64_MIN, INT64_MAX);
  const auto duration = number_at(line, "duration", 0, INT64_MAX);
  const auto width = number_at(line, "width", 0, INT32_MAX);
  const auto height = number_at(line, "height", 0, INT32_MAX);
  for (const auto& number : {pts, duration, width, height})
    if (!number) return wrong(number.error());
  IndexedFrame out{.time = *pts,
                   .duration = duration->value_or(0),
                   .size = {static_cast<uint32_t>(width->value_or(0)),
                            static_cast<uint32_t>(height->value_or(0))}};
  if (const auto skipped = line.find("skipped"); skipped != line.end()) {
    if (!skipped->is_boolean()) return wrong("skipped that is not true or false");
    out.skipped = skipped->get<bool>();
  }
  for (const Json& entry : *tensors) {
    auto tensor = parse_tensor(entry);
    if (!tensor) return wrong(tensor.error());
    out.tensors.push_back(std::move(*tensor));
  }
  return out;
}

}  // namespace

std::string to_line(size_t number, const IndexedFrame& frame) {
  WrittenJson line{{"frame", number}};
  if (frame.time) line["pts"] = *frame.time;
  if (frame.duration > 0) line["duration"] = frame.duration;
  line["width"] = frame.size.width;
  line["height"] = frame.size.height;
  if (frame.skipped) line["skipped"] = true;
  line["tensors"] = WrittenJson::array();
  for (const IndexedTensor& tensor : frame.tensors) {
    WrittenJson& entry = line["tensors"].emplace_back(
        WrittenJson{{"file", tensor.file},
                    {"id", tensor.id},
                    {"type", to_string(tensor.type)},
                    {"dims", tensor.shape.dims()},
                    {"dims-order",
                     tensor.order == GST_TENSOR_DIM_ORDER_COL_MAJOR ? kColumnMajor : "row-major"}});
    if (tensor.source.facts != nullptr) entry["source"] = to_json(tensor.source);
  }
  return line.dump(-1, ' ', false, WrittenJson::error_handler_t::replace) + "\n";
}

Result<RecordIndex> read_index(const Folder& folder) {
  auto file = folder.read(kIndexName);
  if (!file) {
    file.error().hint = "set location= to the folder that tensorrecord wrote";
    return std::unexpected(file.error());
  }
  RecordIndex out;
  KB_TRY(each_line(*file, [&](size_t number, std::string_view text) -> Status {
    auto frame = parse_line(text);
    if (!frame)
      return fail(ErrorKind::kTruncated,
                  "a frame on line " + std::to_string(number) + " of " + file->path, frame.error(),
                  "record it again");
    frame->line = number;
    for (const IndexedTensor& tensor : frame->tensors)
      if (Status read = out.labels.read(folder, tensor.source, number); !read) return read;
    out.frames.push_back(std::move(*frame));
    return {};
  }));
  if (out.frames.empty()) return file_error(file->path + " has no frames", "record it again");
  return out;
}

FrameTimes times_of(const std::vector<IndexedFrame>& frames) {
  const auto has_time = [](const IndexedFrame& frame) { return frame.time.has_value(); };
  if (std::ranges::none_of(frames, has_time)) return {};
  std::vector<int64_t> times;
  for (const IndexedFrame& frame : frames) {
    const std::string where = "on line " + std::to_string(frame.line);
    if (!frame.time) return {.remark = "none " + where};
    if (*frame.time < -Timeline::kLatest || *frame.time > Timeline::kLatest)
      return {.remark = "one out of range " + where};
    if (!times.empty() && *frame.time <= times.back())
      return {.remark = "one that is not later than the previous " + where};
    if (!times.empty() && *frame.time - times.front() > Timeline::kLongest)
      return {.remark = "one more than 104 days after the first " + where};
    times.push_back(*frame.time);
  }
  return {.timeline = Timeline(std::move(times), frames.back().duration)};
}

namespace {

constexpr size_t kMaxLabelBytes = size_t{1} << 24;
constexpr size_t kRecentSources = 16;  // sources shared by tensors of recent frames
constexpr int64_t kMaxSide = INT32_MAX;

constexpr std::pair<Units, std::string_view> kUnits[] = {{Units::kPixels, "pixels"},
                                                         {Units::kNormalized, "normalized"}};

WrittenJson pair_of(auto x, auto y) { return WrittenJson::array({x, y}); }

bool is_size(const Json& value) {
  return value.is_array() && value.size() == 2 && std::ranges::all_of(value, [](const Json& side) {
           return side.is_number_unsigned() && side.get<uint64_t>() >= 1 &&
                  side.get<uint64_t>() <= uint64_t{kMaxSide};
         });
}

bool are_floats(const Json& value, bool positive) {
  return value.is_array() && value.size() == 2 &&
         std::ranges::all_of(value, [&](const Json& number) {
           const float as_float = number.is_number() ? number.get<float>() : NAN;
           return std::isfinite(as_float) && (!positive || as_float > 0);
         });
}

Size size_of(const Json& value) { return {value[0].get<uint32_t>(), value[1].get<uint32_t>()}; }

std::expected<Letterbox, std::string> geometry_at(const Json& object) {
  constexpr const char* kKeys[] = {"frame", "input", "scale", "pad"};
  const auto there = std::ranges::count_if(kKeys, [&](auto key) { return object.contains(key); });
  if (there == 0) return Letterbox{};
  if (there != std::ssize(kKeys)) return wrong("a source without all of frame, input, scale, pad");
  for (const char* key : {"frame", "input"})
    if (!is_size(object[key])) return wrong(std::string(key) + " of a source that is not a size");
  for (const char* key : {"scale", "pad"})
    if (!are_floats(object[key], key == kKeys[2]))
      return wrong(std::string(key) + " of a source that is not a pair of numbers in range");
  const Json &scale = object["scale"], &pad = object["pad"];
  return Letterbox{.frame = size_of(object["frame"]),
                   .model = size_of(object["input"]),
                   .scale_x = scale[0].get<float>(),
                   .scale_y = scale[1].get<float>(),
                   .pad_x = pad[0].get<float>(),
                   .pad_y = pad[1].get<float>()};
}

/// Writes what differs between tiles: scale, padding and area.
WrittenJson to_json(const Tile& tile) {
  const Letterbox& at = tile.letterbox;
  const Box& area = tile.area;
  return WrittenJson::array(
      {at.scale_x, at.scale_y, at.pad_x, at.pad_y, area.x1, area.y1, area.x2, area.y2});
}

std::expected<std::vector<Tile>, std::string> tiles_at(const Json& object,
                                                       const Letterbox& geometry) {
  std::vector<Tile> out;
  const auto found = object.find("tiles");
  if (found == object.end()) return out;
  if (!found->is_array() || found->size() > kMaxTiles || geometry.frame.width == 0)
    return wrong("tiles of a source that are not a list for its frame");
  for (const Json& each : *found) {
    const bool numbers =
        each.is_array() && each.size() == 8 && std::ranges::all_of(each, [](const Json& number) {
          return number.is_number() && std::isfinite(number.get<float>());
        });
    if (!numbers || each[0].get<float>() <= 0 || each[1].get<float>() <= 0)
      return wrong("a tile of a source that is not eight numbers in range");
    const auto at = [&](size_t i) { return each[i].get<float>(); };
    Tile tile{geometry, {at(4), at(5), at(6), at(7)}};
    tile.letterbox.scale_x = at(0), tile.letterbox.scale_y = at(1);
    tile.letterbox.pad_x = at(2), tile.letterbox.pad_y = at(3);
    out.push_back(tile);
  }
  return out;
}

std::expected<Units, std::string> units_from(const std::string& text) {
  if (text.empty()) return Units::kAuto;
  const auto* found = std::ranges::find(kUnits, text, &std::pair<Units, std::string_view>::second);
  if (found == std::end(kUnits)) return wrong("units '" + text + "'");
  return found->first;
}

Result<std::vector<std::string>> labels_in(const Folder& folder, const std::string& name) {
  KB_ASSIGN(auto file, folder.read(name));
  const auto broken = [&](std::string found) {
    return fail(ErrorKind::kTruncated, "UTF-8 names, one per line, in " + file.path,
                std::move(found), "record it again");
  };
  if (file.bytes > kMaxLabelBytes) return broken("more than 16 MiB");
  std::string text(file.bytes, '\0');
  KB_TRY(file.read(0, std::as_writable_bytes(std::span(text))));
  if (!text.ends_with('\n')) return broken("an incomplete last line");
  if (!g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr))
    return broken("invalid bytes");  // a NUL among them
  if (std::ranges::count(text, '\n') > static_cast<ptrdiff_t>(kMaxLabels))
    return broken("too many names");
  std::vector<std::string> labels;
  for (size_t begin = 0, end; (end = text.find('\n', begin)) != text.npos; begin = end + 1)
    labels.push_back(text.substr(begin, end - begin));
  return labels;
}

}  // namespace

WrittenJson to_json(const IndexedProvenance& source) {
  const TensorProvenance& facts = *source.facts;
  WrittenJson out = WrittenJson::object();
  if (facts.has_geometry()) {
    const Letterbox& at = facts.geometry;
    out["frame"] = pair_of(at.frame.width, at.frame.height);
    out["input"] = pair_of(at.model.width, at.model.height);
    out["scale"] = pair_of(at.scale_x, at.scale_y);
    out["pad"] = pair_of(at.pad_x, at.pad_y);
    for (const Tile& tile : facts.tiles) out["tiles"].push_back(to_json(tile));
  }
  if (!facts.model.empty()) out["model"] = facts.model;
  if (!facts.detector.empty()) out["detector"] = facts.detector;
  for (const auto& [units, name] : kUnits)
    if (facts.units == units) out["units"] = name;
  if (!source.labels.empty()) out["labels"] = source.labels;
  if (facts.held) out["held"] = true;
  return out;
}

std::expected<IndexedProvenance, std::string> source_at(const Json& entry) {
  const auto found = entry.find("source");
  if (found == entry.end()) return IndexedProvenance{};
  if (!found->is_object()) return wrong("a source that is not an object");
  const auto model = text_at(*found, "model"), detector = text_at(*found, "detector"),
             units = text_at(*found, "units"), labels = text_at(*found, "labels");
  for (const auto& text : {model, detector, units, labels})
    if (!text) return wrong(text.error());
  if (found->contains("labels") && !is_plain_name(*labels))
    return wrong("the file '" + *labels + "', not a plain file name");
  const auto known = units_from(*units);
  if (!known) return wrong(known.error());
  const auto geometry = geometry_at(*found);
  if (!geometry) return wrong(geometry.error());
  const auto tiles = tiles_at(*found, *geometry);
  if (!tiles) return wrong(tiles.error());
  const auto held = found->find("held");
  if (held != found->end() && !held->is_boolean()) return wrong("held that is not true or false");
  return IndexedProvenance{std::make_shared<const TensorProvenance>(
                               TensorProvenance{.geometry = *geometry,
                                                .tiles = *tiles,
                                                .model = *model,
                                                .detector = *detector,
                                                .units = *known,
                                                .held = held != found->end() && held->get<bool>()}),
                           *labels};
}

Status SourceLabels::read(const Folder& folder, const IndexedProvenance& source, size_t line) {
  if (source.labels.empty() || files_.contains(source.labels)) return {};
  KB_ASSIGN(auto labels, placed(labels_in(folder, source.labels),
                                std::string(kIndexName) + ":" + std::to_string(line)));
  files_.emplace(source.labels, std::move(labels));
  return {};
}

SharedProvenance SourceLabels::whole(const IndexedProvenance& source) {
  if (source.facts == nullptr) return nullptr;
  const auto known = std::ranges::find_if(recent_, [&](const auto& each) {
    return each.first.labels == source.labels && same_source(each.first.facts, source.facts);
  });
  if (known != recent_.end()) return known->second;
  SharedProvenance out = source.facts;
  if (!source.labels.empty()) {
    TensorProvenance whole = *out;
    whole.labels = files_.at(source.labels);
    out = std::make_shared<const TensorProvenance>(std::move(whole));
  }
  if (recent_.size() == kRecentSources) recent_.erase(recent_.begin());
  recent_.emplace_back(source, out);
  return out;
}

std::string labels_text(const std::vector<std::string>& labels) {
  std::string out;
  for (std::string name : labels) {
    std::ranges::replace_if(name, [](char c) { return c == '\n' || c == '\0'; }, ' ');
    g_autofree gchar* valid = g_utf8_make_valid(name.c_str(), -1);
    out += std::string(valid) + '\n';
  }
  return out;
}

std::expected<std::string, std::string> text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (!found->is_string()) return wrong(std::string(key) + " that is not text");
  auto text = found->get<std::string>();
  if (text.contains('\0')) return wrong("a NUL in " + std::string(key));
  return text;
}

std::expected<std::optional<int64_t>, std::string> number_at(const Json& object, const char* key,
                                                             int64_t low, int64_t high) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  const bool large = found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX;
  if (!found->is_number_integer() || large || found->get<int64_t>() < low ||
      found->get<int64_t>() > high)
    return wrong(std::string(key) + " that is out of range or not a number");
  return found->get<int64_t>();
}

}  // namespace keepbox
