// SPDX-License-Identifier: LGPL-2.1-or-later
// boxdecode: a detector's tensors on a frame become boxes on it.
#include <gst/base/gstbasetransform.h>

#include <memory>
#include <mutex>
#include <string>

#include "core/processor.h"
#include "gst/analytics.h"
#include "gst/decodeprops.h"
#include "gst/decodestats.h"
#include "gst/elements.h"
#include "gst/error.h"
#include "gst/picture.h"
#include "gst/tensors.h"

GST_DEBUG_CATEGORY_STATIC(boxdecode_debug);
#define GST_CAT_DEFAULT boxdecode_debug

namespace keepbox {
namespace {

struct Decoder {
  // Under the object lock:
  DecodeProps props;
  bool changed = true;  // props since the streaming thread took them
  DecodeStats stats;
  // The streaming thread's own:
  DecodeProps taken;
  Picture frame;
  std::string labels_path;
  Labels labels;
  Settings settings;
  std::optional<Processor> processor;
  std::vector<FrameBox> boxes;
  std::string last_warning;
  bool failed = false;  // an error was posted and the stream is to stop
};

}  // namespace
}  // namespace keepbox

struct GstBoxDecode {
  GstBaseTransform parent;
  keepbox::Decoder* decoder;
};
struct GstBoxDecodeClass {
  GstBaseTransformClass parent_class;
};

using namespace keepbox;

GType gst_box_decode_get_type();
G_DEFINE_TYPE(GstBoxDecode, gst_box_decode, GST_TYPE_BASE_TRANSFORM)
GST_ELEMENT_REGISTER_DEFINE(boxdecode, "boxdecode", GST_RANK_NONE, gst_box_decode_get_type())

