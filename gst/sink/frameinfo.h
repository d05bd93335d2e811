// SPDX-License-Identifier: LGPL-2.1-or-later
// A frame and its boxes, as writers take them.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "gst/base/props.h"
#include "gst/metas/boxes.h"
#include "gst/metas/skippedmodels.h"
#include "gst/sink/writer.h"

namespace keepbox {

// The properties of all elements that write JSON objects of frames.

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
      {"source",
       "Name of the stream in JSON objects, or of the picture; empty omits the field. In boxsink, "
       "it "
       "may change from frame to frame.",
       &Props::source},
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

// Reads the boxes of a stream's frames for writers.

/// Reads boxes, and keeps what writers need of earlier frames.
class BoxReader {
 public:
  /// Returns the boxes of the next frame, valid until the next call and as long as the buffer. From
  /// the first frame with a second model on, each has the model name of its decoder.
  std::span<const FrameBox> read(GstBuffer* buffer, Size frame);

  /// Returns the models that did not look at the frame of the last read().
  const SkippedModels& skipped() const { return skipped_; }
  guint64 frames() const { return frames_; }
  /// Returns a warning if no frame was analysed. @param element for its hint
  std::optional<Error> missing_meta_warning(const char* element) const;

 private:
  std::vector<FrameBox> boxes_;
  KeypointStore keypoints_;
  SkippedModels skipped_;
  std::set<GQuark> models_;
  guint64 frames_ = 0;
  bool analysed_ = false;  // a frame had analytics, even if without boxes
};

}  // namespace keepbox
