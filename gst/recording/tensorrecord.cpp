// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorrecord: writes the tensors of each frame to a folder, for tensorreplay and NumPy.

/**
 * SECTION:element-tensorrecord
 * @title: tensorrecord
 *
 * Writes the tensors of each frame to a folder: one .npy file per tensor, and frames.jsonl with one
 * line per frame: its stream time and size, and the ids, types, dimensions and files of its
 * tensors. Data from the inference element is kept as well: the position of the frame in the model
 * input, the model's name and family, and its classes in a .labels file. Frames pass unchanged.
 * tensorreplay attaches the tensors again.
 *
 * The index is named frames.jsonl.part until EOS, and an older recording in the folder stays intact
 * until then. gst-launch-1.0 -e sends EOS when interrupted. To use the part of a recording that was
 * interrupted, rename its index to frames.jsonl.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 -e filesrc location=clip.webm ! decodebin3 ! videoconvertscale \
 *     ! video/x-raw,format=RGB,width=640,height=640 ! onnxinference model-file=model.onnx \
 *     ! tensorrecord location=recording ! fakesink
 * ]|
 *
 * Since: 0.1
 */
#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <format>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/base/props.h"
#include "gst/recording/tensorwriter.h"
#include "gst/recording/timeline.h"
#include "gst/tensors/provenance.h"
#include "gst/tensors/tensors.h"

GST_DEBUG_CATEGORY_STATIC(tensorrecord_debug);
#define GST_CAT_DEFAULT tensorrecord_debug

