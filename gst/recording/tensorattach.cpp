// SPDX-License-Identifier: LGPL-2.1-or-later
// The element inside tensorreplay that attaches recorded tensors to frames.
#include "gst/recording/tensorattach.h"

#include <gst/base/gstbasetransform.h>

#include <cstdlib>
#include <format>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/metas/skippedmodels.h"
#include "gst/recording/replayprops.h"
#include "gst/recording/tensorreader.h"
#include "gst/tensors/device.h"
#include "gst/tensors/provenance.h"
#include "gst/tensors/tensors.h"

GST_DEBUG_CATEGORY_EXTERN(tensorreplay_debug);
#define GST_CAT_DEFAULT tensorreplay_debug

namespace keepbox {
namespace {

struct State : TableProps<ReplayProps, replay_properties> {
  // From start to stop, or from open_recording():
  std::optional<TensorReader> reader;
  FrameFinder finder;
  SyncMode mode = SyncMode::kAuto;
  bool numbered = false;  // buffer offsets are frame numbers
  bool prepared = false;  // open_recording() was called for the next start
  std::unique_ptr<Device> device = make_device();
  std::unique_ptr<Uploader> uploader;  // for tensors in device memory
  FrameRate rate;
  bool flushed = false;
  PostedError failed;
  bool warned_moved = false, warned_lost = false, warned_outside = false;
  std::mutex forms_lock;  // queries come from any thread
  std::vector<TensorForm> forms;

  void set_forms(std::vector<TensorForm> to) {
    const std::lock_guard guard(forms_lock);
    forms = std::move(to);
  }
};

}  // namespace
}  // namespace keepbox

KEEPBOX_DEFINE_TYPE(KeepboxTensorAttach, keepbox_tensor_attach, GstBaseTransform,
                    GST_TYPE_BASE_TRANSFORM)

using namespace keepbox;

namespace {

Status open(GstElement* element, State& r) {
  const ReplayProps props = locked_copy(element, r.props);
  KB_ASSIGN(
      auto reader,
      TensorReader::open(props.location, {.dims = props.dims, .type = props.type, .id = props.id}));
  const auto mode = static_cast<SyncMode>(props.sync_mode);
  const auto& [timeline, remark] = reader.times();
  const Error times = problem(ErrorKind::kMismatch,
                              props.location +
                                  " does not have increasing timestamps for all "
                                  "frames: " +
                                  (remark.empty() ? "there are none" : remark),
                              "set sync-mode=count");
  if (mode == SyncMode::kTimestamp && timeline.empty()) return std::unexpected(times);
  if (mode == SyncMode::kAuto && !remark.empty()) post_warning(element, times);
  r.mode = mode;
  r.finder = FrameFinder(reader.frames(), timeline, mode, props.offset);
  r.reader = std::move(reader);
  r.set_forms(r.reader->forms());
  GST_INFO_OBJECT(element, "%" G_GSIZE_FORMAT " frames, %s", r.reader->frames(),
                  timeline.empty() ? "without times" : "with times");
  return {};
}

/// Prepares uploads to CUDA memory, if requested.
Status prepare_memory(GstElement* element, State& r) {
  if (locked_copy(element, r.props.memory) != static_cast<int>(ReplayMemory::kCuda)) return {};
  KB_ASSIGN(const auto context, r.device->ensure(element, -1, "set memory=system"));
  KB_ASSIGN(r.uploader, r.device->make_uploader(context));
  return {};
}

void close(State& r) {
  r.set_forms({});
  r.reader.reset();
  r.finder = {};
  r.uploader.reset();
  r.numbered = r.prepared = r.flushed = false;
  r.failed.clear();
  r.warned_moved = r.warned_lost = r.warned_outside = false;
}

gboolean stop(GstBaseTransform* base) {
  close(Self::of(base));
  Self::of(base).device->clear();
  return TRUE;
}

gboolean start(GstBaseTransform* base) {
  State& r = Self::of(base);
  Status status = r.prepared ? Status() : open(GST_ELEMENT(base), r);
  r.prepared = false;
  if (status) status = prepare_memory(GST_ELEMENT(base), r);
  if (status) return TRUE;
  stop(base);
  post_error(GST_ELEMENT(base), status.error());
  return FALSE;
}

gboolean set_caps(GstBaseTransform* base, GstCaps* input, GstCaps*) {
  FrameRate& rate = Self::of(base).rate;
  if (!gst_structure_get_fraction(gst_caps_get_structure(input, 0), "framerate", &rate.numerator,
                                  &rate.denominator))
    rate = {};
  return TRUE;
}

Moment moment_of(const GstSegment& segment, FrameRate rate, GstBuffer* buffer) {
  const bool backward = segment.rate < 0;
  return {.time = stream_time_of(segment, GST_BUFFER_PTS(buffer)),
          .duration = known_duration(GST_BUFFER_DURATION(buffer)),
          .segment = stream_time_of(segment, backward ? segment.stop : segment.start),
          .rate = rate,
          .backward = backward};
}

/// Warns once about frames without tensors, or with tensors that may be wrong.
void warn_of(GstElement* element, State& r, FrameFinder::Where where, const Moment& moment) {
  const auto warn = [&](bool& warned, std::string what, std::string hint) {
    if (!std::exchange(warned, true))
      post_warning(element, problem(ErrorKind::kMismatch, std::move(what), std::move(hint)));
  };
  const auto seconds = [](int64_t time) { return std::format("{} s", double(time) / GST_SECOND); };
  if (const auto moved = r.finder.moved())
    warn(r.warned_moved,
         "The stream begins " + seconds(std::abs(*moved)) + (*moved < 0 ? " before" : " after") +
             " the first recorded frame: the recording was shifted so that both begin together",
         "set sync-mode=timestamp to use "
         "recorded times unchanged, or set timestamp-offset=");
  if (r.finder.lost())
    warn(r.warned_lost,
         "The caps have no frame rate to find the recorded frame after a seek: frames are counted "
         "on "
         "as if there was no seek",
         "use a recording by tensorrecord, "
         "which has timestamps");
  if (where == FrameFinder::Where::kOutside)
    warn(r.warned_outside,
         "There is no recorded frame" + (moment.time ? " at " + seconds(*moment.time) : "") +
             ": frames outside the recording get no tensors",
         "set sync-mode=count or timestamp-offset=");
}

Result<FrameFinder::Found> find(GstBaseTransform* base, GstBuffer* buffer) {
  State& r = Self::of(base);
  const bool loop = locked_copy(base, r.props.loop);
  const size_t frames = r.reader->frames();
  if (r.numbered) {
    const size_t number = GST_BUFFER_OFFSET(buffer);
    if (number >= frames && !loop) return FrameFinder::Found{FrameFinder::Where::kEnd, 0};
    return FrameFinder::Found{FrameFinder::Where::kFrame, number % frames};
  }
  const Moment moment = moment_of(base->segment, r.rate, buffer);
  if (r.mode == SyncMode::kTimestamp && !moment.time)
    return reject(ErrorKind::kMismatch, "The frame has no timestamp", "set sync-mode=count");
  if (std::exchange(r.flushed, false)) r.finder.seek();
  const auto found = r.finder.next(moment, loop);
  warn_of(GST_ELEMENT(base), r, found.where, moment);
  return found;
}

Status attach(State& r, size_t frame, GstBuffer* buffer) {
  KB_ASSIGN(const auto tensors, r.reader->read(frame));
  for (const StoredTensor& tensor : tensors) {
    Result<GstBuffer*> data =
        r.uploader ? r.uploader->upload(tensor.data.get()) : gst_buffer_ref(tensor.data.get());
    KB_TRY(data);
    if (auto source = provenance_of(tensor.data.get()); source != provenance_of(*data))
      set_provenance(*data, std::move(source));  // source for the upload
    add_tensor(buffer, tensor.id.c_str(), tensor.type, tensor.shape, tensor.order, *data);
  }
  if (r.reader->skipped(frame)) note_skipped_frame(buffer);
  return {};
}

GstFlowReturn transform_ip(GstBaseTransform* base, GstBuffer* buffer) {
  State& r = Self::of(base);
  const auto found = find(base, buffer);
  if (found && found->where == FrameFinder::Where::kEnd) return GST_FLOW_EOS;
  Status done = found ? Status() : std::unexpected(found.error());
  if (found && found->where == FrameFinder::Where::kFrame) {
    GST_LOG_OBJECT(base, "frame %" G_GSIZE_FORMAT " for %" GST_TIME_FORMAT, found->frame,
                   GST_TIME_ARGS(GST_BUFFER_PTS(buffer)));
    done = attach(r, found->frame, buffer);
  }
  return r.failed.check(GST_ELEMENT(base), done) ? GST_FLOW_OK : GST_FLOW_ERROR;
}

gboolean sink_event(GstBaseTransform* base, GstEvent* event) {
  State& r = Self::of(base);
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP) r.flushed = true;
  if (r.failed.take(event)) return TRUE;
  return Self::parent_as<GstBaseTransformClass>()->sink_event(base, event);
}

