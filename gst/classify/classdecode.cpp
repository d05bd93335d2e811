// SPDX-License-Identifier: LGPL-2.1-or-later
// classdecode: turns the tensors of classifiers and text recognisers into classes and text.
#include <gst/base/gstbasetransform.h>

#include <mutex>
#include <string>
#include <utility>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/classify/classifier.h"
#include "gst/classify/properties.h"
#include "gst/classify/results.h"
#include "gst/metas/records.h"
#include "gst/metas/skippedmodels.h"
#include "gst/tensors/provenance.h"

GST_DEBUG_CATEGORY_STATIC(classdecode_debug);
#define GST_CAT_DEFAULT classdecode_debug

/**
 * SECTION:element-classdecode
 * @title: classdecode
 *
 * Turns the tensors of a classifier into classes, and those of a text recogniser into text. After
 * tensorinfer regions=objects they are results about each object: a GstAnalyticsClsMtd related to
 * its GstAnalyticsODMtd, and a record that boxsink, boxoverlay and libkeepbox read, also for text.
 * Otherwise they are results about the frame: a GstAnalyticsClsMtd without relations, and a record.
 *
 * Tensors are images x classes, or images x steps x characters for text by CTC. Models may have
 * several outputs, each of which is an attribute, such as color and type. Names are taken from the
 * model's metadata (names, names.OUTPUT, character) or label-file.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin3 ! videoconvert
 *   ! tensorinfer model-file=yolov8n.onnx ! boxdecode
 *   ! tensorinfer model-file=vehicles.onnx regions=objects include-classes=car,truck
 *   ! classdecode ! boxoverlay ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.2
 */

