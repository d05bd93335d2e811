// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs models on a device, from frames in its memory or the host's.

#include <gst/gst.h>
#include <gst/video/video.h>

#include <algorithm>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "core/run/backend.h"
#include "gst/base/error.h"
#include "gst/infer/cuda/cudamodel.h"
#include "gst/infer/cuda/pinnedpool.h"
#include "gst/infer/run/batches.h"
#include "gst/infer/run/inferencer.h"
#include "gst/infer/run/pictures.h"
#include "gst/tensors/cudaobjects.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {

/// Waits until a frame was read before it leaves the element, because later elements may write to
/// it, and before its memory is used again.
class HeldFrame : public PendingFrame {
 public:
  /// @param frame null if it failed. @param read an event of use kWaiting in `context`, with what
  /// keeps it alive.
  HeldFrame(std::unique_ptr<PendingFrame> frame, CudaContext context, std::shared_ptr<void> read)
      : frame_(std::move(frame)), context_(std::move(context)), read_(std::move(read)) {}
  ~HeldFrame() override;

  Result<std::vector<InferredTensor>> finish() override;
  InferTimes times() const override { return frame_->times(); }

 private:
  Status wait();

  std::unique_ptr<PendingFrame> frame_;
  CudaContext context_;
  std::shared_ptr<void> read_;  // null once it was waited for
};

/// Makes the inputs of one element's frames. Frames in CUDA memory are read in place, even in
/// another context of the device; others are uploaded. For one thread at a time.
class CudaFeed {
 public:
  /// @param home the context of the inputs. @param slots maximum number of frames in flight.
  CudaFeed(Pictures pictures, const GstVideoInfo& info, CudaContext home, size_t slots)
      : pictures_(std::move(pictures)), info_(info), home_(std::move(home)), slots_(slots) {}
  ~CudaFeed();

  /// Enqueues the conversion of pictures of a frame. Later work on the frame's own stream may write
  /// to the frame; a frame without a stream must not be written to before it was read. @param slot
  /// less than slots; the previous inputs of the slot must no longer be in use. @param first number
  /// of the first picture; calls for one frame begin with 0.
  /// @param crops all of the frame, if its pictures are of objects. @param inputs one per picture,
  /// in the home context.
  Status feed(GstBuffer* frame, size_t slot, size_t first, std::span<const Crop> crops,
              std::span<const CUdeviceptr> inputs);

  /// Returns the number of pictures of a frame with those crops.
  size_t pictures(std::span<const Crop> crops) const {
    return pictures_.crops ? crops.size() : pictures_.plans.size();
  }

  /// True if a slot's last frame may be read until ready(), and nothing orders later writers after
  /// that.
  bool holds_frame(size_t slot) const { return side_ && side_->events[slot].holds_frame; }
  /// Returns the context of frames, and of the events.
  const CudaContext& context() const { return side_->context; }

  /// Event after which the inputs of a slot are complete.
  CUevent ready(size_t slot) const { return side_->events[slot].ready.get(); }
  /// Returns the event with everything that the input's making needs, which may outlive the feed.
  std::shared_ptr<void> kept_ready(size_t slot) const {
    return std::shared_ptr<void>(side_, ready(slot));
  }
  /// Returns the time that a slot's last input took. @pre the input is complete.
  double microseconds(size_t slot) const;

