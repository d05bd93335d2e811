// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and checks the lines of an index.
#include "gst/recording/recordindex.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gst/base/error.h"

namespace keepbox {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kColumnMajor = "col-major";

/// What is wrong with a line, without the place.
std::unexpected<std::string> wrong(std::string found) { return std::unexpected(std::move(found)); }

/// A text, "" when it is left out. GStreamer's strings end at a NUL.
std::expected<std::string, std::string> text_at(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) return "";
  if (!found->is_string()) return wrong(std::string(key) + " that is no text");
  auto text = found->get<std::string>();
  if (text.contains('\0')) return wrong("a NUL in " + std::string(key));
  return text;
}

/// A whole number within bounds, or nothing when it is left out.
std::expected<std::optional<int64_t>, std::string> number_at(const Json& object, const char* key,
                                                             int64_t low, int64_t high) {
  const auto found = object.find(key);
  if (found == object.end()) return std::nullopt;
  const bool large = found->is_number_unsigned() && found->get<uint64_t>() > INT64_MAX;
  if (!found->is_number_integer() || large || found->get<int64_t>() < low ||
      found->get<int64_t>() > high)
    return wrong(std::string(key) + " that is no number of its range");
  return found->get<int64_t>();
}

std::expected<Shape, std::string> shape_at(const Json& object) {
  const auto found = object.find("dims");
  if (found == object.end()) return Shape();
  const auto is_dim = [](const Json& dim) { return dim.is_number_unsigned(); };
  if (!found->is_array() || found->size() > Shape::kMaxRank || !std::ranges::all_of(*found, is_dim))
    return wrong("dims that are no shape");
  const auto dims = found->get<std::vector<size_t>>();
  return Shape(std::span<const size_t>(dims));
}

std::expected<IndexedTensor, std::string> parse_tensor(const Json& entry) {
  if (!entry.is_object()) return wrong("a tensor that is no object");
  const auto file = text_at(entry, "file"), id = text_at(entry, "id"),
             type = text_at(entry, "type"), order = text_at(entry, "dims-order");
  for (const auto& text : {file, id, type, order})
    if (!text) return wrong(text.error());
  if (!is_plain_name(*file)) return wrong("the file '" + *file + "', no name in that folder");
  const auto known = data_type_from(*type);
  if (!known) return wrong("type '" + *type + "'");
  if (!order->empty() && *order != kColumnMajor && *order != "row-major")
    return wrong("dims-order '" + *order + "'");
  auto shape = shape_at(entry);
  if (!shape) return wrong(shape.error());
  IndexedTensor out{.file = *file, .id = *id, .type = *known, .shape = *shape};
  if (*order == kColumnMajor) out.order = GST_TENSOR_DIM_ORDER_COL_MAJOR;
  return out;
}

std::expected<IndexedFrame, std::string> parse_line(std::string_view text) {
  const Json line = Json::parse(text, nullptr, false);
  if (!line.is_object()) return wrong("no JSON object");
  const auto tensors = line.find("tensors");
  if (tensors == line.end() || !tensors->is_array()) return wrong("no list of tensors");
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
  for (const Json& entry : *tensors) {
    auto tensor = parse_tensor(entry);
    if (!tensor) return wrong(tensor.error());
    out.tensors.push_back(std::move(*tensor));
  }
  return out;
}

}  // namespace

std::string to_line(size_t number, const IndexedFrame& frame) {
  Json line{{"frame", number}};
  if (frame.time) line["pts"] = *frame.time;
  if (frame.duration > 0) line["duration"] = frame.duration;
  line["width"] = frame.size.width;
  line["height"] = frame.size.height;
  line["tensors"] = Json::array();
  for (const IndexedTensor& tensor : frame.tensors)
    line["tensors"].push_back(
        {{"file", tensor.file},
         {"id", tensor.id},
         {"type", to_string(tensor.type)},
         {"dims", tensor.shape.dims()},
         {"dims-order",
          tensor.order == GST_TENSOR_DIM_ORDER_COL_MAJOR ? kColumnMajor : "row-major"}});
  return line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<std::vector<IndexedFrame>> read_index(const Folder& folder) {
  auto file = folder.read(kIndexName);
  if (!file) {
    file.error().hint = "set location= to the folder that tensorrecord wrote";
    return std::unexpected(file.error());
  }
  std::vector<IndexedFrame> frames;
  KB_TRY(file->each_line([&](size_t number, std::string_view text) -> Status {
    auto frame = parse_line(text);
    if (!frame)
      return fail(ErrorKind::kTruncated,
                  "a frame in line " + std::to_string(number) + " of " + file->path, frame.error(),
                  "record it again");
    frame->line = number;
    frames.push_back(std::move(*frame));
    return {};
  }));
  if (frames.empty()) return file_error("frames in " + file->path, "none", "record it again");
  return frames;
}

FrameTimes times_of(const std::vector<IndexedFrame>& frames) {
  const auto has_time = [](const IndexedFrame& frame) { return frame.time.has_value(); };
  if (std::ranges::none_of(frames, has_time)) return {};
  std::vector<int64_t> times;
  for (const IndexedFrame& frame : frames) {
    const std::string where = "in line " + std::to_string(frame.line);
    if (!frame.time) return {.remark = "none " + where};
    if (*frame.time < -Timeline::kLatest || *frame.time > Timeline::kLatest)
      return {.remark = "an absurd one " + where};
    if (!times.empty() && *frame.time <= times.back())
      return {.remark = "one that is not later than the last " + where};
    if (!times.empty() && *frame.time - times.front() > Timeline::kLongest)
      return {.remark = "one that is months after the first " + where};
    times.push_back(*frame.time);
  }
  return {.timeline = Timeline(std::move(times), frames.back().duration)};
}

}  // namespace keepbox
