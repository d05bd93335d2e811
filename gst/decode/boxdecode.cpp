// SPDX-License-Identifier: LGPL-2.1-or-later
// boxdecode: a detector's tensors on a frame become boxes on it.

#include <gst/base/gstbasetransform.h>
#include <gst/gst.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "gst/base/batches.h"
#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/decode/decoder.h"
#include "gst/decode/properties.h"
#include "gst/decode/settings.h"
#include "gst/decode/stats.h"
#include "gst/metas/boxes.h"
#include "gst/metas/skippedmodels.h"
#include "gst/tensors/provenance.h"
#include "gst/tensors/tensorcaps.h"
#include "gst/tensors/tensors.h"

#define GST_CAT_DEFAULT ::keepbox::decode_log()

namespace keepbox {

/// A stream of the batches.
struct DecodeStreamState {
  std::unique_ptr<Decoder> own;  // unless it is the element's
  Decoder& decoder;
  RepeatedEvents events;
  bool decodes = false;  // the stream is video
};

/// The streams of an element's batches, each with a decoder for its picture and its tensors. For
/// the streaming thread.
class DecodeBatches {
 public:
  /// @param element, @param stop as for Decoder. @param first decodes the first stream. All outlive
  /// this.
  DecodeBatches(GstElement* element, const std::atomic<bool>* stop, Decoder& first)
      : element_(element), stop_(stop), first_(first) {}

  /// Decodes the frames of a batch, those with the same plan together: first those that each stream
  /// begins with, then the next of each. Streams other than video pass.
  /// @param batch writable. @param finish attaches the boxes of a frame; no frame is decoded after
  /// one that does not flow. kMismatch if it is no batch.
  Result<GstFlowReturn> run(GstBuffer* batch, const FrameGroup::Finish& finish);

  /// Sets properties like Decoder::set_props(), for the streams that are not the element's own.
  void set_props(const DecodeProps& props, const DecodeFiles& files);
  /// Forgets the streams.
  void clear();

 private:
  std::vector<DecodeStreamState*> follow(const std::vector<BatchedStream>& streams);
  void keep_joints(const std::vector<DecodeStreamState*>& lanes);

  GstElement* element_;
  const std::atomic<bool>* stop_;
  Decoder& first_;
  BatchStreamStates<DecodeStreamState> states_;
  FrameGroup group_;
};

}  // namespace keepbox

/**
 * SECTION:element-boxdecode
 * @title: boxdecode
 *
 * Decodes the output tensors of an object detector, attached to frames by an inference element
 * (GstTensorMeta or GstAnalyticsTensorMtd), applies non-maximum suppression and attaches the boxes
 * as GstAnalyticsODMtd.
 *
 * After several models, each boxdecode decodes the tensors attached since the previous one. Boxes
 * in the images of objects (tensorinfer regions=objects) are related to their object's box.
 *
 * From GStreamer 1.28 on it also takes batches of streams (GstAnalyticsBatchMeta); frames of each
 * stream are decoded for the stream's own picture, those of all streams in one run.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=photo.jpg ! jpegdec ! videoconvertscale
 *   ! video/x-raw,width=640,height=640,pixel-aspect-ratio=1/1 ! onnxinference model-file=model.onnx
 *   ! boxdecode label-file=model.labels ! boxsink
 * ]|
 *
 * Since: 0.1
 */

namespace keepbox {
namespace {

struct State : CountedProps<DecodeProps, decode_properties, DecodeStats> {
  explicit State(GstElement* element)
      : decoder(element, &stopping), batches(element, &stopping, decoder) {}