 private:
  struct Events {
    CudaEvent begun, ready;
    bool used = false;
    bool holds_frame = false;  // no stream orders later writers of the frame after `ready`
  };
  /// Objects in the context of the frames.
  struct Side {
    CudaContext context;
    CudaStream stream;
    CudaEvent order;                                  // recorded after the frame's producer
    std::vector<std::unique_ptr<InputMaker>> makers;  // by plan
    std::unique_ptr<CropMaker> crop_maker;            // of objects
    std::vector<FramePlanes> planes;                  // of frames from the host, by slot
    std::vector<Events> events;                       // by slot
    std::vector<DeviceMemory> uploaded;               // planes of frames from the host, by slot
    std::vector<DeviceMemory>
        other_context;  // inputs outside of the home context, by slot and picture
    ~Side();
  };
  Result<std::unique_ptr<Side>> make_side(const CudaContext& context) const;
  /// The inputs of some pictures of a frame.
  struct Inputs {
    size_t slot, first;
    std::span<const Crop> crops;
    std::span<const CUdeviceptr> at;
  };
  Status from_device(GstBuffer* frame, const Inputs& inputs);
  Status from_host(GstBuffer* frame, const Inputs& inputs);
  Result<FramePlanes> upload(const GstVideoFrame& frame, size_t slot);
  Status make_all(const FramePlanes& planes, const Inputs& inputs);
  Status make(const FramePlanes& planes, const Inputs& inputs, size_t number);
  Status make_picture(const FramePlanes& planes, std::span<const Crop> crops, size_t picture,
                      CUdeviceptr target);

  Pictures pictures_;
  GstVideoInfo info_;
  CudaContext home_;
  size_t slots_;
  std::shared_ptr<Side> side_;
};

namespace {

constexpr unsigned kMaxSessions = 4;  // sessions side by side, if nothing else is set

Result<std::shared_ptr<CudaModel>> shared_model(const SessionSpec& spec,
                                                const CudaContext& context) {
  static auto& shared = *new SharedModels<CudaModel>;
  return shared.get(spec, [&] { return CudaModel::open(spec, context); });
}

/// Returns the users of a model's sessions. @param spec of the first one.
Result<std::shared_ptr<Lanes>> shared_lanes(const SessionSpec& spec) {
  static auto& shared = *new SharedModels<Lanes>;
  return shared.get(spec,
                    []() -> Result<std::shared_ptr<Lanes>> { return std::make_shared<Lanes>(); });
}

/// Runs an element's frames in the batches of the model if there are any, else one by one.
class CudaInferencer : public Inferencer {
 public:
  explicit CudaInferencer(std::shared_ptr<CudaModel> model)
      : model_(std::move(model)), frames_(model_->spec().ahead + 1) {}

  ~CudaInferencer() override {
    drain();
    member_.reset();
    leave();
    if (lanes_) lanes_->leave(lane_);
  }

  const ModelDeclaration& declaration() const override { return model_->declaration(); }

  Status set_model(const ModelFacts& facts) override {
    facts_ = facts;
    KB_TRY(join(model_, facts));
    KB_TRY(choose_session(facts));
    const std::lock_guard guard(model_->turn());
    KB_ASSIGN(auto options, model_->run_options());
    options_ = std::move(options);
    runtime_ = &model_->runtime();
    follow();
    return {};
  }

  /// Work that was already launched goes on, as does a graph.
  void interrupt(bool on) override {
    const std::lock_guard guard(lock_);
    interrupted_ = on;
    runtime_->terminate(options_.get(), on);
    if (member_) member_->interrupt(on);
  }

  bool graph() const override {
    const std::lock_guard guard(model_->turn());
    return model_->graph();
  }
  std::optional<Error> no_batch_reason() const override {
    const std::lock_guard guard(model_->turn());
    return model_->no_batch_reason();
  }
  BatchCounts batch_counts() const override {
    const std::lock_guard guard(lock_);
    return member_ ? member_->counts() : BatchCounts{};
  }

  /// Drains the feed first, because the model may be reading its output. Takes the lock because
  /// another element's join() may be replacing the session.
  void drain() override {
    const std::lock_guard guard(model_->turn());
    model_->drain();
  }

  Status set_frames(Pictures pictures, const GstVideoInfo& info, unsigned max_pending) override {
    drain();
    KB_TRY(expect(max_pending, pictures.max_pictures, !pictures.crops));
    const size_t slots = std::max(kRunsInFlight, frames_);
    feed_ = std::make_unique<CudaFeed>(std::move(pictures), info, model_->context(), slots);
    return {};
  }

