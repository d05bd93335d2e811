// SPDX-License-Identifier: LGPL-2.1-or-later
// tensorinfer: runs a model on frames of any size and attaches its tensors.
#include "gst/infer/tensorinfer.h"

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include <atomic>

#include "gst/base/batches.h"
#include "gst/base/element.h"
#include "gst/infer/model.h"
#include "gst/infer/properties.h"
#include "gst/infer/run/pictures.h"
#include "gst/infer/stream.h"
#include "gst/tensors/provenance.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

struct InferState : CountedProps<InferProps, infer_properties, InferStats> {
  explicit InferState(GstElement* of) : element(of), stream(element), batches(element, stream) {}
  bool get(guint id, GValue* value) const;

  Model& model() { return stream.model(); }
  const Model& model() const { return stream.model(); }
  /// Makes all waits for the model fail while `on`. From any thread.
  void interrupt(bool on);
  /// Starts a new stream, independent of the one before. @pre no frame is in the line.
  void restart_stream();

  /// Returns the rules for the frame, or the batch, of that running time.
  InferBatches::Rules rules_at(GstClockTime running);
  /// Counts a frame that a model has run, or that passes. @param late a frame of a batch that is
  /// skipped because it would be late; others are counted by rules_at().
  void count(const InferStream::Completed& frame, const Model& by, bool late = false);
  /// Shows in the statistics how the model runs, which changes if its device fails.
  void show_setup();

  GstElement* const element;
  Lateness lateness;                     // set by any thread
  std::atomic<bool> in_batches = false;  // the caps are those of batches
  // The streaming thread's own:
  unsigned shown = 0;  // Model::times_settled() of the setup in the statistics
  InferStream stream;
  InferBatches batches;
  PostedError failed;
  OrientationCheck orientation;
};

}  // namespace keepbox

GST_DEBUG_CATEGORY(tensorinfer_debug);
#define GST_CAT_DEFAULT tensorinfer_debug

/**
 * SECTION:element-tensorinfer
 * @title: tensorinfer
 *
 * Runs an ONNX model on frames of any size and attaches its output tensors (GstTensorMeta). Frames
 * pass unchanged: a copy is fitted into the model input, and boxdecode maps boxes back to pixels of
 * the frame. Class names, family, sizes and ranges are taken from metadata that Ultralytics or
 * GStreamer wrote into the model or next to it; properties override them.
 *
 * ONNX Runtime is loaded when the element starts. If it has CUDA and there is a GPU, frames, input
 * and tensors stay in GPU memory.
 *
 * With the property qos, the default, late frames of a live source pass without inference, like
 * those that interval skips. Frames of files are never skipped.
 *
 * From GStreamer 1.28 on it also takes batches of streams (GstAnalyticsBatchMeta), as
 * analyticscombiner makes them, and runs their frames together.
 *
 * ## Example launch line
 * |[
 * gst-launch-1.0 filesrc location=street.mp4 ! decodebin3 ! tensorinfer model-file=yolov8n.onnx
 *   ! boxdecode ! videoconvert ! boxoverlay ! videoconvert ! autovideosink
 * ]|
 *
 * Since: 0.2
 */