  std::mutex changing;  // held while properties are checked and changed
  // Under the object lock, like props:
  DecodeFiles files;     // that props name, while the element is active
  StreamNames names;     // of the last frame
  bool active = false;   // between start and stop
  bool changed = false;  // since the streaming thread took props
  // Set by any thread to end the current frame:
  std::atomic<bool> stopping = false;
  // The streaming thread's own:
  Decoder decoder;
  DecodeBatches batches;
  bool in_batches = false;  // the caps are those of batches
  Mismatches mismatches;
  PostedError failed;
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(boxdecode, KeepboxBoxDecode, keepbox_box_decode, GstBaseTransform,
                       GST_TYPE_BASE_TRANSFORM)

using namespace keepbox;

namespace {

/// Changes a property. In an active element, checks a text first.
Status change(KeepboxBoxDecode* self, guint id, const GValue* value) {
  State& s = *self->state;
  const std::lock_guard one_by_one(s.changing);
  GST_OBJECT_LOCK(self);
  DecodeProps props = s.props;
  DecodeFiles files = s.files;
  const StreamNames names = s.names;
  const bool checked = s.active && G_VALUE_HOLDS_STRING(value);
  GST_OBJECT_UNLOCK(self);
  decode_properties().set(props, id, value);
  if (checked) {
    KB_TRY(files.read(props));
    KB_TRY(check_texts(props, files, names));
    if (props.tensor_ids != s.props.tensor_ids) KB_TRY(check_ids(props.tensor_ids, names));
  }
  GST_OBJECT_LOCK(self);
  s.props = std::move(props);
  s.files = std::move(files);
  s.changed = true;
  GST_OBJECT_UNLOCK(self);
  return {};
}

/// Sets a property, or keeps it, with a warning, if its value is invalid in an active element.
void set_property(GObject* object, guint id, const GValue* value, GParamSpec* spec) {
  if (const Status changed = change(Self::cast(object), id, value); !changed)
    warn_kept(object, spec, changed.error());
}

void take_props(KeepboxBoxDecode* self) {
  State& s = *self->state;
  GST_OBJECT_LOCK(self);
  const bool changed = std::exchange(s.changed, false);
  const DecodeProps props = changed ? s.props : DecodeProps{};
  const DecodeFiles files = changed ? s.files : DecodeFiles{};
  GST_OBJECT_UNLOCK(self);
  if (!changed) return;
  s.decoder.set_props(props, files);
  s.batches.set_props(props, files);
}

GstFlowReturn report(KeepboxBoxDecode* self, const Decoder& decoder, const Error& error) {
  State& s = *self->state;
  const auto policy = static_cast<OnMismatch>(decoder.props().on_mismatch);
  if (!decoder.device_failed() && s.mismatches.tolerate(GST_ELEMENT(self), policy, error))
    return GST_FLOW_OK;
  s.failed.post(GST_ELEMENT(self), error);
  return GST_FLOW_ERROR;
}

void count(KeepboxBoxDecode* self, Decoder& decoder, bool decoded, GstClockTime started) {
  State& s = *self->state;
  const GstClockTime spent = gst_util_get_timestamp() - started;
  GST_OBJECT_LOCK(self);
  decoder.count(s.stats, decoded, spent);
  s.names = decoder.names();
  const bool logged = gst_debug_category_get_threshold(GST_CAT_DEFAULT) >= GST_LEVEL_LOG;
  g_autoptr(GstStructure) stats = logged ? s.stats.structure() : nullptr;
  GST_OBJECT_UNLOCK(self);
  if (logged) GST_LOG_OBJECT(self, "%" GST_PTR_FORMAT, static_cast<void*>(stats));
}

/// Attaches the boxes of a frame, or reports why it has none.
GstFlowReturn finish(KeepboxBoxDecode* self, Decoder& decoder, GstBuffer* frame, Status status,
                     GstClockTime started) {
  if (!status && status.error().kind == ErrorKind::kInterrupted) return GST_FLOW_FLUSHING;
  // Also without boxes: without this meta consumers assume that the frame was not analysed.
  const guint also = decoder.props().also_attach;
  const Status attached = attach_boxes(frame, decoder.boxes(),
                                       {.classes = (also & kAttachClass) != 0,
                                        .regions = (also & kAttachRoi) != 0,
                                        .frame = decoder.frame()});
  if (attached) attach_weak_boxes(frame, decoder.weak());
  if (!status || decoder.skipped_by_model(frame))
    note_skipped_model(frame, decoder.model_on(frame));
  else note_looked(frame);
  if (status) status = attached;
  count(self, decoder, status.has_value(), started);
  return status ? GST_FLOW_OK : report(self, decoder, status.error());
}

GstFlowReturn decode(KeepboxBoxDecode* self, GstBuffer* frame) {
  Decoder& decoder = self->state->decoder;
  const GstClockTime started = gst_util_get_timestamp();
  return finish(self, decoder, frame, decoder.decode(frame), started);
}

GstFlowReturn decode_batch(KeepboxBoxDecode* self, GstBuffer* batch) {
  const auto flow = self->state->batches.run(
      batch, [&](Decoder& decoder, GstBuffer* frame, const Status& status, GstClockTime started) {
        return finish(self, decoder, frame, status, started);
      });
  if (flow) return *flow;
  self->state->failed.post(GST_ELEMENT(self), flow.error());
  return GST_FLOW_ERROR;
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  KeepboxBoxDecode* self = Self::cast(base);
  take_props(self);
  State& s = *self->state;
  return s.in_batches ? decode_batch(self, buffer) : decode(self, buffer);
}

/// Warns at the end of a stream without any box, which may be right or one wrong property away.
void warn_without_boxes(KeepboxBoxDecode* self) {
  GST_OBJECT_LOCK(self);
  const auto why = self->state->stats.why_no_box();
  GST_OBJECT_UNLOCK(self);
  if (why) post_warning(GST_ELEMENT(self), *why);
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  State& s = Self::of(base);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_START) s.stopping = true;
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) {
    s.stopping = false;
    s.decoder.flush();
  }
  if (refuse_batches(GST_ELEMENT(base), s.failed, event)) return FALSE;
  if (s.failed.take(event)) return TRUE;
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS) warn_without_boxes(Self::cast(base));
  return Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

void before_transform(GstBaseTransform* base, GstBuffer* buffer) {
  if (base->segment.format != GST_FORMAT_TIME) return;
  const GstClockTime time =
      gst_segment_to_stream_time(&base->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  if (GST_CLOCK_TIME_IS_VALID(time)) gst_object_sync_values(GST_OBJECT(base), time);
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  State& s = Self::of(base);
  s.in_batches = are_batches(input);
  if (s.in_batches) return TRUE;
  s.batches.clear();
  const auto picture = picture_of(input);
  if (picture) Self::of(base).decoder.set_picture(*picture);
  return picture.has_value();
}

/// Reads the files that properties name, and makes set_property() check from now on.
Status activate(KeepboxBoxDecode* self) {
  State& s = *self->state;
  const std::lock_guard one_by_one(s.changing);
  const DecodeProps props = locked_copy(self, s.props);
  DecodeFiles files;
  KB_TRY(files.read(props));
  KB_TRY(check_texts(props, files, {}));
  GST_OBJECT_LOCK(self);
  s.files = std::move(files);
  s.active = s.changed = true;
  GST_OBJECT_UNLOCK(self);
  return {};
}

void deactivate(KeepboxBoxDecode* self) {
  State& s = *self->state;
  s.batches.clear();
  s.decoder.stop();
  GST_OBJECT_LOCK(self);
  s.active = false;
  s.files = {};
  s.names = {};
  GST_OBJECT_UNLOCK(self);
}

Status begin(KeepboxBoxDecode* self) {
  KB_TRY(activate(self));
  take_props(self);
  return self->state->decoder.start();
}

gboolean start(GstBaseTransform* base) {
  KeepboxBoxDecode* self = Self::cast(base);
  State& s = *self->state;
  GST_OBJECT_LOCK(self);
  s.stats = {};
  GST_OBJECT_UNLOCK(self);
  s.mismatches.clear();
  s.stopping = false;
  s.failed.clear();
  if (s.failed.check(GST_ELEMENT(self), begin(self))) return TRUE;
  deactivate(self);  // GStreamer does not call stop() after a failed start()
  return FALSE;
}

gboolean stop(GstBaseTransform* base) {
  deactivate(Self::cast(base));
  return TRUE;
}

GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) Self::of(element).stopping = true;
  return Self::parent_as<GstElementClass>()->change_state(element, change);
}

void set_context(GstElement* element, GstContext* context) {
  KeepboxBoxDecode* self = Self::cast(element);
  self->state->decoder.device().offer(element, context,
                                      locked_copy(self, self->state->props.device_id));
  Self::parent_as<GstElementClass>()->set_context(element, context);
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  State& s = Self::of(base);
  if (is_family_query(query)) {
    if (auto family = wanted_family(locked_copy(base, s.props.detector)))
      answer_family_query(query, *std::move(family));
    return TRUE;
  }
  if (InputSizeQuery* question = input_size_query(query)) {
    question->answer = input_size_of(locked_copy(base, s.props), question->tensors);
    return TRUE;
  }
  if (handle_producer_query(query)) return TRUE;
  if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
      s.decoder.device().answer(GST_ELEMENT(base), query))
    return TRUE;
  const gboolean done = Self::parent_as<GstBaseTransformClass>()->query(base, direction, query);
  if (!done || GST_QUERY_TYPE(query) != GST_QUERY_CAPS) return done;
  remove_tensors_from_caps(query);
  if (direction == GST_PAD_SINK) offer_batches(query);
  return TRUE;
}

}  // namespace