namespace {

guint prop_stats = 0;

GstBoxDecode* cast(gpointer object) { return reinterpret_cast<GstBoxDecode*>(object); }

/// Takes changed properties over; true when the plan is to be made again.
bool take_props(GstBoxDecode* self) {
  Decoder& d = *self->decoder;
  GST_OBJECT_LOCK(self);
  const bool changed = d.changed;
  if (changed) d.taken = d.props;
  d.changed = false;
  GST_OBJECT_UNLOCK(self);
  return changed;
}

Status load_labels(Decoder& d) {
  if (d.taken.label_file == d.labels_path) return {};
  d.labels = Labels();
  d.labels_path = d.taken.label_file;
  if (d.labels_path.empty()) return {};
  auto labels = Labels::load(d.labels_path.c_str());
  if (!labels) {
    d.labels_path.clear();  // so that the next frame tries, and fails, again
    return std::unexpected(labels.error());
  }
  d.labels = std::move(*labels);
  return {};
}

/// Names that do not fit the classes are wrong names, or the wrong family: both go unseen.
void check_label_count(GstBoxDecode* self, const Plan& plan) {
  const Decoder& d = *self->decoder;
  const uint32_t labels = d.labels.size(), classes = plan.end_class - plan.first_class;
  // With background first, its name may stand in the file or not.
  if (labels == 0 || classes == 0 || labels == classes || labels == plan.end_class) return;
  post_warning(GST_ELEMENT(self),
               {ErrorKind::kMismatch, "as many labels as classes",
                std::to_string(labels) + " in " + d.labels_path + " and " +
                    std::to_string(classes) + " in " + plan.remark,
                "set label-file= or detector="});
}

Status make_processor(GstBoxDecode* self, std::span<const TensorView> tensors) {
  Decoder& d = *self->decoder;
  d.processor.reset();
  KB_TRY(load_labels(d));
  auto settings = resolve(d.taken, d.labels, d.frame);
  if (!settings) return std::unexpected(settings.error());
  auto plan = make_plan(*settings, tensors);
  if (!plan) return std::unexpected(plan.error());
  if (plan->layout.images != 1)
    return fail(ErrorKind::kUnsupported, "tensors of one frame (batch 1)",
                "a batch of " + std::to_string(plan->layout.images), "infer one frame at a time");
  const MemorySpace memory = tensors[static_cast<size_t>(plan->layout.box.tensor)].space;
  auto backend = select_backend(nick_of(backend_type(), d.taken.backend), *plan, memory);
  if (!backend) return std::unexpected(backend.error());
  auto processor = Processor::create(std::move(*plan), std::move(*backend));
  if (!processor) return std::unexpected(processor.error());
  d.processor = std::move(*processor);

  const Plan& made = d.processor->plan();
  GST_OBJECT_LOCK(self);
  const bool news = d.stats.set_processor(*d.processor);
  GST_OBJECT_UNLOCK(self);
  if (news) check_label_count(self, made);
  if (news)
    GST_INFO_OBJECT(self, "%s; input %ux%u; backend %s (%s)", made.remark.c_str(),
                    made.letterbox.model.width, made.letterbox.model.height,
                    std::string(d.processor->backend().name).c_str(),
                    d.processor->backend_reason().c_str());
  return {};
}

/// Decodes the frame's tensors into d.boxes.
Status decode(GstBoxDecode* self, GstBuffer* buffer) {
  Decoder& d = *self->decoder;
  if (take_props(self)) d.processor.reset();
  FrameTensors tensors;
  KB_TRY(tensors.map(buffer));
  if (!d.processor || !d.processor->plan().holds_for(tensors.views()))
    KB_TRY(make_processor(self, tensors.views()));
  KB_TRY(d.processor->run(tensors.views()));
  for (const Detection& det : d.processor->detections())
    d.boxes.push_back({.box = det.box,
                       .score = det.score,
                       .angle = det.angle,
                       .label = d.labels.quark(det.class_id),
                       .class_id = det.class_id,
                       .anchor = det.anchor});
  return {};
}

GstFlowReturn report(GstBoxDecode* self, const Error& error) {
  Decoder& d = *self->decoder;
  const auto policy = static_cast<OnMismatch>(d.taken.on_mismatch);
  if (policy == OnMismatch::kError) {
    d.failed = true;
    post_error(GST_ELEMENT(self), error);
    return GST_FLOW_ERROR;
  }
  if (std::string text = error.message(); text != d.last_warning) {
    if (policy == OnMismatch::kWarn) post_warning(GST_ELEMENT(self), error);
    else GST_INFO_OBJECT(self, "%s", text.c_str());
    d.last_warning = std::move(text);
  }
  return GST_FLOW_OK;
}

void count(GstBoxDecode* self, bool decoded, GstClockTime started) {
  Decoder& d = *self->decoder;
  GST_OBJECT_LOCK(self);
  d.stats.add(decoded ? &d.processor->funnel() : nullptr, d.boxes.size(),
              gst_util_get_timestamp() - started);
  const bool told = gst_debug_category_get_threshold(GST_CAT_DEFAULT) >= GST_LEVEL_LOG;
  g_autoptr(GstStructure) stats = told ? d.stats.structure() : nullptr;
  GST_OBJECT_UNLOCK(self);
  if (told) GST_LOG_OBJECT(self, "%" GST_PTR_FORMAT, static_cast<void*>(stats));
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  GstBoxDecode* self = cast(base);
  Decoder& d = *self->decoder;
  const GstClockTime started = gst_util_get_timestamp();
  d.boxes.clear();
  const Status status = decode(self, buffer);
  if (status) d.last_warning.clear();
  // Also without boxes: consumers take a frame without this meta for one that was not looked at.
  attach_boxes(buffer, d.boxes,
               {.classes = d.taken.class_meta != FALSE,
                .regions = d.taken.roi_meta != FALSE,
                .frame = d.processor ? d.processor->plan().letterbox.frame : d.frame.size});
  count(self, status.has_value(), started);
  return status ? GST_FLOW_OK : report(self, status.error());
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  Decoder& d = *cast(base)->decoder;
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) d.failed = false;
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS && d.failed) {
    // What a source says after an error is no end of the stream: a file of boxes is not whole.
    gst_event_unref(event);
    return TRUE;
  }
  return GST_BASE_TRANSFORM_CLASS(gst_box_decode_parent_class)->sink_event(base, event);
}

void before_transform(GstBaseTransform* base, GstBuffer* buffer) {
  const GstClockTime time =
      gst_segment_to_stream_time(&base->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(base), time);
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  Decoder& d = *cast(base)->decoder;
  const auto picture = picture_of(input);
  if (!picture) return FALSE;
  d.frame = *picture;
  d.processor.reset();
  return TRUE;
}

gboolean start(GstBaseTransform* base) {
  GstBoxDecode* self = cast(base);
  Decoder& d = *self->decoder;
  GST_OBJECT_LOCK(self);
  d.stats = {};
  d.changed = true;
  GST_OBJECT_UNLOCK(self);
  take_props(self);
  d.last_warning.clear();
  d.failed = false;
  // A label file that cannot be read stops the pipeline here, before any frame is spent on it.
  if (const Status status = load_labels(d); !status)
    return report(self, status.error()) == GST_FLOW_OK;
  return TRUE;
}