namespace keepbox {
namespace {

using State = InferState;

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_ELEMENT(tensorinfer, KeepboxTensorInfer, keepbox_tensor_infer, GstBaseTransform,
                       GST_TYPE_BASE_TRANSFORM)

using namespace keepbox;

namespace {

InferProps props_of(gpointer self) { return locked_copy(self, Self::of(self).props); }

/// Returns the flow of a frame that failed, after an element error.
GstFlowReturn flow_of(GstBaseTransform* base, const Error& error) {
  if (Self::of(base).model().interrupted()) return GST_FLOW_FLUSHING;
  Self::of(base).failed.post(GST_ELEMENT(base), error);
  return GST_FLOW_ERROR;
}

/// Runs the model on the frames of a batch.
Status run_batch(State& s, GstBuffer* batch, const InferBatches::Rules& rules) {
  return s.batches.run(batch, rules, [&](const InferStream::Completed& frame, const Model& model) {
    s.count(frame, model, rules.late);
  });
}

/// Gives a frame to the model, unless it is skipped, or runs a batch.
GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  State& s = Self::of(base);
  const GstClockTime running =
      gst_segment_to_running_time(&base->segment, GST_FORMAT_TIME, GST_BUFFER_PTS(buffer));
  const GstClockTime due = due_time(GST_ELEMENT(base), running);
  const InferBatches::Rules rules = s.rules_at(running);
  if (s.failed) return GST_FLOW_ERROR;
  const bool ready = s.model().prepared();
  const Status begun = s.in_batches ? run_batch(s, buffer, rules)
                                    : s.stream.begin(buffer, rules.skip, due, rules.late);
  s.show_setup();
  if (!ready && s.model().prepared()) {
    const GstClockTime now = gst_element_get_current_running_time(GST_ELEMENT(base));
    if (GST_CLOCK_TIME_IS_VALID(now)) s.lateness.ignore_until(now);
  }
  return begun ? GST_FLOW_OK : flow_of(base, begun.error());
}

/// Takes the first frame out of the line, with its tensors.
GstFlowReturn complete_first(GstBaseTransform* base, GstBuffer** out) {
  State& s = Self::of(base);
  auto frame = s.stream.complete();
  s.show_setup();
  if (!frame.status) return flow_of(base, frame.status.error());
  s.count(frame, s.model());
  *out = frame.buffer.release();
  return GST_FLOW_OK;
}

/// Adds a new frame to the line, and takes out the first one if the line is full.
GstFlowReturn generate_output(GstBaseTransform* base, GstBuffer** out) {
  State& s = Self::of(base);
  GstBuffer* taken = nullptr;
  *out = nullptr;
  const GstFlowReturn flow =
      Self::parent_as<GstBaseTransformClass>()->generate_output(base, &taken);
  if (flow != GST_FLOW_OK || taken == nullptr) {
    gst_clear_buffer(&taken);
    return flow;
  }
  if (s.in_batches) {
    *out = taken;
    return flow;
  }
  s.stream.push(taken);
  return s.stream.is_full() ? complete_first(base, out) : GST_FLOW_OK;
}

/// Sends all frames of the line on.
void drain_line(GstBaseTransform* base) {
  State& s = Self::of(base);
  while (!s.failed && !s.stream.empty()) {
    GstBuffer* buffer = nullptr;
    if (complete_first(base, &buffer) == GST_FLOW_OK)
      gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(base), buffer);
  }
  s.stream.clear();
}

/// Frames after a discontinuity do not wait with those before it. `discont` stays set until the
/// base class has sent a frame, so that the frame's own flag decides.
GstFlowReturn submit_input_buffer(GstBaseTransform* base, gboolean discont, GstBuffer* input) {
  if (GST_BUFFER_IS_DISCONT(input)) drain_line(base);
  return Self::parent_as<GstBaseTransformClass>()->submit_input_buffer(base, discont, input);
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  State& s = Self::of(base);
  s.orientation.take(GST_ELEMENT(base), event);
  switch (GST_EVENT_TYPE(event)) {
    case GST_EVENT_FLUSH_START: s.interrupt(true); break;
    case GST_EVENT_FLUSH_STOP:
      s.stream.clear();
      s.interrupt(false);
      s.restart_stream();
      break;
    case GST_EVENT_SEGMENT:
      drain_line(base);
      s.restart_stream();
      break;
    default:
      if (GST_EVENT_IS_SERIALIZED(event)) drain_line(base);
  }
  if (refuse_batches(GST_ELEMENT(base), s.failed, event)) return FALSE;
  return s.failed.take(event) || Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

gboolean src_event(GstBaseTransform* base, GstEvent* event) {
  if (GST_EVENT_TYPE(event) == GST_EVENT_QOS) {
    // The base class would drop late frames, which pass without inference here.
    Self::of(base).lateness.take(event);
    return gst_pad_push_event(GST_BASE_TRANSFORM_SINK_PAD(base), event);
  }
  return Self::parent_as<GstBaseTransformClass>()->src_event(base, event);
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  State& s = Self::of(base);
  s.in_batches = are_batches(input);
  if (s.in_batches) return TRUE;
  s.batches.clear();
  s.model().expect(1);
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, input)) return FALSE;
  s.restart_stream();
  s.model().set_frames(info);
  return TRUE;
}