static void keepbox_box_decode_init(KeepboxBoxDecode* self) {
  self->make_state();
  gst_base_transform_set_in_place(GST_BASE_TRANSFORM(self), TRUE);
}

static void keepbox_box_decode_class_init(KeepboxBoxDecodeClass* klass) {
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);

  Self::set_up(klass);
  G_OBJECT_CLASS(klass)->set_property = set_property;
  element->set_context = set_context;
  element->change_state = change_state;
  State::install(G_OBJECT_CLASS(klass), kDecodeStats);

  describe(klass, "Detection box decoder", "Tensordecoder/Video",
           "Decodes a detector's output tensors (GstTensorMeta) to boxes, applies non-maximum "
           "suppression and attaches the boxes as GstAnalyticsODMtd; from GStreamer 1.28 on also "
           "in batches of streams (GstAnalyticsBatchMeta)");
  g_autoptr(GstCaps) sink = tensor_sink_caps();
  g_autoptr(GstCaps) src = gst_caps_from_string("video/x-raw(ANY)");
  add_batches(sink);
  add_batches(src);
  gst_element_class_add_pad_template(
      element, gst_pad_template_new("sink", GST_PAD_SINK, GST_PAD_ALWAYS, sink));
  gst_element_class_add_pad_template(element,
                                     gst_pad_template_new("src", GST_PAD_SRC, GST_PAD_ALWAYS, src));
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->query = query;
  transform->sink_event = sink_event;
  transform->before_transform = before_transform;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
  transform->passthrough_on_same_caps = FALSE;
}

