// SPDX-License-Identifier: LGPL-2.1-or-later
// The element inside tensorreplay that attaches recorded tensors to frames.
#include "gst/recording/tensorattach.h"

#include <gst/base/gstbasetransform.h>

#include <optional>
#include <string>
#include <vector>

#include "gst/base/enums.h"
#include "gst/base/error.h"
#include "gst/base/picture.h"
#include "gst/recording/tensorfile.h"
#include "gst/tensors/cudascope.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

enum class ReplayMemory { kSystem, kCuda };

GType memory_type() {
  static const GType type = register_enum(
      "KeepboxReplayMemory",
      {{static_cast<int>(ReplayMemory::kSystem), "system", "System memory"},
       {static_cast<int>(ReplayMemory::kCuda), "cuda",
        "CUDA memory (GstCudaMemory), copied there on a stream of its own"}});
  return type;
}

struct Replayer {
  std::string location;  // this and the next three under the object lock
  RawForm form{.dims = {}, .type = "float32", .id = {}};
  gboolean loop = FALSE;
  ReplayMemory memory = ReplayMemory::kSystem;
  std::optional<TensorReader> reader;
  std::vector<StoredTensor> tensors;
  SharedCuda cuda;
  std::optional<CudaUploader> uploader;  // for tensors in CUDA memory
  bool flushed = false;                  // the next segment says where to go on
  bool failed = false;
};

}  // namespace
}  // namespace keepbox

struct KeepboxTensorAttach {
  GstBaseTransform parent;
  keepbox::Replayer* replayer;
};
struct KeepboxTensorAttachClass {
  GstBaseTransformClass parent_class;
};

using namespace keepbox;

G_DEFINE_TYPE(KeepboxTensorAttach, keepbox_tensor_attach, GST_TYPE_BASE_TRANSFORM)

namespace {

enum { kPropLocation = 1, kPropDims, kPropType, kPropTensorId, kPropLoop, kPropMemory };

KeepboxTensorAttach* cast(gpointer object) { return reinterpret_cast<KeepboxTensorAttach*>(object); }

}  // namespace

namespace keepbox {

bool open_recording(GstElement* element) {
  KeepboxTensorAttach* self = cast(element);
  Replayer& r = *self->replayer;
  if (r.reader) return true;
  GST_OBJECT_LOCK(self);
  const std::string location = r.location;
  const RawForm form = r.form;
  GST_OBJECT_UNLOCK(self);
  auto reader = TensorReader::open(location, form);
  if (!reader) {
    post_error(element, reader.error());
    return false;
  }
  r.reader = std::move(*reader);
  return true;
}

}  // namespace keepbox

namespace {

/// A way into CUDA memory, if that is what is asked for.
Status prepare_memory(KeepboxTensorAttach* self) {
  Replayer& r = *self->replayer;
  GST_OBJECT_LOCK(self);
  const bool device = r.memory == ReplayMemory::kCuda;
  GST_OBJECT_UNLOCK(self);
  r.uploader.reset();
  if (!device) return {};
  auto context = r.cuda.ensure(GST_ELEMENT(self), -1, "set memory=system");
  if (!context) return std::unexpected(context.error());
  auto uploader = CudaUploader::create(std::move(*context));
  if (!uploader) return std::unexpected(uploader.error());
  r.uploader = std::move(*uploader);
  return {};
}

gboolean start(GstBaseTransform* base) {
  Replayer& r = *cast(base)->replayer;
  r.flushed = r.failed = false;
  if (!open_recording(GST_ELEMENT(base))) return FALSE;
  const Status status = prepare_memory(cast(base));
  if (!status) post_error(GST_ELEMENT(base), status.error());
  return status.has_value();
}

gboolean stop(GstBaseTransform* base) {
  Replayer& r = *cast(base)->replayer;
  r.reader.reset();
  r.tensors.clear();
  r.uploader.reset();
  r.cuda.clear();
  return TRUE;
}

/// The next frame's tensors; false after the last.
Result<bool> next(Replayer& r, bool loop) {
  Result<bool> more = r.reader->next(r.tensors);
  if (!more || *more || !loop) return more;
  r.reader->rewind();
  return r.reader->next(r.tensors);
}

Status attach(const Replayer& r, GstBuffer* buffer) {
  for (const StoredTensor& tensor : r.tensors) {
    Result<GstBuffer*> data = r.uploader ? r.uploader->upload(tensor.data.get())
                                         : gst_buffer_ref(tensor.data.get());
    if (!data) return std::unexpected(data.error());
    add_tensor(buffer, tensor.id.c_str(), tensor.type, tensor.shape, tensor.order, *data);
  }
  return {};
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  Replayer& r = *cast(base)->replayer;
  GST_OBJECT_LOCK(base);
  const bool loop = r.loop != FALSE;
  GST_OBJECT_UNLOCK(base);
  const Result<bool> more = next(r, loop);
  if (more && !*more) return GST_FLOW_EOS;
  const Status done = more ? attach(r, buffer) : std::unexpected(more.error());
  if (done) return GST_FLOW_OK;
  r.failed = true;
  post_error(GST_ELEMENT(base), done.error());
  return GST_FLOW_ERROR;
}

/// After a seek, frames get the tensors that were recorded with them.
gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  Replayer& r = *cast(base)->replayer;
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    r.flushed = true;
    r.failed = false;
  }
  if (GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT && r.flushed && r.reader) {
    const GstSegment* segment = nullptr;
    gst_event_parse_segment(event, &segment);
    r.reader->seek(segment->format == GST_FORMAT_TIME ? segment->start : 0);
    r.flushed = false;
  }
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && r.failed) {
    gst_event_unref(event);  // what a source says after an error is no end of the stream
    return TRUE;
  }
  return GST_BASE_TRANSFORM_CLASS(keepbox_tensor_attach_parent_class)->sink_event(base, event);
}

