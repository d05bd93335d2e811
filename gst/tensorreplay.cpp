// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorreplay: attaches recorded tensors to frames, its own black ones if it gets none.
#include <gst/base/gstbasetransform.h>

#include <optional>
#include <string>
#include <vector>

#include "gst/elements.h"
#include "gst/error.h"
#include "gst/picture.h"
#include "gst/tensorfile.h"
#include "gst/tensors.h"

// Two types: GstTensorAttach does the work on frames; GstTensorReplay is the bin around it that
// users see, which puts a source of frames before it when nobody asked for a sink pad.

namespace keepbox {
namespace {

struct Replayer {
  std::string location;  // this and the next two under the object lock
  RawForm form{.dims = {}, .type = "float32", .id = {}};
  gboolean loop = FALSE;
  std::optional<TensorReader> reader;
  std::vector<StoredTensor> tensors;
  bool flushed = false;  // the next segment says where to go on
  bool failed = false;
};

}  // namespace
}  // namespace keepbox

struct GstTensorAttach {
  GstBaseTransform parent;
  keepbox::Replayer* replayer;
};
struct GstTensorAttachClass {
  GstBaseTransformClass parent_class;
};
struct GstTensorReplay {
  GstBin parent;
  GstElement *attach, *source, *filter;  // owned by the bin; the last two only without a sink pad
};
struct GstTensorReplayClass {
  GstBinClass parent_class;
};

using namespace keepbox;

GType gst_tensor_attach_get_type();
GType gst_tensor_replay_get_type();
G_DEFINE_TYPE(GstTensorAttach, gst_tensor_attach, GST_TYPE_BASE_TRANSFORM)
G_DEFINE_TYPE(GstTensorReplay, gst_tensor_replay, GST_TYPE_BIN)
GST_ELEMENT_REGISTER_DEFINE(tensorreplay, "tensorreplay", GST_RANK_NONE,
                            gst_tensor_replay_get_type())

namespace {

enum { kPropLocation = 1, kPropDims, kPropType, kPropTensorId, kPropLoop };

constexpr Size kFallbackFrame{320, 320};

GstTensorAttach* cast(gpointer object) { return reinterpret_cast<GstTensorAttach*>(object); }
GstTensorReplay* cast_bin(gpointer object) { return reinterpret_cast<GstTensorReplay*>(object); }

/// Opens the recording if it is not open yet.
bool open(GstTensorAttach* self) {
  Replayer& r = *self->replayer;
  if (r.reader) return true;
  GST_OBJECT_LOCK(self);
  const std::string location = r.location;
  const RawForm form = r.form;
  GST_OBJECT_UNLOCK(self);
  auto reader = TensorReader::open(location, form);
  if (!reader) {
    post_error(GST_ELEMENT(self), reader.error());
    return false;
  }
  r.reader = std::move(*reader);
  return true;
}

gboolean start(GstBaseTransform* base) {
  cast(base)->replayer->flushed = cast(base)->replayer->failed = false;
  return open(cast(base));
}

gboolean stop(GstBaseTransform* base) {
  cast(base)->replayer->reader.reset();
  cast(base)->replayer->tensors.clear();
  return TRUE;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  Replayer& r = *cast(base)->replayer;
  GST_OBJECT_LOCK(base);
  const bool loop = r.loop != FALSE;
  GST_OBJECT_UNLOCK(base);
  Result<bool> more = r.reader->next(r.tensors);
  if (more && !*more && loop) {
    r.reader->rewind();
    more = r.reader->next(r.tensors);
  }
  if (!more) {
    r.failed = true;
    post_error(GST_ELEMENT(base), more.error());
    return GST_FLOW_ERROR;
  }
  if (!*more) return GST_FLOW_EOS;
  for (const StoredTensor& tensor : r.tensors)
    add_tensor(buffer, tensor.id.c_str(), tensor.type, tensor.shape, tensor.order,
               gst_buffer_ref(tensor.data.get()));
  return GST_FLOW_OK;
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
  return GST_BASE_TRANSFORM_CLASS(gst_tensor_attach_parent_class)->sink_event(base, event);
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
    default: g_value_set_boolean(value, r.loop);
  }
  GST_OBJECT_UNLOCK(object);
}

void finalize(GObject* object) {
  delete cast(object)->replayer;
  G_OBJECT_CLASS(gst_tensor_attach_parent_class)->finalize(object);
}

void install_properties(GObjectClass* klass) {
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
}

void set_bin_property(GObject* object, guint, const GValue* value, GParamSpec* spec) {
  g_object_set_property(G_OBJECT(cast_bin(object)->attach), spec->name, value);
}

void get_bin_property(GObject* object, guint, GValue* value, GParamSpec* spec) {
  g_object_get_property(G_OBJECT(cast_bin(object)->attach), spec->name, value);
}