gboolean stop(GstBaseTransform* base) {
  Decoder& d = *cast(base)->decoder;
  d.processor.reset();
  d.labels_path.clear();
  d.labels = Labels();
  return TRUE;
}

/// Upstream needs no tensors to link here: the template's are for tensordecodebin alone.
gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  const gboolean done =
      GST_BASE_TRANSFORM_CLASS(gst_box_decode_parent_class)->query(base, direction, query);
  if (!done || GST_QUERY_TYPE(query) != GST_QUERY_CAPS || direction != GST_PAD_SINK) return done;
  GstCaps *result = nullptr, *filter = nullptr;
  gst_query_parse_caps_result(query, &result);
  gst_query_parse_caps(query, &filter);
  GstCaps* plain = gst_caps_copy(result);
  for (guint i = 0; i < gst_caps_get_size(plain); ++i)
    gst_structure_remove_field(gst_caps_get_structure(plain, i), "tensors");
  plain = gst_caps_simplify(plain);
  if (filter != nullptr) {
    GstCaps* both = gst_caps_intersect_full(filter, plain, GST_CAPS_INTERSECT_FIRST);
    gst_caps_replace(&plain, both);
    gst_caps_unref(both);
  }
  gst_query_set_caps_result(query, plain);
  gst_caps_unref(plain);
  return TRUE;
}

void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  Decoder& d = *cast(object)->decoder;
  GST_OBJECT_LOCK(object);
  const bool known = set_decode_property(d.props, id, value);
  d.changed = true;
  GST_OBJECT_UNLOCK(object);
  if (!known) G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

void get_property(GObject* object, guint id, GValue* value, GParamSpec* spec) {
  Decoder& d = *cast(object)->decoder;
  GST_OBJECT_LOCK(object);
  const bool known = get_decode_property(d.props, id, value);
  const DecodeStats stats = id == prop_stats ? d.stats : DecodeStats{};
  GST_OBJECT_UNLOCK(object);
  if (id == prop_stats) g_value_take_boxed(value, stats.structure());
  else if (!known) G_OBJECT_WARN_INVALID_PROPERTY_ID(object, id, spec);
}

void finalize(GObject* object) {
  delete cast(object)->decoder;
  G_OBJECT_CLASS(gst_box_decode_parent_class)->finalize(object);
}

}  // namespace

static void gst_box_decode_init(GstBoxDecode* self) {
  self->decoder = new Decoder;
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void gst_box_decode_class_init(GstBoxDecodeClass* klass) {
  auto* object = G_OBJECT_CLASS(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(boxdecode_debug, "boxdecode", 0, "Decoding of detector tensors");

  object->set_property = set_property;
  object->get_property = get_property;
  object->finalize = finalize;
  prop_stats = install_decode_properties(object);
  g_object_class_install_property(
      object, prop_stats,
      g_param_spec_boxed("stats", "stats",
                         "Counts since the start, and where the candidates of the last frame went: "
                         "anchors, above-threshold, not-finite, after-class-filter, after-top-k, "
                         "kept, clipped-away, attached.",
                         GST_TYPE_STRUCTURE,
                         static_cast<GParamFlags>(G_PARAM_READABLE | G_PARAM_STATIC_STRINGS)));

  gst_element_class_set_static_metadata(
      element, "Detection box decoder", "Tensordecoder/Video",
      "Decodes a detector's output tensors (GstTensorMeta) on a frame, suppresses overlapping "
      "boxes and attaches the rest as GstAnalyticsODMtd",
      "The keepbox developers");
  g_autoptr(GstCaps) sink = tensor_sink_caps();
  g_autoptr(GstCaps) src = gst_caps_from_string("video/x-raw(ANY)");
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, sink));
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, src));
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->query = query;
  transform->sink_event = sink_event;
  transform->before_transform = before_transform;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
  transform->passthrough_on_same_caps = FALSE;
  for (GType type : {detector_type(), contract_type(), backend_type(), nms_method_type(),
                     resize_mode_type(), units_type(), on_mismatch_type()})
    gst_type_mark_as_plugin_api(type, static_cast<GstPluginAPIFlags>(0));
}