void set_context(GstElement* element, GstContext* context) {
  cast(element)->replayer->cuda.offer(element, context, -1);
  GST_ELEMENT_CLASS(keepbox_tensor_attach_parent_class)->set_context(element, context);
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  return (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
          cast(base)->replayer->cuda.answer(GST_ELEMENT(base), query)) ||
         GST_BASE_TRANSFORM_CLASS(keepbox_tensor_attach_parent_class)->query(base, direction, query);
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec*) {
  Replayer& r = *cast(object)->replayer;
  const auto text = [&] {
    const gchar* string = g_value_get_string(value);
    return std::string(string != nullptr ? string : "");
  };
  GST_OBJECT_LOCK(object);
  switch (id) {
    case kPropLocation: r.location = text(); break;
    case kPropDims: r.form.dims = text(); break;
    case kPropType: r.form.type = text(); break;
    case kPropTensorId: r.form.id = text(); break;
    case kPropMemory: r.memory = static_cast<ReplayMemory>(g_value_get_enum(value)); break;
    default: r.loop = g_value_get_boolean(value);
  }
  GST_OBJECT_UNLOCK(object);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec*) {
  const Replayer& r = *cast(object)->replayer;
  GST_OBJECT_LOCK(object);
  switch (id) {
    case kPropLocation: g_value_set_string(value, r.location.c_str()); break;
    case kPropDims: g_value_set_string(value, r.form.dims.c_str()); break;
    case kPropType: g_value_set_string(value, r.form.type.c_str()); break;
    case kPropTensorId: g_value_set_string(value, r.form.id.c_str()); break;
    case kPropMemory: g_value_set_enum(value, static_cast<int>(r.memory)); break;
    default: g_value_set_boolean(value, r.loop);
  }
  GST_OBJECT_UNLOCK(object);
}

void finalize(GObject* object) {
  delete cast(object)->replayer;
  G_OBJECT_CLASS(keepbox_tensor_attach_parent_class)->finalize(object);
}

}  // namespace

namespace keepbox {

void install_attach_properties(GObjectClass* klass) {
  const auto ready = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                              GST_PARAM_MUTABLE_READY);
  const auto text = [&](guint id, const char* name, const char* blurb, const char* value) {
    g_object_class_install_property(klass, id, g_param_spec_string(name, name, blurb, value, ready));
  };
  text(kPropLocation, "location",
       "Folder of a recording by tensorrecord, a NumPy file, or a file of raw numbers.", nullptr);
  text(kPropDims, "dims",
       "Dimensions of the tensor in a raw file, slowest first, as 1,84,8400 or 1x84x8400; the file "
       "may hold several frames of it.",
       nullptr);
  text(kPropType, "type",
       "Type of the numbers in a raw file: float32, float16, bfloat16, float64, or int or uint with "
       "8, 16, 32 or 64.",
       "float32");
  text(kPropTensorId, "tensor-id", "Id of the tensor of a raw or NumPy file; may be empty.",
       nullptr);
  g_object_class_install_property(
      klass, kPropLoop,
      g_param_spec_boolean("loop", "loop",
                           "Begin again after the last recorded frame instead of ending the stream.",
                           FALSE,
                           static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                    GST_PARAM_MUTABLE_PLAYING)));
  g_object_class_install_property(
      klass, kPropMemory,
      g_param_spec_enum("memory", "memory", "Where the tensors of the frames are.", memory_type(),
                        static_cast<int>(ReplayMemory::kSystem), ready));
}

Size recorded_size(GstElement* element) { return cast(element)->replayer->reader->frame_size(); }

void close_recording(GstElement* element) { stop(GST_BASE_TRANSFORM(element)); }

}  // namespace keepbox

static void keepbox_tensor_attach_init(KeepboxTensorAttach* self) {
  self->replayer = new Replayer;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void keepbox_tensor_attach_class_init(KeepboxTensorAttachClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  GST_ELEMENT_CLASS(klass)->set_context = set_context;
  install_attach_properties(object);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Tensor attacher", "Filter/Video",
                                        "Attaches recorded tensors to frames",
                                        "The keepbox developers");
  add_video_templates(GST_ELEMENT_CLASS(klass));
  transform->start = start;
  transform->stop = stop;
  transform->query = query;
  transform->sink_event = sink_event;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
  transform->passthrough_on_same_caps = FALSE;
}