  /// A frame without a stream stays in the element while the GPU reads it, even if it is dropped.
  Result<std::unique_ptr<PendingFrame>> begin(GstBuffer* frame, uint64_t order,
                                              std::span<const Crop> crops) override {
    auto begun = start(frame, order, crops);
    if (!feed_->holds_frame(slot_)) return begun;
    auto held = std::make_unique<HeldFrame>(begun ? std::move(*begun) : nullptr, feed_->context(),
                                            feed_->kept_ready(slot_));
    if (!begun) return begun;
    return held;
  }

 private:
  /// Objects, of which a frame may have few, run in batches of any size; tiles in whole frames.
  Status join_on(CudaModel& model, const ModelFacts& facts) const {
    return whole_ ? model.join(facts, frames_, pictures_)
                  : model.join(facts, frames_ * pictures_, 1);
  }
  Status join(const std::shared_ptr<CudaModel>& model, const ModelFacts& facts) {
    KB_TRY(join_on(*model, facts));
    joined_ = true;
    return {};
  }
  void leave() {
    if (std::exchange(joined_, false)) model_->leave(frames_ * pictures_);
  }

  /// Returns the number of sessions that the elements of a model may use.
  unsigned max_sessions() const {
    const std::lock_guard guard(model_->turn());
    return model_->no_batch_reason() ? kMaxSessions : 1;
  }

  /// Moves to another session of a model that cannot run batches if that has fewer users. One that
  /// cannot be opened, such as for lack of memory, leaves the choice among those before it.
  Status choose_session(const ModelFacts& facts) {
    SessionSpec spec = model_->spec();
    KB_ASSIGN(lanes_, shared_lanes(spec));
    for (unsigned count = max_sessions();; count = lane_) {
      lane_ = lanes_->take(count);
      if (lane_ == 0) return {};
      spec.lane = lane_;
      const auto other = shared_model(spec, model_->context());
      if (other && join_on(**other, facts)) {
        leave();
        model_ = *other;
        joined_ = true;
        return {};
      }
      lanes_->leave(lane_);
    }
  }

  /// Takes part with that many frames of up to that many pictures from now on. @param whole all
  /// frames have that many.
  Status expect(unsigned frames, unsigned pictures, bool whole) {
    if (frames == frames_ && pictures == pictures_ && whole == whole_) return {};
    {
      const std::lock_guard guard(lock_);
      member_.reset();
    }
    leave();
    frames_ = frames;
    pictures_ = pictures;
    whole_ = whole;
    KB_TRY(join(model_, facts_));
    const std::lock_guard guard(model_->turn());
    follow();
    return {};
  }

  /// Takes part in the batches as soon as the model has any. @pre the model's turn is held.
  void follow() {
    auto batches = model_->batches();
    if (member_ || !batches) return;
    const std::lock_guard guard(lock_);
    const auto join = [model = model_](std::vector<std::vector<InferredTensor>> parts) {
      return model->joined(std::move(parts));
    };
    member_ = std::make_unique<BatchMember>(std::move(batches), frames_, pictures_, join);
    if (interrupted_) member_->interrupt(true);
  }

  Result<std::unique_ptr<PendingFrame>> start(GstBuffer* frame, uint64_t order,
                                              std::span<const Crop> crops) {
    if (!member_) {
      const std::lock_guard guard(model_->turn());
      follow();
      if (!member_) return run_alone(frame, crops);
    }
    slot_ = next_++ % frames_;
    const auto make = [&](std::span<const Batches::Slot> places,
                          unsigned first) -> Result<std::shared_ptr<void>> {
      std::vector<CUdeviceptr> inputs;
      for (const Batches::Slot& each : places) inputs.push_back(model_->input(each));
      KB_TRY(feed_->feed(frame, slot_, first, crops, inputs));
      return feed_->kept_ready(slot_);
    };
    return member_->begin(order, static_cast<unsigned>(feed_->pictures(crops)), make);
  }