void set_context(GstElement* element, GstContext* context) {
  Self::of(element).device->offer(element, context, -1);
  Self::parent_as<GstElementClass>()->set_context(element, context);
}

/// Adds the recorded tensors to a query from the source of the frames.
void add_tensor_forms(State& r, InputSizeQuery& question) {
  const std::lock_guard guard(r.forms_lock);
  question.tensors.insert(question.tensors.end(), r.forms.begin(), r.forms.end());
}

gboolean query(GstBaseTransform* base, GstPadDirection direction, GstQuery* query) {
  if (InputSizeQuery* question = input_size_query(query))
    add_tensor_forms(Self::of(base), *question);
  return (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT &&
          Self::of(base).device->answer(GST_ELEMENT(base), query)) ||
         Self::parent_as<GstBaseTransformClass>()->query(base, direction, query);
}

}  // namespace

namespace keepbox {

std::optional<RecordedFrames> open_recording(GstElement* element) {
  State& r = Self::of(element);
  close(r);
  if (const Status status = open(element, r); !status) {
    post_error(element, status.error());
    return {};
  }
  r.prepared = r.numbered = true;
  return RecordedFrames{r.reader->times().timeline, r.reader->frames(), r.reader->frame_size()};
}

void close_recording(GstElement* element) { close(Self::of(element)); }

}  // namespace keepbox

static void keepbox_tensor_attach_init(KeepboxTensorAttach* self) { self->make_state(); }

static void keepbox_tensor_attach_class_init(KeepboxTensorAttachClass* klass) {
  auto* transform = GST_BASE_TRANSFORM_CLASS(klass);
  Self::set_up(klass);
  GST_ELEMENT_CLASS(klass)->set_context = set_context;
  replay_properties().install(G_OBJECT_CLASS(klass));
  describe(klass, "Tensor attacher", "Filter/Video", "Attaches recorded tensors to frames");
  add_video_templates(klass);
  transform->start = start;
  transform->stop = stop;
  transform->set_caps = set_caps;
  transform->query = query;
  transform->sink_event = sink_event;
  transform->prepare_output_buffer = writable_with_tensors;
  transform->transform_ip = transform_ip;
}
