// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorreplay: a bin around the attacher, which puts a source of black frames before it when
// nobody asked for a sink pad.
#include "gst/base/elements.h"
#include "gst/base/error.h"
#include "gst/base/picture.h"
#include "gst/recording/tensorattach.h"

struct KeepboxTensorReplay {
  GstBin parent;
  GstElement *attach, *source, *filter;  // owned by the bin; the last two only without a sink pad
};
struct KeepboxTensorReplayClass {
  GstBinClass parent_class;
};

using namespace keepbox;

GType keepbox_tensor_replay_get_type();
G_DEFINE_TYPE(KeepboxTensorReplay, keepbox_tensor_replay, GST_TYPE_BIN)
GST_ELEMENT_REGISTER_DEFINE(tensorreplay, "tensorreplay", GST_RANK_NONE,
                            keepbox_tensor_replay_get_type())

namespace {

constexpr Size kFallbackFrame{320, 320};

KeepboxTensorReplay* cast(gpointer object) { return reinterpret_cast<KeepboxTensorReplay*>(object); }

void set_bin_property(GObject* object, guint, const GValue* value, GParamSpec* spec) {
  g_object_set_property(G_OBJECT(cast(object)->attach), spec->name, value);
}

void get_bin_property(GObject* object, guint, GValue* value, GParamSpec* spec) {
  g_object_get_property(G_OBJECT(cast(object)->attach), spec->name, value);
}

/// Black frames, of the recorded size unless caps downstream say otherwise.
bool add_source(KeepboxTensorReplay* self) {
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
  Size frame = recorded_size(self->attach);
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

void remove_source(KeepboxTensorReplay* self) {
  if (self->source == nullptr) return;
  gst_element_set_state(self->source, GST_STATE_NULL);
  gst_element_set_state(self->filter, GST_STATE_NULL);
  gst_bin_remove_many(GST_BIN(self), self->source, self->filter, nullptr);
  self->source = self->filter = nullptr;
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  KeepboxTensorReplay* self = cast(element);
  g_autoptr(GstPad) sink = gst_element_get_static_pad(element, "sink");
  if (change == GST_STATE_CHANGE_READY_TO_PAUSED && sink == nullptr &&
      !(open_recording(self->attach) && add_source(self)))
    return GST_STATE_CHANGE_FAILURE;
  const auto result =
      GST_ELEMENT_CLASS(keepbox_tensor_replay_parent_class)->change_state(element, change);
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) {
    remove_source(self);
    close_recording(self->attach);
  }
  return result;
}

GstPad* request_new_pad(GstElement* element, GstPadTemplate* templ, const gchar*, const GstCaps*) {
  KeepboxTensorReplay* self = cast(element);
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

static void keepbox_tensor_replay_init(KeepboxTensorReplay* self) {
  self->attach =
      GST_ELEMENT(g_object_new(keepbox_tensor_attach_get_type(), "name", "attach", nullptr));
  gst_bin_add(GST_BIN(self), self->attach);
  g_autoptr(GstPad) target = gst_element_get_static_pad(self->attach, "src");
  gst_element_add_pad(GST_ELEMENT(self), gst_ghost_pad_new("src", target));
}

static void keepbox_tensor_replay_class_init(KeepboxTensorReplayClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  object->set_property = set_bin_property;
  object->get_property = get_bin_property;
  install_attach_properties(object);
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