  /// Runs the pictures of a frame one after the other.
  Result<std::unique_ptr<PendingFrame>> run_alone(GstBuffer* frame, std::span<const Crop> crops) {
    InferTimes times;
    std::vector<std::vector<InferredTensor>> parts;
    for (size_t i = 0; i < feed_->pictures(crops); ++i) {
      KB_ASSIGN(auto tensors, run_picture(frame, crops, i, times));
      parts.push_back(std::move(tensors));
    }
    if (parts.size() == 1) return std::make_unique<StartedFrame>(std::move(parts.front()), times);
    KB_ASSIGN(auto joined, model_->joined(std::move(parts)));
    return std::make_unique<StartedFrame>(std::move(joined), times);
  }

  /// @param times incremented by what an earlier picture took.
  Result<std::vector<InferredTensor>> run_picture(GstBuffer* frame, std::span<const Crop> crops,
                                                  size_t number, InferTimes& times) {
    const GstClockTime started = gst_util_get_timestamp();
    KB_ASSIGN(const CudaModel::InputSlot turn, model_->next());
    // A frame's upload is in the slot of its first picture.
    const size_t slot = number == 0 ? turn.slot : slot_;
    slot_ = slot;
    times.input_us += number == 0 ? feed_->microseconds(slot) : 0;
    times.model_us += turn.model_us;
    times.queued_us += static_cast<double>(gst_util_get_timestamp() - started) / GST_USECOND;
    KB_TRY(feed_->feed(frame, slot, number, crops, {{turn.input}}));
    return model_->run(turn.slot, feed_->ready(slot), options_.get());
  }

  std::shared_ptr<CudaModel> model_;
  unsigned frames_;        // pending at a time
  unsigned pictures_ = 1;  // maximum per frame
  bool whole_ = true;      // all frames have that many
  ModelFacts facts_;
  bool joined_ = false;
  std::shared_ptr<Lanes> lanes_;
  unsigned lane_ = 0;
  const OnnxRuntime* runtime_ = nullptr;
  OnnxRunOptions options_{nullptr, nullptr};
  mutable std::mutex lock_;  // guards member_ between its creation and calls of other threads
  std::unique_ptr<BatchMember> member_;
  bool interrupted_ = false;
  std::unique_ptr<CudaFeed> feed_;
  size_t next_ = 0;  // slot of the feed, in batches
  size_t slot_ = 0;  // of the last frame
};

}  // namespace

Result<std::unique_ptr<Inferencer>> make_cuda_inferencer(const SessionSpec& spec,
                                                         const CudaContext& context) {
  KB_ASSIGN(auto model, shared_model(spec, context));
  return std::make_unique<CudaInferencer>(std::move(model));
}

HeldFrame::~HeldFrame() {
  frame_.reset();
  (void)wait();
}

Result<std::vector<InferredTensor>> HeldFrame::finish() {
  auto tensors = frame_->finish();
  KB_TRY(wait());
  return tensors;
}

Status HeldFrame::wait() {
  const std::shared_ptr<void> read = std::exchange(read_, nullptr);
  if (!read) return {};
  const CudaScope scope(context_);
  KB_TRY(scope.status());
  return cuda_status(wait_shortly(static_cast<CUevent>(read.get())), "reading a frame");
}

namespace {

CUcontext handle_of(const CudaContext& context) {
  return static_cast<CUcontext>(
      gst_cuda().context_get_handle(reinterpret_cast<GstCudaContext*>(context.get())));
}

CUstream stream_of(GstBuffer* frame) {
  GstCudaStream* stream =
      gst_cuda().memory_get_stream(GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(frame, 0)));
  return stream != nullptr ? gst_cuda().stream_get_handle(stream) : nullptr;
}

Result<const Backend*> device_backend() {
  for (const Backend& backend : backends())
    if (backend.memory == MemorySpace::kCuda && backend.input_maker != nullptr) return &backend;
  return reject(ErrorKind::kNoResource, "This build of keepbox has no kernels for CUDA",
                "set provider=cpu, or build with ./dev build --cuda");
}

