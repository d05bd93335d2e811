// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame and its boxes, as writers take them.
#include "gst/sink/frameinfo.h"

#include <gst/video/video.h>
#include <nlohmann/json.hpp>

#include <cstdint>

#include "gst/base/error.h"
#include "gst/metas/labels.h"

namespace keepbox {

/// Returns the stream time of a buffer in ns; std::nullopt without a timestamp, or before the start
/// of the stream.
std::optional<uint64_t> stream_time(const GstSegment& segment, GstBuffer* buffer);

/// Returns the running time of a buffer in ns; std::nullopt without a timestamp, or outside of the
/// segment.
std::optional<uint64_t> running_time(const GstSegment& segment, GstBuffer* buffer);

struct WallTimeFormat {
  bool utc = false;           // otherwise local time with its offset
  bool microseconds = false;  // otherwise milliseconds
};

/// Formats ISO 8601. @param time is consumed.
std::string iso_time(GDateTime* time, WallTimeFormat format);

/// Returns the time of day of a buffer's time code; nullptr without one that has a date.
GDateTime* time_of_day(GstBuffer* buffer);

/// Returns the RTP sender's time in ns since 1970; std::nullopt if the source does not provide it.
std::optional<uint64_t> sender_time(GstBuffer* buffer);

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
  return WriterOptions{.tags = std::move(tags), .write_empty = props.write_empty};
}

FrameInfo frame_info(GstBuffer* buffer, const GstSegment& segment, const JsonProps& props,
                     Size size, int64_t number) {
  FrameInfo info{.number = number,
                 .timestamp = stream_time(segment, buffer),
                 .size = size,
                 .source = props.source,
                 .running_time = running_time(segment, buffer)};
  GDateTime* time = time_of_day(buffer);
  if (time == nullptr && props.add_system_timestamp) time = g_date_time_new_now_utc();
  if (time != nullptr)
    info.wall_time = iso_time(time, {props.timestamp_utc, props.timestamp_microseconds});
  if (props.add_rtp_timestamp) info.sender_time = sender_time(buffer);
  info.labels = read_frame_labels(buffer);
  return info;
}

std::optional<uint64_t> stream_time(const GstSegment& segment, GstBuffer* buffer) {
  const GstClockTime pts = GST_BUFFER_PTS(buffer);
  if (segment.format != GST_FORMAT_TIME || !GST_CLOCK_TIME_IS_VALID(pts)) return {};
  // gst_segment_to_stream_time() rejects frames that begin before the segment.
  guint64 time = 0;
  if (gst_segment_to_stream_time_full(&segment, GST_FORMAT_TIME, pts, &time) != 1) return {};
  return time;
}

std::optional<uint64_t> running_time(const GstSegment& segment, GstBuffer* buffer) {
  if (segment.format != GST_FORMAT_TIME) return {};
  const GstClockTime time =
      gst_segment_to_running_time(&segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  if (!GST_CLOCK_TIME_IS_VALID(time)) return {};
  return time;
}

std::string iso_time(GDateTime* time, WallTimeFormat format) {
  g_autoptr(GDateTime) taken = time;
  g_autoptr(GDateTime) shown = format.utc ? g_date_time_to_utc(taken) : g_date_time_to_local(taken);
  g_autofree gchar* seconds = g_date_time_format(shown, "%Y-%m-%dT%H:%M:%S.%f");
  g_autofree gchar* zone = g_date_time_format(shown, format.utc ? "Z" : "%:z");
  std::string out = seconds;
  if (!format.microseconds) out.resize(out.size() - 3);
  return out + zone;
}

GDateTime* time_of_day(GstBuffer* buffer) {
  const GstVideoTimeCodeMeta* meta = gst_buffer_get_video_time_code_meta(buffer);
  if (meta == nullptr || meta->tc.config.latest_daily_jam == nullptr) return nullptr;
  return gst_video_time_code_to_date_time(&meta->tc);
}

std::optional<uint64_t> sender_time(GstBuffer* buffer) {
  constexpr guint64 kFrom1900To1970 = G_GUINT64_CONSTANT(2208988800) * GST_SECOND;
  static GstStaticCaps ntp = GST_STATIC_CAPS("timestamp/x-ntp");
  g_autoptr(GstCaps) caps = gst_static_caps_get(&ntp);
  const GstReferenceTimestampMeta* meta = gst_buffer_get_reference_timestamp_meta(buffer, caps);
  if (meta == nullptr || !GST_CLOCK_TIME_IS_VALID(meta->timestamp) ||
      meta->timestamp < kFrom1900To1970)
    return {};
  return meta->timestamp - kFrom1900To1970;
}

std::span<const FrameBox> BoxReader::read(GstBuffer* buffer, Size frame) {
  analysed_ |= read_boxes(buffer, boxes_, &keypoints_, frame);
  skipped_ = SkippedModels(buffer);
  for (const FrameBox& box : boxes_) models_.insert(box.model);
  if (models_.size() > 1)
    for (FrameBox& box : boxes_) box.unnamed = false;
  ++frames_;
  return boxes_;
}

std::optional<Error> BoxReader::missing_meta_warning(const char* element) const {
  if (frames_ == 0 || analysed_) return std::nullopt;
  return problem(ErrorKind::kMismatch,
                 "None of " + std::to_string(frames_) + " frames had GstAnalyticsRelationMeta",
                 std::string("put a decoder such as boxdecode before ") + element);
}

}  // namespace keepbox