namespace keepbox {
namespace {

struct State : CountedProps<ClassifyProps, classify_properties, ClassifyStats> {
  std::mutex changing;  // held while properties are checked and changed
  // Under the object lock, like props:
  SharedLabelFile labels;  // that props name, while the element is active
  bool active = false;     // between start and stop
  bool changed = false;    // since the streaming thread took props
  // The streaming thread's own:
  KeepResults keep{};
  Classifier classifier;
  ObjectResultWriter objects;
  SharedProvenance own;  // of the tensors that were decoded last
  Size frame;
  std::string warned;  // the last warning
  PostedError failed;
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(classdecode, KeepboxClassDecode, keepbox_class_decode, GstBaseTransform,
                       GST_TYPE_BASE_TRANSFORM)

using namespace keepbox;

namespace {

/// Warns once per text.
void warn(KeepboxClassDecode* self, const Error& error) {
  if (std::exchange(self->state->warned, error.message()) != error.message())
    post_warning(GST_ELEMENT(self), error);
}

/// Changes a property. In an active element, reads another label file first.
Status change(KeepboxClassDecode* self, guint id, const GValue* value) {
  State& s = *self->state;
  const std::lock_guard one_by_one(s.changing);
  GST_OBJECT_LOCK(self);
  ClassifyProps props = s.props;
  SharedLabelFile labels = s.labels;
  const bool active = s.active;
  GST_OBJECT_UNLOCK(self);
  classify_properties().set(props, id, value);
  if (active && props.label_file != s.props.label_file) {
    KB_ASSIGN(labels, load_label_file(props.label_file));
  }
  GST_OBJECT_LOCK(self);
  s.props = std::move(props);
  s.labels = std::move(labels);
  s.changed = true;
  GST_OBJECT_UNLOCK(self);
  return {};
}

/// Sets a property, or keeps it, with a warning, if its file cannot be read in an active element.
void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  if (const Status changed = change(Self::cast(object), id, value); !changed)
    warn_kept(object, spec, changed.error());
}

/// Gives properties to the classifier if they have changed. Kept results stay: tensorinfer may
/// never run the model on their objects again.
void take_props(KeepboxClassDecode* self) {
  State& s = *self->state;
  GST_OBJECT_LOCK(self);
  const bool changed = std::exchange(s.changed, false);
  const ClassifyProps props = changed ? s.props : ClassifyProps{};
  const SharedLabelFile labels = s.labels;
  GST_OBJECT_UNLOCK(self);
  if (!changed) return;
  s.keep = static_cast<KeepResults>(props.keep);
  s.objects.rename(s.classifier.set(props, labels));
}

/// Reads the label file, and makes set_property() check from now on.
Status activate(KeepboxClassDecode* self) {
  State& s = *self->state;
  const std::lock_guard one_by_one(s.changing);
  const ClassifyProps props = locked_copy(self, s.props);
  KB_ASSIGN(SharedLabelFile labels, load_label_file(props.label_file));
  GST_OBJECT_LOCK(self);
  s.labels = std::move(labels);
  s.active = s.changed = true;
  GST_OBJECT_UNLOCK(self);
  return {};
}

std::vector<uint32_t> tensors_of(const FrameTensors& tensors, const SharedProvenance& source) {
  std::vector<uint32_t> out;
  for (uint32_t i = 0; i < tensors.listed().size(); ++i)
    if (same_element(tensors.source(i), source)) out.push_back(i);
  return out;
}

/// Returns the indices of the tensors for this element: those of the producer whose tensors it
/// decoded last, none if that one skipped the frame, or else those of the nearest producer.
std::vector<uint32_t> choose(const State& s, GstBuffer* buffer, const FrameTensors& tensors) {
  if (tensors.listed().empty()) return {};
  if (s.own != nullptr) {
    std::vector<uint32_t> own = tensors_of(tensors, s.own);
    if (!own.empty() || was_skipped_by(buffer, s.own)) return own;
  }
  return tensors_of(tensors, tensors.source(tensors.listed().size() - 1));
}

/// Returns the source of this element's tensors if its model did not look at the frame: that of the
/// tensors that it decoded last or, before the first ones, the nearest that skipped the frame.
SharedProvenance skipped_source(const State& s, GstBuffer* buffer) {
  if (s.own != nullptr) return was_skipped_by(buffer, s.own) ? s.own : nullptr;
  const std::vector<SharedProvenance> sources = sources_of_skipped(buffer);
  return sources.empty() ? nullptr : sources.back();
}

/// Notes that the model did not look at the frame. Objects keep their results.
void note_skipped_by(const State& s, GstBuffer* buffer, const SharedProvenance& source) {
  if (source != nullptr && !source->objects)
    note_skipped_model(buffer, s.classifier.model_of(source));
}

Status check_any(GstBuffer* buffer, const FrameTensors& tensors) {
  if (!tensors.listed().empty() || was_skipped(buffer) || had_no_objects(buffer)) return {};
  return reject(ErrorKind::kMismatch, "The frame has no tensors of a classifier",
                "put tensorinfer before classdecode, with regions=objects for objects");
}

Status classify(KeepboxClassDecode* self, GstBuffer* buffer, ClassifyCounts& counts) {
  State& s = *self->state;
  take_props(self);
  FrameTensors tensors;
  KB_TRY(tensors.list_tensors(buffer, TensorSelection::kUndecoded));
  if (const Status any = check_any(buffer, tensors); !any) warn(self, any.error());
  std::vector<TensorResults> results;
  std::vector<PictureRecord> pictures;
  SharedProvenance source;
  const std::vector<uint32_t> own = choose(s, buffer, tensors);
  if (!own.empty()) {
    source = s.own = tensors.source(own[0]);
    KB_TRY(tensors.map(own));
    KB_ASSIGN(results, s.classifier.decode(tensors, own));
    if (s.classifier.warning()) warn(self, *s.classifier.warning());
    if (!results.empty()) counts.images += results[0].labels.size();
    tensors.mark_decoded(buffer, own);
  }
  if (source != nullptr && source->objects) pictures = read_pictures(buffer, source->producer);
  if (own.empty() || (source != nullptr && source->objects))
    s.objects.attach(buffer, results, pictures, s.keep, s.frame, counts);
  else attach_to_frame(buffer, results, counts);
  if (own.empty()) note_skipped_by(s, buffer, skipped_source(s, buffer));
  else if (source != nullptr && source->held) note_skipped_by(s, buffer, source);
  return {};
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  KeepboxClassDecode* self = Self::cast(base);
  State& s = *self->state;
  if (s.failed) return GST_FLOW_ERROR;
  const GstClockTime started = gst_util_get_timestamp();
  ClassifyCounts counts;
  if (!s.failed.check(GST_ELEMENT(self), classify(self, buffer, counts))) return GST_FLOW_ERROR;
  GST_OBJECT_LOCK(self);
  s.stats.add(counts, gst_util_get_timestamp() - started, s.classifier.remark());
  GST_OBJECT_UNLOCK(self);
  return GST_FLOW_OK;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  State& s = Self::of(base);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP ||
      GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START)
    s.objects.forget();
  return s.failed.take(event) || Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  if (handle_producer_query(query)) return TRUE;
  if (gboolean answered = FALSE; handle_family_query(query, answered)) return answered;
  return Self::parent_as<GstBaseTransformClass>()->query(base, direction, query);
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  return read_size(input, Self::of(base).frame);
}

gboolean start(GstBaseTransform* base) {
  KeepboxClassDecode* self = Self::cast(base);
  State& s = *self->state;
  s.failed.clear();
  s.warned.clear();
  s.objects.forget();
  s.own.reset();
  GST_OBJECT_LOCK(self);
  s.stats = {};
  GST_OBJECT_UNLOCK(self);
  s.classifier = {};
  return s.failed.check(GST_ELEMENT(self), activate(self));
}

gboolean stop(GstBaseTransform* base) {
  State& s = Self::of(base);
  GST_OBJECT_LOCK(base);
  s.active = false;
  s.labels.reset();
  GST_OBJECT_UNLOCK(base);
  return TRUE;
}

}  // namespace

static void keepbox_class_decode_init(KeepboxClassDecode* self) { self->make_state(); }

static void keepbox_class_decode_class_init(KeepboxClassDecodeClass* klass) {
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(classdecode_debug, "classdecode", 0, "classes and text of objects");

  Self::set_up(klass);
  G_OBJECT_CLASS(klass)->set_property = set_property;
  State::install(
      G_OBJECT_CLASS(klass),
      "Counters since the start: frames, images (of objects, or whole frames), results, and "
      "kept-results (of objects on which the model did not run). recognized is how the tensors "
      "are read, and time-per-frame-us the mean time of this element.");

  describe(
      klass, "Tensor decoder for classes and text", "Filter/Analyzer/Video",
      "Turns the tensors of classifiers and text recognisers into classes and text of objects, or "
      "of frames");
  add_video_templates(klass);
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->query = query;
  transform->sink_event = sink_event;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
}