/// Returns the bytes of a plane up to its last sample. With an odd width, rows of Y U Y V are
/// longer than their number of Ys suggests.
size_t bytes_of(const GstVideoFrame& frame, guint plane) {
  gint components[GST_VIDEO_MAX_COMPONENTS];
  gst_video_format_info_component(frame.info.finfo, plane, components);
  const auto rows = static_cast<size_t>(GST_VIDEO_FRAME_COMP_HEIGHT(&frame, components[0]));
  size_t row = 0;
  for (const gint each : components) {
    if (each < 0) break;
    const auto last = static_cast<size_t>(GST_VIDEO_FRAME_COMP_WIDTH(&frame, each) - 1);
    row = std::max(row, GST_VIDEO_FRAME_COMP_POFFSET(&frame, each) +
                            last * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, each) + 1);
  }
  return (rows - 1) * static_cast<size_t>(GST_VIDEO_FRAME_PLANE_STRIDE(&frame, plane)) + row;
}

constexpr size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

}  // namespace

CudaFeed::Side::~Side() {
  const CudaScope scope(context);
  if (scope.status() && stream.get() != nullptr) cuda_driver().stream_synchronize(stream.get());
  makers.clear();
  crop_maker.reset();
}

CudaFeed::~CudaFeed() = default;

Result<std::unique_ptr<CudaFeed::Side>> CudaFeed::make_side(const CudaContext& context) const {
  auto side = std::make_unique<Side>();
  side->context = context;
  const CudaScope scope(context);
  KB_TRY(scope.status());
  // Inputs are short, and are needed before the current run ends.
  KB_ASSIGN(side->stream, make_stream(context, StreamPriority::kHigh));
  KB_ASSIGN(side->order, make_event(context, EventUse::kOrder));
  KB_ASSIGN(const auto backend, device_backend());
  for (const PicturePlan& each : pictures_.plans) {
    KB_ASSIGN(auto maker, backend->input_maker(each.plan));
    side->makers.push_back(std::move(maker));
  }
  if (pictures_.crops) {
    KB_ASSIGN(side->crop_maker, backend->crop_maker(*pictures_.crops));
  }
  for (size_t i = 0; i < slots_; ++i) {
    KB_ASSIGN(auto begun, make_event(context, EventUse::kTime));
    KB_ASSIGN(auto ready, make_event(context, EventUse::kWaiting));
    side->events.push_back({std::move(begun), std::move(ready)});
  }
  side->uploaded.resize(slots_);
  side->planes.resize(slots_);
  side->other_context.resize(slots_ * pictures_.max_pictures);
  return side;
}

Status CudaFeed::feed(GstBuffer* frame, size_t slot, size_t first, std::span<const Crop> crops,
                      std::span<const CUdeviceptr> inputs) {
  const CudaContext of_frame = CudaContext::of(frame);
  const CudaContext& context = of_frame ? of_frame : home_;
  if (!side_ || side_->context != context) {
    KB_ASSIGN(auto side, make_side(context));
    side_ = std::move(side);
  }
  const CudaScope scope(context);
  KB_TRY(scope.status());
  const Inputs wanted{slot, first, crops, inputs};
  const Status fed = of_frame ? from_device(frame, wanted) : from_host(frame, wanted);
  // The frame leaves, and what was enqueued before the error may read it.
  if (!fed) cuda_driver().stream_synchronize(side_->stream.get());
  return fed;
}

Status CudaFeed::from_device(GstBuffer* buffer, const Inputs& inputs) {
  const CudaDriver& cuda = cuda_driver();
  const CUstream producer = stream_of(buffer);
  MappedFrame frame;
  KB_TRY(frame.map(buffer, info_, kReadCuda));
  if (producer != nullptr) {
    KB_TRY(cuda_status(cuda.event_record(side_->order.get(), producer), "ordering streams"));
    KB_TRY(cuda_status(cuda.stream_wait(side_->stream.get(), side_->order.get(), 0),
                       "ordering streams"));
  }
  KB_TRY(make_all(planes_of(frame.get()), inputs));
  Events& events = side_->events[inputs.slot];
  events.holds_frame = producer == nullptr;
  if (events.holds_frame) return {};
  return cuda_status(cuda.stream_wait(producer, events.ready.get(), 0), "ordering streams");
}