/// Black frames, of the recorded size unless caps downstream say otherwise.
bool add_source(GstTensorReplay* self) {
  if (self->source != nullptr) return true;
  self->source = gst_element_factory_make("videotestsrc", "source");
  self->filter = gst_element_factory_make("capsfilter", "size");
  if (self->source == nullptr || self->filter == nullptr) {
    gst_clear_object(&self->source);
    gst_clear_object(&self->filter);
    post_error(GST_ELEMENT(self), {ErrorKind::kNoResource, "the elements videotestsrc and capsfilter",
                                   "none", "install GStreamer's base plugins"});
    return false;
  }
  Size frame = cast(self->attach)->replayer->reader->frame_size();
  if (frame.width == 0 || frame.height == 0) frame = kFallbackFrame;
  g_autoptr(GstCaps) caps = gst_caps_new_simple(
      "video/x-raw", "width", G_TYPE_INT, static_cast<gint>(frame.width), "height", G_TYPE_INT,
      static_cast<gint>(frame.height), "pixel-aspect-ratio", GST_TYPE_FRACTION, 1, 1, nullptr);
  gst_caps_append(caps, gst_caps_new_empty_simple("video/x-raw"));
  g_object_set(self->filter, "caps", caps, nullptr);
  gst_util_set_object_arg(G_OBJECT(self->source), "pattern", "black");
  gst_bin_add_many(GST_BIN(self), self->source, self->filter, nullptr);
  return gst_element_link_many(self->source, self->filter, self->attach, nullptr);
}

void remove_source(GstTensorReplay* self) {
  if (self->source == nullptr) return;
  gst_element_set_state(self->source, GST_STATE_NULL);
  gst_element_set_state(self->filter, GST_STATE_NULL);
  gst_bin_remove_many(GST_BIN(self), self->source, self->filter, nullptr);
  self->source = self->filter = nullptr;
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  GstTensorReplay* self = cast_bin(element);
  g_autoptr(GstPad) sink = gst_element_get_static_pad(element, "sink");
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && sink == nullptr &&
      !(open(cast(self->attach)) && add_source(self)))
    return GST_STATE_CHANGE_FAILURE;
  const auto result =
      GST_ELEMENT_CLASS(gst_tensor_replay_parent_class)->change_state(element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) {
    remove_source(self);
    stop(GST_BASE_TRANSFORM(self->attach));
  }
  return result;
}

GstPad* request_new_pad(GstElement* element, GstPadTemplate* templ, const gchar*, const GstCaps*) {
  GstTensorReplay* self = cast_bin(element);
  g_autoptr(GstPad) there = gst_element_get_static_pad(element, "sink");
  if (there != nullptr) return nullptr;
  remove_source(self);
  g_autoptr(GstPad) target = gst_element_get_static_pad(self->attach, "sink");
  GstPad* pad = gst_ghost_pad_new_from_template("sink", target, templ);
  gst_pad_set_active(pad, TRUE);
  gst_element_add_pad(element, pad);
  return pad;
}

void release_pad(GstElement* element, GstPad* pad) {
  gst_pad_set_active(pad, FALSE);
  gst_element_remove_pad(element, pad);
}

}  // namespace

static void gst_tensor_attach_init(GstTensorAttach* self) {
  self->replayer = new Replayer;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_tensor_attach_class_init(GstTensorAttachClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  install_properties(object);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(klass), "Tensor attacher", "Filter/Video",
                                        "Attaches recorded tensors to frames",
                                        "The keepbox developers");
  add_video_templates(GST_ELEMENT_CLASS(klass));
  transform->start = start;
  transform->stop = stop;
  transform->sink_event = sink_event;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
  transform->passthrough_on_same_caps = FALSE;
}

static void gst_tensor_replay_init(GstTensorReplay* self) {
  self->attach =
      GST_ELEMENT(g_object_new(gst_tensor_attach_get_type(), "name", "attach", nullptr));
  gst_bin_add(GST_BIN(self), self->attach);
  g_autoptr(GstPad) target = gst_element_get_static_pad(self->attach, "src");
  gst_element_add_pad(GST_ELEMENT(self), gst_ghost_pad_new("src", target));
}

static void gst_tensor_replay_class_init(GstTensorReplayClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  object->set_property = set_bin_property;
  object->get_property = get_bin_property;
  install_properties(object);
  gst_element_class_set_static_metadata(
      element, "Tensor replayer", "Source/Filter/Video",
      "Attaches recorded tensors to frames; without a frame source before it, makes black frames "
      "of the recorded size, 30 a second",
      "The keepbox developers");
  add_video_templates(element, GST_PAD_REQUEST);
  element->change_state = change_state;
  element->request_new_pad = request_new_pad;
  element->release_pad = release_pad;
}
