// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorreplay: a bin around the attacher, with a source of black frames before it unless a sink
// pad is requested.

/**
 * SECTION:element-tensorreplay
 * @title: tensorreplay
 *
 * Attaches recorded tensors to frames like the original inference element: for tests and bug
 * reports without a model or a GPU. Recordings are made by tensorrecord; a .npy file, or a file of
 * raw numbers with its dimensions, can be used as well.
 *
 * After other elements, each frame gets the tensors of the recorded frame that is current at its
 * stream time, so that dropped or repeated frames, seeks, reverse playback and other frame rates
 * are handled. Files without timestamps are replayed by count; see #tensorreplay:sync-mode. The
 * stream ends with the recording unless loop is set.
 *
 * Without a sink pad, tensorreplay is a source of black frames: one of the recorded size for each
 * recorded frame, at its time. Downstream caps may require another format, size or frame rate.
 *
 * ## Example launch lines
 * |[
 * gst-launch-1.0 tensorreplay location=recording ! boxdecode ! boxsink location=boxes.jsonl
 * gst-launch-1.0 filesrc location=clip.webm ! decodebin3 ! videoconvert \
 *     ! tensorreplay location=recording ! boxdecode ! boxoverlay ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.1
 */
#include <utility>

#include "gst/base/element.h"
#include "gst/recording/replayprops.h"
#include "gst/recording/tensorattach.h"

GST_DEBUG_CATEGORY(tensorreplay_debug);
#define GST_CAT_DEFAULT tensorreplay_debug

namespace keepbox {
namespace {

/// Owned by the bin.
struct State {
  GstElement* attach = nullptr;
  GstElement* source = nullptr;  // only without a sink pad
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(tensorreplay, KeepboxTensorReplay, keepbox_tensor_replay, GstBin,
                       GST_TYPE_BIN)

using namespace keepbox;

namespace {

void pass_loop(gpointer self) {
  const State& children = Self::of(self);
  gboolean loop = FALSE;
  g_object_get(children.attach, "loop", &loop, nullptr);
  if (children.source != nullptr) set_source_loop(children.source, loop != FALSE);
}

void set_bin_property(GObject* object, guint, const GValue* value, GParamSpec* spec) {
  g_object_set_property(G_OBJECT(Self::of(object).attach), spec->name, value);
  GST_OBJECT_LOCK(object);
  pass_loop(object);
  GST_OBJECT_UNLOCK(object);
}

void get_bin_property(GObject* object, guint, GValue* value, GParamSpec* spec) {
  g_object_get_property(G_OBJECT(Self::of(object).attach), spec->name, value);
}

void remove_source(KeepboxTensorReplay* self) {
  GST_OBJECT_LOCK(self);
  GstElement* source = std::exchange(self->state->source, nullptr);
  GST_OBJECT_UNLOCK(self);
  if (source == nullptr) return;
  gst_element_set_state(source, GST_STATE_NULL);
  gst_bin_remove(GST_BIN(self), source);
}

/// Opens the recording, and adds a source of its frames before the attacher.
bool add_source(KeepboxTensorReplay* self) {
  remove_source(self);
  auto recorded = open_recording(self->state->attach);
  if (!recorded) return false;
  auto* source =
      GST_ELEMENT(g_object_new(keepbox_black_source_get_type(), "name", "source", nullptr));
  set_source_frames(source, std::move(recorded->timeline), recorded->frames, recorded->size);
  gst_bin_add(GST_BIN(self), source);
  GST_OBJECT_LOCK(self);
  self->state->source = source;
  pass_loop(self);
  GST_OBJECT_UNLOCK(self);
  return gst_element_link(source, self->state->attach);
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  KeepboxTensorReplay* self = Self::cast(element);
  const bool starts = change == GST_STATE_CHANGE_READY_TO_PAUSED;
  auto result = GST_STATE_CHANGE_FAILURE;
  if (!starts || !GST_OBJECT_FLAG_IS_SET(self, GST_ELEMENT_FLAG_SOURCE) || add_source(self))
    result = Self::parent_as<GstElementClass>()->change_state(element, change);
  if (starts && result == GST_STATE_CHANGE_FAILURE)
    gst_element_set_state(self->state->attach,
                          GST_STATE_READY);  // or it would wait for the next start
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY ||
      (starts && result == GST_STATE_CHANGE_FAILURE)) {
    remove_source(self);
    close_recording(self->state->attach);
  }
  return result;
}

GstPad* request_new_pad(GstElement* element, GstPadTemplate* templ, const gchar*, const GstCaps*) {
  KeepboxTensorReplay* self = Self::cast(element);
  g_autoptr(GstPad) there = gst_element_get_static_pad(element, "sink");
  if (there != nullptr) return nullptr;
  remove_source(self);
  GST_OBJECT_FLAG_UNSET(self, GST_ELEMENT_FLAG_SOURCE);
  g_autoptr(GstPad) target = gst_element_get_static_pad(self->state->attach, "sink");
  GstPad* pad = gst_ghost_pad_new_from_template("sink", target, templ);
  gst_pad_set_active(pad, TRUE);
  gst_element_add_pad(element, pad);
  return pad;
}

void release_pad(GstElement* element, GstPad* pad) {
  gst_pad_set_active(pad, FALSE);
  gst_element_remove_pad(element, pad);
  GST_OBJECT_FLAG_SET(element, GST_ELEMENT_FLAG_SOURCE);
}

}  // namespace

static void keepbox_tensor_replay_init(KeepboxTensorReplay* self) {
  self->make_state();
  // A parent bin checks this flag when the bin is added, and sends EOS only to sources. The
  // children come and go later.
  gst_bin_set_suppressed_flags(GST_BIN(self), GST_ELEMENT_FLAG_SOURCE);
  GST_OBJECT_FLAG_SET(self, GST_ELEMENT_FLAG_SOURCE);
  self->state->attach =
      GST_ELEMENT(g_object_new(keepbox_tensor_attach_get_type(), "name", "attach", nullptr));
  gst_bin_add(GST_BIN(self), self->state->attach);
  g_autoptr(GstPad) target = gst_element_get_static_pad(self->state->attach, "src");
  gst_element_add_pad(GST_ELEMENT(self), gst_ghost_pad_new("src", target));
}

static void keepbox_tensor_replay_class_init(KeepboxTensorReplayClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(tensorreplay_debug, "tensorreplay", 0, "replay of recorded tensors");
  auto* element = GST_ELEMENT_CLASS(klass);
  Self::set_up(klass);
  object->set_property = set_bin_property;
  object->get_property = get_bin_property;
  replay_properties().install(object);
  describe(
      klass, "Tensor replayer", "Source/Filter/Video",
      "Attaches recorded tensors to frames, by timestamp if the recording has timestamps. Without "
      "an upstream element it produces black frames at the recorded times, of the recorded size or "
      "of the model's input size");
  add_video_templates(klass, GST_PAD_REQUEST);
  element->change_state = change_state;
  element->request_new_pad = request_new_pad;
  element->release_pad = release_pad;
}
