// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and checks the lines of an index.
#include "gst/recording/recordindex.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "gst/base/error.h"
#include "gst/recording/indexfields.h"

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

}  // namespace keepbox
