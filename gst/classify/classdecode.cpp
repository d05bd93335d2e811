// SPDX-License-Identifier: LGPL-2.1-or-later
// classdecode: turns the tensors of classifiers and text recognisers into classes and text.
#include <gst/base/gstbasetransform.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <string>
#include <utility>

#include "gst/base/element.h"
#include "gst/base/elementname.h"
#include "gst/base/elements.h"
#include "gst/base/error.h"
#include "gst/base/picture.h"
#include "gst/classify/classifier.h"
#include "gst/classify/keptresults.h"
#include "gst/metas/picturerecords.h"
#include "gst/metas/readboxes.h"
#include "gst/metas/relationmeta.h"
#include "gst/tensors/decodednote.h"
#include "gst/tensors/familyquery.h"

GST_DEBUG_CATEGORY_STATIC(classdecode_debug);
#define GST_CAT_DEFAULT classdecode_debug

/**
 * element-classdecode:
 *
 * Turns the tensors of a classifier into classes, and those of a text recogniser into text. Behind
 * tensorinfer regions=objects they are results about each object: a GstAnalyticsClsMtd related to
 * its GstAnalyticsODMtd, and a record that boxsink, boxoverlay and libkeepbox read, also for text.
 * Otherwise they are classes of the frame: a GstAnalyticsClsMtd without relations.
 *
 * Tensors are images x classes, or images x steps x characters for text by CTC. Models may have
 * several outputs, each of which is an attribute, such as color and type. Names are taken from the
 * model's metadata (names, names.OUTPUT, character) or label-file.
 *
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin ! videoconvert
 *   ! tensorinfer model-file=yolov8n.onnx ! boxdecode
 *   ! tensorinfer model-file=vehicles.onnx regions=objects include-classes=car,truck
 *   ! classdecode ! boxoverlay ! videoconvert ! autovideosink
 * ]|
 */

namespace keepbox {
namespace {

guint prop_stats = 0;

struct Counts {
  guint64 frames = 0, images = 0, results = 0, kept = 0;
  GstClockTime time = 0;
};

GstStructure* structure_of(const Counts& counts, const std::string& recognised) {
  const double frames = static_cast<double>(std::max<guint64>(counts.frames, 1));
  return gst_structure_new("classdecode-stats", "frames", G_TYPE_UINT64, counts.frames, "images",
                           G_TYPE_UINT64, counts.images, "results", G_TYPE_UINT64, counts.results,
                           "kept-results", G_TYPE_UINT64, counts.kept, "recognized", G_TYPE_STRING,
                           recognised.c_str(), "time-per-frame-us", G_TYPE_DOUBLE,
                           static_cast<double>(counts.time) / GST_USECOND / frames, nullptr);
}

struct State : TableProps<ClassifyProps, classify_properties> {
  bool get(guint id, GValue* value) const {
    if (id == prop_stats) g_value_take_boxed(value, structure_of(counts, recognised));
    return id == prop_stats || TableProps::get(id, value);
  }

  Counts counts;  // under the object lock, as props
  std::string recognised;
  /// Forgets results and models of earlier frames.
  void forget() {
    kept.forget();
    models.clear();
  }

  // The streaming thread's own:
  ClassifyProps taken;  // properties that `classifier` has
  Classifier classifier;
  KeptResults kept;
  std::map<GQuark, GQuark> models;  // of kept results, by attribute
  SharedTensorSource own;           // of the tensors that were decoded last
  Size frame;
  std::string warned;  // the last warning
  PostedError failed;
};

}  // namespace
}  // namespace keepbox

using KeepboxClassDecode = keepbox::Instance<GstBaseTransform, keepbox::State>;
using KeepboxClassDecodeClass = GstBaseTransformClass;

using namespace keepbox;