gboolean start(GstBaseTransform* base) {
  State& s = Self::of(base);
  s.failed.clear();
  s.orientation = {};
  s.batches.interrupt(false);
  const bool started = s.failed.check(GST_ELEMENT(base), s.model().start(props_of(base)));
  if (!started) s.model().stop();  // GStreamer does not call stop() after a failed start()
  GST_OBJECT_LOCK(base);
  s.stats = {};
  if (started) s.stats.set(s.model().setup());
  GST_OBJECT_UNLOCK(base);
  return started;
}

gboolean stop(GstBaseTransform* base) {
  State& s = Self::of(base);
  s.batches.clear();
  s.stream.clear();
  s.stream.forget();
  s.model().stop();
  return TRUE;
}

/// Runs before sources and decoders change state, so that they find a suitable context.
GstStateChangeReturn change_state(GstElement* element, GstStateChange change) {
  State& s = Self::of(element);
  if (change == GST_STATE_CHANGE_NULL_TO_READY) s.model().offer_context(props_of(element));
  // Deactivating pads waits for the current frame, which may wait for the model.
  if (change == GST_STATE_CHANGE_PAUSED_TO_READY) s.interrupt(true);
  const auto done = Self::parent_as<GstElementClass>()->change_state(element, change);
  if (change == GST_STATE_CHANGE_READY_TO_NULL) s.model().cuda().clear();
  return done;
}

void set_context(GstElement* element, GstContext* context) {
  Self::of(element).model().cuda().offer(element, context, props_of(element).device_id);
  Self::parent_as<GstElementClass>()->set_context(element, context);
}

/// Answers with the latency of upstream and of the frames that are held back.
bool answer_latency(GstBaseTransform* base, GstQuery* query) {
  State& s = Self::of(base);
  const GstClockTime own = s.in_batches ? 0 : s.model().line_latency();
  const auto live = add_latency(GST_BASE_TRANSFORM_SINK_PAD(base), query, own);
  if (live) s.lateness.set_live(*live);
  return live.has_value();
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  if (GST_QUERY_TYPE(query) == GST_QUERY_LATENCY && direction == GST_PAD_SRC)
    return answer_latency(base, query);
  if (GST_QUERY_TYPE(query) == GST_QUERY_DRAIN) drain_line(base);
  if (gboolean answered = FALSE; handle_family_query(query, answered)) return answered;
  if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
      Self::of(base).model().cuda().answer(GST_ELEMENT(base), query))
    return TRUE;
  const gboolean done = Self::parent_as<GstBaseTransformClass>()->query(base, direction, query);
  if (done && GST_QUERY_TYPE(query) == GST_QUERY_CAPS && direction == GST_PAD_SINK)
    offer_batches(query);
  return done;
}

/// Forwards downstream's proposal except crop metas, because the whole frame is used here, and
/// offers a pool if there is none.
gboolean propose_allocation(GstBaseTransform* base, GstQuery* decided, GstQuery* query) {
  gboolean answered =
      Self::parent_as<GstBaseTransformClass>()->propose_allocation(base, decided, query);
  Model& model = Self::of(base).model();
  drop_crop_meta(query);
  if (model.offer_pool(query)) answered = TRUE;
  raise_pools(query, model.lookahead());
  return answered;
}

}  // namespace

static void keepbox_tensor_infer_init(KeepboxTensorInfer* self) {
  self->make_state();
  gst_base_transform_set_qos_enabled(GST_BASE_TRANSFORM(self), TRUE);
}

