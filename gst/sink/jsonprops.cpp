// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads tags, and the times of frames.
#include "gst/sink/jsonprops.h"

#include <nlohmann/json.hpp>

#include "gst/base/enums.h"
#include "gst/base/error.h"
#include "gst/metas/framelabels.h"
#include "gst/sink/frametime.h"

namespace keepbox {
namespace {

/// Returns the user's JSON object on one line.
Result<std::string> parse_tags(const std::string& text) {
  if (text.empty()) return text;
  const auto tags = nlohmann::ordered_json::parse(text, nullptr, false);
  if (tags.is_object()) return tags.dump();
  return reject(ErrorKind::kInvalid, "tags=" + text + " is not a JSON object",
                R"(set tags='{"camera":3}', with quotes for the shell)");
}

}  // namespace

GType normalization_type() {
  static const GType type = register_enum(
      "KeepboxNormalization",
      {{static_cast<int>(Normalization::kNone), "none", "Tensors are written unchanged."},
       {static_cast<int>(Normalization::kL2), "l2",
        "Each tensor of an object is divided by its Euclidean norm, so that the dot product of "
        "two embeddings is their cosine similarity."}});
  return type;
}

Status add_tensors(FrameInfo& frame, GstBuffer* buffer, const JsonProps& props) {
  if (!props.add_tensor_data) return {};
  KB_ASSIGN(frame.tensors, read_object_tensors(buffer));
  if (static_cast<Normalization>(props.normalize) == Normalization::kL2)
    for (ObjectTensor& each : *frame.tensors) normalize_l2(each);
  return {};
}

Result<WriterOptions> json_options(const JsonProps& props) {
  KB_ASSIGN(auto tags, parse_tags(props.tags));
  return WriterOptions{
      .source = props.source, .tags = std::move(tags), .write_empty = props.write_empty};
}

FrameInfo frame_info(GstBuffer* buffer, const GstSegment& segment, const JsonProps& props,
                     Size size, int64_t number) {
  FrameInfo info{.number = number,
                 .timestamp = stream_time(segment, buffer),
                 .size = size,
                 .running_time = running_time(segment, buffer)};
  GDateTime* time = time_of_day(buffer);
  if (time == nullptr && props.add_system_timestamp) time = g_date_time_new_now_utc();
  if (time != nullptr)
    info.wall_time = iso_time(time, {props.timestamp_utc, props.timestamp_microseconds});
  if (props.add_rtp_timestamp) info.sender_time = sender_time(buffer);
  info.labels = read_frame_labels(buffer);
  return info;
}

}  // namespace keepbox