GType keepbox_class_decode_get_type();
G_DEFINE_TYPE(KeepboxClassDecode, keepbox_class_decode, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(classdecode, "classdecode", GST_RANK_NONE,
                            keepbox_class_decode_get_type())

namespace {

using Self = KeepboxClassDecode;

GstBaseTransformClass* parent() {
  return GST_BASE_TRANSFORM_CLASS(keepbox_class_decode_parent_class);
}

/// Warns once per text.
void warn(KeepboxClassDecode* self, const Error& error) {
  if (std::exchange(self->state->warned, error.message()) != error.message())
    post_warning(GST_ELEMENT(self), error);
}

/// Gives properties to the classifier if they have changed.
Status take_props(KeepboxClassDecode* self) {
  State& s = *self->state;
  ClassifyProps props = locked_copy(self, s.props);
  if (props == s.taken) return {};
  KB_TRY(s.classifier.set(props));
  s.taken = std::move(props);
  s.forget();
  return {};
}

void add_classes(GstAnalyticsRelationMeta* meta, guint od_id, NamedClasses& classes) {
  if (classes.names.empty()) return;
  GstAnalyticsClsMtd cls;
  gst_analytics_relation_meta_add_cls_mtd(meta, classes.names.size(), classes.levels.data(),
                                          classes.names.data(), &cls);
  if (od_id == G_MAXUINT) return;
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_CONTAIN, od_id, cls.id);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, cls.id, od_id);
}

/// Results about the objects of a frame, by attribute.
struct ObjectResults {
  KeptResults::OfFrame labels;
  std::map<std::pair<GQuark, guint>, NamedClasses> classes;  // by attribute and od_id
};

/// Moves the results of images to their objects.
ObjectResults by_object(State& s, std::vector<TensorResults>& tensors,
                        std::span<const PictureRecord> pictures) {
  ObjectResults out;
  for (TensorResults& tensor : tensors) {
    const GQuark attribute = tensor.about.attribute;
    s.models[attribute] = tensor.about.model;
    std::vector<ObjectLabel>& labels = out.labels[attribute];
    for (const PictureRecord& picture : pictures) {
      if (picture.image >= tensor.labels.size()) continue;
      ObjectLabel& label = tensor.labels[picture.image];
      if (label.name == 0 && label.text.empty()) continue;
      label.od_id = picture.od_id;
      labels.push_back(std::move(label));
      if (!tensor.classes.empty())
        out.classes[{attribute, picture.od_id}] = std::move(tensor.classes[picture.image]);
    }
  }
  return out;
}

/// Writes GStreamer's classifications: all classes of a new result, or the class of a kept one.
void add_classifications(GstAnalyticsRelationMeta* meta, ObjectResults& results) {
  for (const auto& [attribute, labels] : results.labels)
    for (const ObjectLabel& label : labels) {
      if (label.name == 0) continue;
      NamedClasses& own = results.classes[{attribute, label.od_id}];
      const bool is_new =
          !own.names.empty() && own.names[0] == label.name && own.levels[0] == label.level;
      if (!is_new) own = {{label.name}, {label.level}};
      add_classes(meta, label.od_id, own);
    }
}

guint64 count_of(const KeptResults::OfFrame& results) {
  guint64 out = 0;
  for (const auto& [attribute, labels] : results) out += labels.size();
  return out;
}

/// Attaches the results about objects, with the kept ones of objects that were not run.
void attach(State& s, GstBuffer* buffer, std::vector<TensorResults>& tensors,
            std::span<const PictureRecord> pictures, Counts& counts) {
  GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer);
  if (meta == nullptr) return;
  ObjectResults results = by_object(s, tensors, pictures);
  counts.results = count_of(results.labels);
  const auto keep = static_cast<KeepResults>(s.taken.keep);
  std::vector<FrameBox> boxes;
  if (keep != KeepResults::kNone) read_boxes(buffer, boxes, nullptr, s.frame);
  s.kept.complete(boxes, keep, results.labels);
  counts.kept = count_of(results.labels) - counts.results;
  add_classifications(meta, results);
  for (const auto& [attribute, labels] : results.labels)
    add_labels(meta, {s.models[attribute], attribute}, labels);
}

/// Attaches the classes of whole frames.
void attach_to_frame(GstBuffer* buffer, std::vector<TensorResults>& tensors, Counts& counts) {
  GstAnalyticsRelationMeta* meta = relation_meta_for(buffer, tensors.size(), 0);
  for (TensorResults& tensor : tensors)
    for (NamedClasses& classes : tensor.classes) {
      counts.results += !classes.names.empty();
      add_classes(meta, G_MAXUINT, classes);
    }
}