namespace keepbox {
namespace {

struct RecordProps {
  std::string location;
  std::string tensor_ids;
};

const Property<RecordProps> kRecordProperties[] = {
    {"location",
     "Folder to record to, created if missing. An existing recording in it is replaced at EOS "
     "(gst-launch-1.0 -e sends EOS when interrupted) and must not be replayed meanwhile. Until EOS "
     "the index is named frames.jsonl.part; one left by an earlier run is renamed to "
     "frames.jsonl.part.1 or the next free number.",
     &RecordProps::location},
    {"tensor-ids", "Comma-separated ids of the tensors to record; empty records all.",
     &RecordProps::tensor_ids},
};

const PropertyTable<RecordProps>& record_properties() {
  static constexpr PropertyTable<RecordProps> table(kRecordProperties, kChangeWhenReady);
  return table;
}

struct State : TableProps<RecordProps, record_properties> {
  // The streaming thread's own:
  std::vector<std::string> ids;  // empty: all
  std::optional<TensorWriter> writer;
  bool warned = false;  // about frames without tensors
  bool any = false;     // some frame had tensors
  PostedError failed;   // the recording is incomplete
  Size frame;
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(tensorrecord, KeepboxTensorRecord, keepbox_tensor_record, GstBaseTransform,
                       GST_TYPE_BASE_TRANSFORM)

using namespace keepbox;

namespace {

std::vector<std::string> words_of(const std::string& list) {
  std::vector<std::string> out;
  g_auto(GStrv) words = g_strsplit(list.c_str(), ",", -1);
  for (gchar** word = words; *word != nullptr; ++word)
    if (*g_strstrip(*word) != '\0') out.emplace_back(*word);
  return out;
}

gboolean start(GstBaseTransform* base) {
  State& r = Self::of(base);
  const RecordProps props = locked_copy(base, r.props);
  r.failed.clear();
  auto writer = TensorWriter::create(props.location);
  if (!writer) return r.failed.check(GST_ELEMENT(base), std::unexpected(writer.error()));
  if (const auto older = writer->older()) post_warning(GST_ELEMENT(base), *older);
  r.writer = std::move(*writer);
  r.ids = words_of(props.tensor_ids);
  r.warned = r.any = false;
  return TRUE;
}

/// Warns that the recording is incomplete if there was no EOS.
gboolean stop(GstBaseTransform* base) {
  std::optional<TensorWriter>& writer = Self::of(base).writer;
  if (writer && !writer->finished() && writer->frames() != 0)
    GST_WARNING_OBJECT(
        base, "stopped before EOS: the %" G_GSIZE_FORMAT " frames so far are in frames.jsonl.part",
        writer->frames());
  writer.reset();
  return TRUE;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  return read_size(input, Self::of(base).frame);
}

/// Rejects tensors that FrameTensors would skip as unreadable, because the recording would be
/// incomplete.
Status check_readable(GstBuffer* buffer, const std::vector<std::string>& ids) {
  TensorWalk walk(buffer);
  while (const GstTensor* tensor = walk.next()) {
    if (is_readable(*tensor) || (!ids.empty() && !std::ranges::contains(ids, id_of(*tensor))))
      continue;
    return reject(
        ErrorKind::kUnsupported,
        std::format(
            "The tensor \"{}\" of {} dimensions and GstTensorDataType {} cannot be recorded, "
            "only tensors of 1 to {} dimensions, of float16 to float64, bfloat16, or "
            "integers of 8 to 64 bits",
            id_of(*tensor), tensor->num_dims, static_cast<int>(tensor->data_type), Shape::kMaxRank),
        "set tensor-ids= to the tensors to record");
  }
  return {};
}

Status record(GstBaseTransform* base, GstBuffer* buffer) {
  State& r = Self::of(base);
  KB_TRY(check_readable(buffer, r.ids));
  FrameTensors tensors;
  KB_TRY(tensors.list_tensors(buffer));
  for (size_t i = 0; i < tensors.listed().size(); ++i)
    if (const auto source = tensors.source(i); source != nullptr && source->objects)
      return reject(ErrorKind::kUnsupported,
                    "Tensors of objects cannot be recorded: " + tensors.listed()[i].to_string(),
                    "put tensorrecord before the tensorinfer with regions=objects");
  std::vector<uint32_t> wanted;
  for (uint32_t i = 0; i < tensors.listed().size(); ++i)
    if (r.ids.empty() || std::ranges::contains(r.ids, tensors.listed()[i].id)) wanted.push_back(i);
  KB_TRY(tensors.map(wanted));
  std::vector<RecordedTensor> chosen;
  for (size_t i = 0; i < wanted.size(); ++i)
    chosen.push_back({tensors.views()[i], tensors.order(wanted[i]), tensors.source(wanted[i])});
  r.any = r.any || !chosen.empty();
  const bool skipped = was_skipped(buffer);
  if (chosen.empty() && !skipped && !std::exchange(r.warned, true))
    post_warning(GST_ELEMENT(base),
                 problem(ErrorKind::kMismatch, "The frame has no tensors to record (GstTensorMeta)",
                         r.ids.empty() ? "put an inference element before tensorrecord"
                                       : "set tensor-ids= to ids of the model's tensors"));
  return r.writer->write({.tensors = chosen,
                          .time = stream_time_of(base->segment, GST_BUFFER_PTS(buffer)),
                          .duration = known_duration(GST_BUFFER_DURATION(buffer)),
                          .size = r.frame,
                          .skipped = skipped});
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  State& r = Self::of(base);
  if (!r.failed) r.failed.check(GST_ELEMENT(base), record(base, buffer));
  return r.failed ? GST_FLOW_ERROR : GST_FLOW_OK;
}

/// Completes the recording. Frames without any tensor are an error, and replace no recording.
Status finish(State& r) {
  if (r.writer->frames() == 0 || r.any) return r.writer->finish();
  return reject(ErrorKind::kMismatch, "No frame had tensors to record (GstTensorMeta)",
                "put an inference element before tensorrecord");
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  State& r = Self::of(base);
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && r.writer) {
    if (!r.failed) r.failed.check(GST_ELEMENT(base), finish(r));
    if (r.failed.take(event)) return FALSE;
  }
  return Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

}  // namespace

static void keepbox_tensor_record_init(KeepboxTensorRecord* self) {
  self->make_state();
  // Frames are only read, so shared ones pass without a copy.
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
}

static void keepbox_tensor_record_class_init(KeepboxTensorRecordClass* klass) {
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(tensorrecord_debug, "tensorrecord", 0, "recording of tensors");
  Self::set_up(klass);
  record_properties().install(G_OBJECT_CLASS(klass));
  describe(klass, "Tensor recorder", "Filter/Analyzer/Video",
           "Records the tensors of each frame as NumPy files with an index, for tensorreplay");
  add_video_templates(klass);
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->sink_event = sink_event;
  transform->transform_ip = transform_ip;
}
