// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of all elements that write JSON objects of frames.
#pragma once

#include <gst/gst.h>

#include <array>
#include <span>
#include <string>
#include <vector>

#include "gst/base/props.h"
#include "gst/sink/boxwriter.h"

namespace keepbox {

/// Property values as set.
struct JsonProps {
  std::string source, tags;
  bool write_empty = true;
  bool add_system_timestamp = false;
  bool timestamp_utc = false;
  bool timestamp_microseconds = false;
  bool add_rtp_timestamp = false;
  bool add_tensor_data = false;
  int normalize = 0;  // Normalization
};

/// Scaling of tensors before they are written.
enum class Normalization { kNone, kL2 };
GType normalization_type();

/// Returns the options of a writer. Errors name the property.
Result<WriterOptions> json_options(const JsonProps& props);

/// Returns what JSON Lines and other formats write of a frame in addition to its boxes. It is valid
/// as long as the buffer's metas do not change.
FrameInfo frame_info(GstBuffer* buffer, const GstSegment& segment, const JsonProps& props,
                     Size size, int64_t number);

/// Adds the undecoded tensors of a frame's objects, if the properties ask for them.
Status add_tensors(FrameInfo& frame, GstBuffer* buffer, const JsonProps& props);

/// Returns an element's own rows, followed by those of JsonProps. @tparam Props derived from it
template <class Props>
std::vector<Property<Props>> with_json_rows(std::span<const Property<Props>> own) {
  const Property<Props> rows[] = {
      {"source", "Name of the stream in JSON objects; empty omits the field.", &Props::source},
      {"tags",
       "JSON object with user-defined values, such as {\"camera\":3}, written as tags in the JSON "
       "object of each frame; empty omits the field.",
       &Props::tags},
      {"write-empty",
       "Also write the JSON objects of frames without boxes, and their files with format=kitti of "
       "boxsink, which has none for frames that the model skipped.",
       &Props::write_empty},
      {"add-system-timestamp",
       "Write the time of day as system_timestamp in the JSON object of each frame: the system "
       "time "
       "at which the frame arrives here. A frame's own time code (GstVideoTimeCodeMeta, as set by "
       "timecodestamper) is always written, and replaces the system time if it has a date.",
       &Props::add_system_timestamp},
      {"timestamp-utc", "Use UTC instead of local time for system_timestamp and in location.",
       &Props::timestamp_utc},
      {"timestamp-microseconds",
       "Write system_timestamp with microseconds instead of milliseconds.",
       &Props::timestamp_microseconds},
      {"add-rtp-timestamp",
       "Write the sender's clock as rtp.sender_ntp_unix_timestamp_ns in JSON objects, if the frame "
       "has it (rtspsrc add-reference-timestamp-meta=true).",
       &Props::add_rtp_timestamp},
      {"add-tensor-data",
       "Write undecoded tensors of objects, such as embeddings: a field tensors in the JSON "
       "object of each, with precision, dims, model_name, layer_name and data, as "
       "gvametaconvert writes it.",
       &Props::add_tensor_data},
      {"normalize", "Scaling of the tensors that add-tensor-data writes.", &Props::normalize,
       normalization_type},
  };
  std::vector<Property<Props>> out(own.begin(), own.end());
  out.insert(out.end(), std::begin(rows), std::end(rows));
  return out;
}

}  // namespace keepbox