std::vector<uint32_t> tensors_of(const FrameTensors& tensors, const SharedTensorSource& source) {
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

Status check_any(GstBuffer* buffer, const FrameTensors& tensors) {
  if (!tensors.listed().empty() || was_skipped(buffer) || had_no_objects(buffer)) return {};
  return fail(ErrorKind::kMismatch, "tensors of a classifier on the frame", "none",
              "put tensorinfer before classdecode, with regions=objects for objects");
}

Status classify(KeepboxClassDecode* self, GstBuffer* buffer, Counts& counts) {
  State& s = *self->state;
  KB_TRY(take_props(self));
  FrameTensors tensors;
  KB_TRY(tensors.look(buffer, Which::kUndecoded));
  if (const Status any = check_any(buffer, tensors); !any) warn(self, any.error());
  std::vector<TensorResults> results;
  std::vector<PictureRecord> pictures;
  SharedTensorSource source;
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
    attach(s, buffer, results, pictures, counts);
  else attach_to_frame(buffer, results, counts);
  return {};
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  KeepboxClassDecode* self = Self::cast(base);
  State& s = *self->state;
  if (s.failed) return GST_FLOW_ERROR;
  const GstClockTime started = gst_util_get_timestamp();
  Counts counts;
  const Status status = classify(self, buffer, counts);
  if (!status) {
    s.failed.post(GST_ELEMENT(self), status.error());
    return GST_FLOW_ERROR;
  }
  GST_OBJECT_LOCK(self);
  ++s.counts.frames;
  s.counts.images += counts.images;
  s.counts.results += counts.results;
  s.counts.kept += counts.kept;
  s.counts.time += gst_util_get_timestamp() - started;
  s.recognised = s.classifier.remark();
  GST_OBJECT_UNLOCK(self);
  return GST_FLOW_OK;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  State& s = Self::of(base);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP ||
      GST_EVENT_TYPE(event) == GST_EVENT_STREAM_START)
    s.forget();
  return s.failed.take(event) || parent()->sink_event(base, event);
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  if (ends_producer_query(query)) return TRUE;
  if (gboolean answered = FALSE; meets_family_query(query, answered)) return answered;
  return parent()->query(base, direction, query);
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  const auto picture = picture_of(input);
  if (picture) Self::of(base).frame = picture->size;
  return picture.has_value();
}

gboolean start(GstBaseTransform* base) {
  KeepboxClassDecode* self = Self::cast(base);
  State& s = *self->state;
  s.failed.clear();
  s.warned.clear();
  s.forget();
  s.own.reset();
  GST_OBJECT_LOCK(self);
  s.counts = {};
  s.recognised.clear();
  GST_OBJECT_UNLOCK(self);
  s.taken = locked_copy(self, s.props);
  const Status set = s.classifier.set(s.taken);
  if (!set) s.failed.post(GST_ELEMENT(self), set.error());
  return set.has_value();
}

}  // namespace

static void keepbox_class_decode_init(KeepboxClassDecode* self) {
  self->make_state();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void keepbox_class_decode_class_init(KeepboxClassDecodeClass* klass) {
  name_by_factory(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(classdecode_debug, "classdecode", 0, "classes and text of objects");

  Self::set_up(klass);
  prop_stats = classify_properties().install(G_OBJECT_CLASS(klass));
  install_stats(
      G_OBJECT_CLASS(klass), prop_stats,
      "Counters since the start: frames, images (of objects, or frames), results, "
      "kept-results (of objects whose model did not run); recognized, how the tensors are "
      "read; time-per-frame-us.");

  gst_element_class_set_static_metadata(
      element, "Tensor decoder for classes and text", "Filter/Analyzer/Video",
      "Turns the tensors of classifiers and text recognisers into classes and text of objects, or "
      "of frames",
      "The keepbox developers");
  add_video_templates(element);
  transform->start = start;
  transform->set_caps = set_caps;
  transform->query = query;
  transform->sink_event = sink_event;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
  transform->passthrough_on_same_caps = FALSE;
}