namespace keepbox {
namespace {

void set_caps(DecodeStreamState& state, const GstCaps* caps) {
  const bool video = gst_structure_has_name(gst_caps_get_structure(caps, 0), "video/x-raw");
  const auto picture = video ? picture_of(caps) : std::nullopt;
  state.decodes = picture.has_value();
  if (picture) state.decoder.set_picture(*picture);
}

/// A stream's part of the batch.
struct DecodeTurn {
  DecodeStreamState& state;
  const BatchedStream& stream;
  size_t next = 0;  // item
};

/// The decoding of one batch.
class DecodeRun {
 public:
  DecodeRun(FrameGroup& group, const FrameGroup::Finish& finish) : group_(group), finish_(finish) {}

  GstFlowReturn run(std::vector<DecodeTurn>& turns) {
    for (const DecodeTurn& turn : turns)
      for (GstEvent* event : turn.stream.sticky) take(turn.state, event);
    for (bool more = true; more;) {
      more = false;
      for (DecodeTurn& turn : turns) more = advance(turn) || more;
    }
    finish();
    return flow_;
  }

 private:
  /// Gathers a stream's next frame, and takes the events before it. Returns false after the last
  /// frame.
  bool advance(DecodeTurn& turn) {
    while (flow_ == GST_FLOW_OK && turn.next < turn.stream.items.size()) {
      const BatchItem& item = turn.stream.items[turn.next++];
      if (item.event != nullptr) take(turn.state, item.event);
      if (!item.frame || !turn.state.decodes) continue;
      group_.add(turn.state.decoder, item.frame.get());
      return true;
    }
    return false;
  }

  void take(DecodeStreamState& state, GstEvent* event) {
    if (!state.events.take(event) || GST_EVENT_TYPE(event) != GST_EVENT_CAPS) return;
    finish();  // frames before the caps
    GstCaps* caps = nullptr;
    gst_event_parse_caps(event, &caps);
    set_caps(state, caps);
  }

  void finish() {
    if (flow_ == GST_FLOW_OK) flow_ = group_.finish(finish_);
  }

  FrameGroup& group_;
  const FrameGroup::Finish& finish_;
  GstFlowReturn flow_ = GST_FLOW_OK;
};

}  // namespace

std::vector<DecodeStreamState*> DecodeBatches::follow(const std::vector<BatchedStream>& streams) {
  bool taken = false;
  states_.for_each([&](const DecodeStreamState& state) { taken = taken || !state.own; });
  return states_.follow(streams, [&] {
    const bool apart = std::exchange(taken, true);
    auto own = apart ? std::make_unique<Decoder>(element_, stop_, first_) : nullptr;
    Decoder& decoder = own ? *own : first_;
    return std::make_unique<DecodeStreamState>(std::move(own), decoder);
  });
}

/// Drops what no stream needs any more.
void DecodeBatches::keep_joints(const std::vector<DecodeStreamState*>& lanes) {
  std::vector<const Decoder*> decoders;
  for (const DecodeStreamState* state : lanes) decoders.push_back(&state->decoder);
  group_.keep_for(decoders);
}

Result<GstFlowReturn> DecodeBatches::run(GstBuffer* buffer, const FrameGroup::Finish& finish) {
  FrameBatch batch(buffer);
  if (!batch) return no_batch();
  const std::vector<DecodeStreamState*> lanes = follow(batch.streams());
  std::vector<DecodeTurn> turns;
  for (size_t i = 0; i < lanes.size(); ++i) turns.push_back({*lanes[i], batch.streams()[i]});
  const GstFlowReturn flow = DecodeRun(group_, finish).run(turns);
  keep_joints(lanes);
  return flow;
}

void DecodeBatches::set_props(const DecodeProps& props, const DecodeFiles& files) {
  states_.for_each([&](DecodeStreamState& state) {
    if (state.own) state.own->set_props(props, files);
  });
}

void DecodeBatches::clear() {
  states_.clear();
  group_.clear();
}

}  // namespace keepbox