/// Uploads a frame once for all of its pictures.
Status CudaFeed::from_host(GstBuffer* buffer, const Inputs& inputs) {
  if (inputs.first == 0) {
    MappedFrame frame;
    KB_TRY(frame.map(buffer, info_, GST_MAP_READ));
    KB_ASSIGN(side_->planes[inputs.slot], upload(frame.get(), inputs.slot));
  }
  return make_all(side_->planes[inputs.slot], inputs);
}

/// Uploads a frame. A copy from page-locked memory goes on when this returns; others have read it.
Result<FramePlanes> CudaFeed::upload(const GstVideoFrame& frame, size_t slot) {
  FramePlanes planes = planes_of(frame);
  size_t total = 0;
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) total += aligned(bytes_of(frame, i));
  DeviceMemory& memory = side_->uploaded[slot];
  if (memory.bytes() < total) {
    KB_ASSIGN(auto made, allocate(side_->context, total));
    memory = std::move(made);
  }
  size_t at = 0;
  bool& pinned = side_->events[slot].holds_frame;
  pinned = false;
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&frame); ++i) {
    const size_t bytes = bytes_of(frame, i);
    pinned = pinned || is_pinned(planes.data[i]);
    KB_TRY(cuda_status(
        cuda_driver().copy_in(memory.get() + at, planes.data[i], bytes, side_->stream.get()),
        "uploading a frame"));
    planes.data[i] = reinterpret_cast<const uint8_t*>(memory.get() + at);
    at += aligned(bytes);
  }
  return planes;
}

Status CudaFeed::make_all(const FramePlanes& planes, const Inputs& inputs) {
  const CudaDriver& cuda = cuda_driver();
  const CUstream stream = side_->stream.get();
  Events& events = side_->events[inputs.slot];
  if (inputs.first == 0)
    KB_TRY(cuda_status(cuda.event_record(events.begun.get(), stream), "recording an event"));
  for (size_t i = 0; i < inputs.at.size(); ++i) KB_TRY(make(planes, inputs, i));
  events.used = true;
  return cuda_status(cuda.event_record(events.ready.get(), stream), "recording an event");
}

Status CudaFeed::make_picture(const FramePlanes& planes, std::span<const Crop> crops,
                              size_t picture, CUdeviceptr target) {
  auto* const input = reinterpret_cast<void*>(target);
  const CUstream stream = side_->stream.get();
  if (pictures_.crops) return side_->crop_maker->make(planes, crops[picture], input, stream);
  const auto& [plan, area] = pictures_.plans[picture];
  return side_->makers[picture]->make(planes_at(planes, plan.frame, area.x, area.y), input, stream);
}

/// Makes the input of a picture of `inputs`, by way of memory in the frame's context if that is not
/// the home context.
Status CudaFeed::make(const FramePlanes& planes, const Inputs& inputs, size_t number) {
  const size_t picture = inputs.first + number;
  const CUdeviceptr input = inputs.at[number];
  if (side_->context == home_) return make_picture(planes, inputs.crops, picture, input);
  const size_t bytes =
      (pictures_.crops ? pictures_.crops->input : pictures_.plans[picture].plan.input).bytes();
  DeviceMemory& other_context =
      side_->other_context[inputs.slot * pictures_.max_pictures + picture];
  if (other_context.get() == 0) {
    KB_ASSIGN(other_context, allocate(side_->context, bytes));
  }
  KB_TRY(make_picture(planes, inputs.crops, picture, other_context.get()));
  return cuda_status(
      cuda_driver().copy_across(input, handle_of(home_), other_context.get(),
                                handle_of(side_->context), bytes, side_->stream.get()),
      "copying an input to the model's context");
}

double CudaFeed::microseconds(size_t slot) const {
  float milliseconds = 0;
  if (!side_ || !side_->events[slot].used) return 0;
  const CudaScope scope(side_->context);
  const Events& events = side_->events[slot];
  const CUresult result =
      cuda_driver().event_elapsed(&milliseconds, events.begun.get(), events.ready.get());
  return result == CUDA_SUCCESS ? milliseconds * 1e3 : 0;
}

}  // namespace keepbox
