// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorrecord: writes the tensors of each frame to a folder, for tensorreplay and NumPy.
#include <gst/base/gstbasetransform.h>

#include <optional>
#include <string>
#include <vector>

#include "gst/base/elements.h"
#include "gst/base/error.h"
#include "gst/base/picture.h"
#include "gst/recording/tensorfile.h"
#include "gst/tensors/tensors.h"

namespace keepbox {
namespace {

struct Recorder {
  std::string location;  // under the object lock
  std::optional<TensorWriter> writer;
  bool warned = false;  // of frames without tensors
  Size frame;
};

}  // namespace
}  // namespace keepbox

struct KeepboxTensorRecord {
  GstBaseTransform parent;
  keepbox::Recorder* recorder;
};
struct KeepboxTensorRecordClass {
  GstBaseTransformClass parent_class;
};

using namespace keepbox;

GType keepbox_tensor_record_get_type();
G_DEFINE_TYPE(KeepboxTensorRecord, keepbox_tensor_record, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(tensorrecord, "tensorrecord", GST_RANK_NONE,
                            keepbox_tensor_record_get_type())

namespace {

enum { kPropLocation = 1 };

KeepboxTensorRecord* cast(gpointer object) { return reinterpret_cast<KeepboxTensorRecord*>(object); }

gboolean start(GstBaseTransform* base) {
  Recorder& r = *cast(base)->recorder;
  GST_OBJECT_LOCK(base);
  const std::string location = r.location;
  GST_OBJECT_UNLOCK(base);
  auto writer = TensorWriter::create(location);
  if (!writer) {
    post_error(GST_ELEMENT(base), writer.error());
    return FALSE;
  }
  r.writer = std::move(*writer);
  r.warned = false;
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  cast(base)->recorder->writer.reset();
  return TRUE;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  const auto picture = picture_of(input);
  if (!picture) return FALSE;
  cast(base)->recorder->frame = picture->size;
  return TRUE;
}

/// Orders as the producers tagged them, in the sequence of FrameTensors.
std::vector<GstTensorDimOrder> orders_of(GstBuffer* buffer) {
  std::vector<GstTensorDimOrder> orders;
  gpointer state = nullptr;
  while (GstMeta* meta =
             gst_buffer_iterate_meta_filtered(buffer, &state, gst_tensor_meta_api_get_type())) {
    auto* tensors = reinterpret_cast<GstTensorMeta*>(meta);
    for (gsize i = 0; i < tensors->num_tensors; ++i) {
      const GstTensor* tensor = gst_tensor_meta_get(tensors, i);
      if (tensor != nullptr && is_readable(*tensor)) orders.push_back(tensor->dims_order);
    }
  }
  return orders;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  Recorder& r = *cast(base)->recorder;
  FrameTensors tensors;
  Status status = tensors.look(buffer);
  if (status) status = tensors.map_all();
  if (status && tensors.views().empty() && !r.warned) {
    r.warned = true;
    post_warning(GST_ELEMENT(base),
                 {ErrorKind::kMismatch, "tensors on the frame (GstTensorMeta)", "none",
                  "put an inference element before"});
  }
  if (status)
    status = r.writer->write(tensors.views(), orders_of(buffer).data(), GST_BUFFER_PTS(buffer),
                             r.frame);
  if (status) return GST_FLOW_OK;
  post_error(GST_ELEMENT(base), status.error());
  return GST_FLOW_ERROR;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  if (id != kPropLocation) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    return;
  }
  const gchar* text = g_value_get_string(value);
  GST_OBJECT_LOCK(object);
  cast(object)->recorder->location = text != nullptr ? text : "";
  GST_OBJECT_UNLOCK(object);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  if (id != kPropLocation) {
    G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
    return;
  }
  GST_OBJECT_LOCK(object);
  g_value_set_string(value, cast(object)->recorder->location.c_str());
  GST_OBJECT_UNLOCK(object);
}

void finalize(GObject* object) {
  delete cast(object)->recorder;
  G_OBJECT_CLASS(keepbox_tensor_record_parent_class)->finalize(object);
}

}  // namespace

static void keepbox_tensor_record_init(KeepboxTensorRecord* self) {
  self->recorder = new Recorder;
  // The frame is only looked at: also one that others hold goes on without a copy.
  gst_base_transform_set_passthrough(GST_BASE_TRANSFORM(self), TRUE);
}

static void keepbox_tensor_record_class_init(KeepboxTensorRecordClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  g_object_class_install_property(
      object, kPropLocation,
      g_param_spec_string("location", "location",
                          "Folder to record to; it is made when it is missing, and a recording in "
                          "it is replaced.",
                          nullptr,
                          static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_READY)));
  gst_element_class_set_static_metadata(
      element, "Tensor recorder", "Filter/Analyzer/Video",
      "Writes the tensors of each frame to NumPy files with an index, for tensorreplay",
      "The keepbox developers");
  add_video_templates(element);
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->transform_ip = transform_ip;
}
