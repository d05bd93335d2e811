// SPDX-License-Identifier: LGPL-2.1-or-later
// Passes a frame's tensors from the intake by the planner to the processor, and falls back to the
// CPU.
#include "gst/decode/decoder.h"

#include <bit>
#include <string>
#include <utility>

#include "core/plan/plan.h"
#include "core/recognition/recognise.h"
#include "gst/base/error.h"
#include "gst/decode/decodequeries.h"
#include "gst/metas/skippedmodels.h"
#include "gst/tensors/decodednote.h"

namespace keepbox {

Decoder::Decoder(GstElement* element, const std::atomic<bool>* stop, Decoder& like)
    : stream_{.element = element, .warned = like.stream_.warned},
      stop_(stop),
      device_(element, like.device_.shared()),
      shares_device_(true) {
  set_props(like.props());
  device_.start();
}

/// True if the processor cannot take the changes of these properties.
bool Decoder::needs_plan(const DecodeProps& props) const {
  const bool same_classes = props.include_classes == stream_.props.include_classes &&
                            props.exclude_classes == stream_.props.exclude_classes;
  const bool labels = processor_ && processor_->plan().rules.multi_label;  // sized for the classes
  return !only_tuned(props, stream_.props) || (labels && !same_classes);
}

/// Warns if the model's input, which was prepared for the family so far, is unlike that of the new
/// one.
void Decoder::check_input(const std::string& detector) {
  if (!processor_ || detector == stream_.props.detector) return;
  const auto wanted = wanted_family(detector);
  const InputRule& input = processor_->plan().spec->input;
  if (!wanted || !wanted->input.known() || !input.known()) return;
  const std::string asked = input_text(wanted->input), given = input_text(input);
  if (asked == given) return;
  stream_.warn_once(problem(ErrorKind::kMismatch,
                            "detector=" + detector + " is for models with another input (" + asked +
                                ") than " + std::string(processor_->plan().spec->name) + " (" +
                                given + ")",
                            "set the input of the inference element accordingly, or stop and "
                            "start the pipeline: tensorinfer takes its input from detector= when "
                            "it starts"));
}

void Decoder::set_props(DecodeProps props) {
  if (started_)
    for (const Error& wrong : stream_.files.revert_invalid(props, stream_.props))
      post_warning(stream_.element, wrong);
  if (props == stream_.props) return;
  if (started_) check_input(props.detector);
  if (started_ && props.tensor_ids != stream_.props.tensor_ids)
    intake_.doubt_ids(stream_.props.tensor_ids);
  if (needs_plan(props)) {
    drop_processor();
    planner_.forget_family();
  } else {
    tuned_ = true;
  }
  if (props.threads != stream_.props.threads) threads_ = make_worker_threads(props.threads);
  if (props.quantization != stream_.props.quantization)
    intake_.set_quantization(props.quantization);
  stream_.props = std::move(props);
  device_.set_props(stream_.props);
}

void Decoder::set_picture(const Picture& picture) {
  drop_processor();
  images_.forget_parts();
  stream_.picture = picture;
}

Status Decoder::start() {
  device_.start();
  planner_.start();
  stream_.warned->clear();
  KB_TRY(stream_.files.check(stream_.props));
  KB_TRY(intake_.check());
  return device_.check();
}

void Decoder::stop() {
  started_ = false;
  scores_ = {};
  empty_frames_ = 0;
  intake_.forget();
  drop_processor();
  images_.stop();
  planner_.forget_family();
  if (!shares_device_) device_.stop();
  stream_.files = {};
}

void Decoder::drop_processor() {
  processor_.drop();
  device_.forget_plan();
}

Status Decoder::retune() {
  if (!std::exchange(tuned_, false) || !processor_) return {};
  const Status retuned = planner_.retune(processor_);
  tuned_ = !retuned;  // the processor may be partly changed
  return retuned;
}

Status Decoder::decode(GstBuffer* buffer) {
  device_.clear_failed();
  Status done = attempt(buffer);
  if (!done && processor_.on_device()) {
    if (device_.automatic()) done = decode_on_cpu(buffer, done.error());
    else device_.note_failure(done);
  }
  if (done) return done;
  images_.clear();
  mark_undecodable(buffer);
  return done;
}

Status Decoder::attempt(GstBuffer* buffer) {
  begin_frame();
  device_.begin_frame();
  FrameTensors tensors;
  KB_TRY(intake_.take(buffer, tensors));
  skipped_ = intake_.skipped();
  if (skipped_) {
    images_.skip(buffer);
    return {};
  }
  KB_TRY(explained(make_ready(tensors), tensors));
  KB_TRY(images_.decode(buffer, tensors));
  end_frame(buffer, tensors, route_of(tensors));
  count_scores(tensors);
  return {};
}

/// Counts the scores that are not finite if none passed the threshold, on fewer and fewer frames: a
/// model whose float16 numbers overflow does so from some frame on.
void Decoder::count_scores(FrameTensors& tensors) {
  const Funnel& funnel = images_.funnel();
  if (funnel.above_threshold != 0 || funnel.anchors == 0) return;
  if (!std::has_single_bit(++empty_frames_)) return;
  const Plan& plan = processor_->plan();
  if (device_.map(tensors, plan.reads, MemorySpace::kSystem))
    scores_ = keepbox::count_scores(plan.layout, tensors.views());
}

/// Forgets the results of the last frame.
void Decoder::begin_frame() {
  images_.clear();
  route_ = Route::kHost;
  planned_ = skipped_ = false;
}

/// Notes a frame that is decoded.
void Decoder::end_frame(GstBuffer* buffer, const FrameTensors& tensors, Route route) {
  route_ = route;
  intake_.mark_decoded(buffer, tensors, processor_->plan(), processor_.source());
  intake_.set_decoded(processor_.source());
  started_ = true;
}

std::optional<PreparedFrame> Decoder::prepare(GstBuffer* buffer) {
  auto tensors = std::make_unique<FrameTensors>();
  device_.begin_frame();
  if (!intake_.take(buffer, *tensors) || intake_.skipped()) return std::nullopt;
  const auto ready = map_for_processor(*tensors);
  if (!ready || !*ready || processor_.of_objects() || !can_join(processor_->plan()))
    return std::nullopt;
  for (const TensorView& view : tensors->views())
    if (!check_bounds(view)) return std::nullopt;
  const Route route = route_of(*tensors);
  return PreparedFrame{std::move(tensors), processor_->plan().letterbox, route,
                       processor_.number().tuned};
}

Status Decoder::take(GstBuffer* buffer, const PreparedFrame& frame, const Processor& joint,
                     uint32_t number) {
  begin_frame();
  if (!processor_ || frame.processor != processor_.number().tuned)
    return reject(ErrorKind::kMismatch, "The frame was prepared for another plan");
  processor_.follow(*frame.tensors);
  KB_TRY(images_.take(joint, number));
  end_frame(buffer, *frame.tensors, frame.route);
  count_scores(*frame.tensors);
  return {};
}

/// Maps the tensors for the processor. @return false if there is none for them, or if they are not
/// where it expects them.
Result<bool> Decoder::map_for_processor(FrameTensors& tensors) {
  KB_TRY(retune());
  if (!processor_.fits(tensors)) return false;
  processor_.follow(tensors);
  KB_TRY(device_.map(tensors, processor_->plan().reads, device_.wanted_memory()));
  return processor_.reaches(tensors);
}

/// Maps the tensors for the processor, which is made again if necessary.
Status Decoder::make_ready(FrameTensors& tensors) {
  KB_ASSIGN(const bool ready, map_for_processor(tensors));
  return ready ? Status{} : replan(tensors);
}

/// Plans for the tensors and makes the processor, on the CPU if the device cannot run the plan.
Status Decoder::replan(FrameTensors& tensors) {
  planned_ = true;
  tuned_ = false;
  KB_ASSIGN(PlannedTensors planned, planner_.plan(tensors));
  const std::vector<uint32_t> reads = planned.plan.reads;
  KB_TRY(device_.map(tensors, reads, device_.wanted_memory()));
  if (processor_.replaces(planned, tensors)) {
    processor_.set_source(std::move(planned.source));
    return {};
  }
  drop_processor();
  KB_TRY(device_.map(tensors, reads, device_.wanted_memory()));  // the device may be usable again
  if (tensors.context() && device_.automatic()) {
    const Status made = make_processor(planned, tensors);
    if (made) return {};
    if (made.error().kind == ErrorKind::kUnsupported) device_.set_unsupported(made.error());
    else device_.leave(made.error());
    KB_TRY(device_.map(tensors, reads, MemorySpace::kSystem));
  }
  const Status made = make_processor(planned, tensors);
  device_.note_failure(made);
  return made;
}

Status Decoder::make_processor(const PlannedTensors& planned, const FrameTensors& tensors) {
  KB_ASSIGN(DeviceContext home, device_.context_for(tensors));
  const DeviceScope scope(home);
  KB_TRY(scope.status());
  KB_ASSIGN(Selection backend, device_.select(planned.plan, tensors.space()));
  KB_TRY(processor_.make(planned,
                         {std::move(backend), tensors.space(), std::move(home), threads_, stop_}));
  images_.set_labels(stream_.files.labels());
  device_.log_unsupported();
  planner_.announce(*processor_);
  return {};
}

bool Decoder::skipped_by_model(GstBuffer* buffer) const {
  // Without boxes of a model that skipped the frame, there was nothing to look at for one of
  // objects.
  const bool unseen =
      skipped_ ? was_skipped(buffer) || SkippedModels(buffer).any() : images_.held();
  return unseen || images_.incomplete();
}

void Decoder::count(DecodeStats& stats, bool decoded, GstClockTime time) {
  if (decoded && skipped_) {
    stats.add_skipped(time);
  } else {
    if (decoded && planned_) stats.set_processor(*processor_);
    stats.add(decoded ? &images_.funnel() : nullptr, route_, images_.boxes().size(),
              images_.weak().size(), time);
  }
  stats.set_scores(std::exchange(scores_, {}));
  stats.add_runs(images_.runs());
  stats.set_image_boxes(images_.image_boxes());
}

Route Decoder::route_of(const FrameTensors& tensors) const {
  if (device_.downloaded()) return Route::kDownloaded;
  if (!processor_.on_device()) return Route::kHost;
  return tensors.context() ? Route::kZeroCopy : Route::kUploaded;
}

/// Marks this decoder's tensors even if they could not be decoded, so that the next one skips them.
void Decoder::mark_undecodable(GstBuffer* buffer) const {
  FrameTensors tensors;
  if (!intake_.list_tensors(buffer, tensors)) return;
  if (processor_.fits(tensors))
    intake_.mark_decoded(buffer, tensors, processor_->plan(), processor_.source());
  else intake_.mark_undecodable(buffer, tensors);
}

/// Decodes the same frame again. If that fails too, the cause is the tensors, not the device.
Status Decoder::decode_on_cpu(GstBuffer* buffer, const Error& device) {
  device_.avoid(device);
  const Status again = attempt(buffer);
  if (again) {
    device_.leave(device);
    return {};
  }
  if (device_.failed()) return std::unexpected(device);  // its memory went with it
  device_.retry();
  return again;
}

}  // namespace keepbox