static void keepbox_tensor_infer_class_init(KeepboxTensorInferClass* klass) {
  Self::set_up(klass);
  auto* element = GST_ELEMENT_CLASS(klass);
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  GST_DEBUG_CATEGORY_INIT(tensorinfer_debug, "tensorinfer", 0, "inference with ONNX Runtime");

  element->change_state = change_state;
  element->set_context = set_context;
  State::install(G_OBJECT_CLASS(klass), kInferStats);

  describe(klass, "ONNX inference", "Filter/Video",
           "Runs an ONNX model on video frames of any size, on the CPU or a GPU, and attaches its "
           "output tensors (GstTensorMeta) with the metadata that boxdecode needs; from "
           "GStreamer 1.28 on also on batches of streams (GstAnalyticsBatchMeta)");
  g_autoptr(GstCaps) caps = frame_form_caps();
  add_batches(caps);
  add_templates(klass, caps);
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->query = query;
  transform->sink_event = sink_event;
  transform->src_event = src_event;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->propose_allocation = propose_allocation;
  transform->submit_input_buffer = submit_input_buffer;
  transform->transform_ip = transform_ip;
  transform->generate_output = generate_output;
}

namespace keepbox {

bool InferState::get(guint id, GValue* value) const {
  if (!is_stats(id)) return TableProps::get(id, value);
  g_value_take_boxed(value, stats.structure(model().batch_counts()));
  return true;
}

void InferState::interrupt(bool on) {
  model().interrupt(on);
  batches.interrupt(on);
}

void InferState::restart_stream() {
  lateness.reset();
  stream.forget();
  batches.forget();
}

InferBatches::Rules InferState::rules_at(GstClockTime running) {
  const bool qos = gst_base_transform_is_qos_enabled(GST_BASE_TRANSFORM(element)) != FALSE;
  GST_OBJECT_LOCK(element);
  const InferBatches::Rules rules{.skip = {.interval = props.interval, .hold = props.hold},
                                  .late = qos && lateness.is_late(running)};
  if (rules.late && !in_batches) stats.add_late();
  GST_OBJECT_UNLOCK(element);
  return rules;
}

void InferState::count(const InferStream::Completed& frame, const Model& by, bool late) {
  GST_OBJECT_LOCK(element);
  if (late) stats.add_late();
  if (frame.use == FrameUse::kInferred) stats.add_inferred(by.times(), frame.took);
  else stats.add_between(frame.held);
  GST_OBJECT_UNLOCK(element);
}

void InferState::show_setup() {
  if (std::exchange(shown, model().times_settled()) == shown) return;
  GST_OBJECT_LOCK(element);
  stats.set(model().setup());
  GST_OBJECT_UNLOCK(element);
}

std::optional<bool> add_latency(GstPad* sink, GstQuery* query, GstClockTime own) {
  if (!gst_pad_peer_query(sink, query)) return std::nullopt;
  gboolean live = FALSE;
  GstClockTime min = 0, max = 0;
  gst_query_parse_latency(query, &live, &min, &max);
  if (GST_CLOCK_TIME_IS_VALID(max)) max += own;
  gst_query_set_latency(query, live, min + own, max);
  return live != FALSE;
}

void drop_crop_meta(GstQuery* query) {
  guint crop = 0;
  if (gst_query_find_allocation_meta(query, GST_VIDEO_CROP_META_API_TYPE, &crop))
    gst_query_remove_nth_allocation_meta(query, crop);
}

void raise_pools(GstQuery* query, guint held) {
  for (guint i = 0; i < gst_query_get_n_allocation_pools(query); ++i) {
    GstBufferPool* pool = nullptr;
    guint size = 0, min = 0, max = 0;
    gst_query_parse_nth_allocation_pool(query, i, &pool, &size, &min, &max);
    gst_query_set_nth_allocation_pool(query, i, pool, size, min + held, max == 0 ? 0 : max + held);
    gst_clear_object(&pool);
  }
}

}  // namespace keepbox
