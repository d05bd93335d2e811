// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes the frames of a stream, alone or in joint runs with other streams.
#include "gst/decode/decoder.h"
#include "core/model/detector_text.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "core/model/detector.h"
#include "core/plan/plan.h"
#include "core/recognition/recognise.h"
#include "gst/base/error.h"
#include "gst/metas/skippedmodels.h"

namespace keepbox {

Decoder::Decoder(GstElement* element, const std::atomic<bool>* stop, Decoder& like)
    : stream_{.element = element, .warned = like.stream_.warned},
      stop_(stop),
      device_(element, like.device_.shared()),
      shares_device_(true) {
  set_props(like.props(), like.stream_.files);
  device_.start();
}

/// True if the processor cannot take the changes of these properties.
bool Decoder::needs_plan(const DecodeProps& props) const {
  const bool same_classes = props.include_classes == stream_.props.include_classes;
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

void Decoder::set_props(const DecodeProps& props, const DecodeFiles& files) {
  stream_.files = files;
  if (props == stream_.props) return;
  if (started_) check_input(props.detector);
  if (needs_plan(props)) {
    drop_processor();
    planner_.forget_family();
  } else {
    tuned_ = true;
  }
  if (props.threads != stream_.props.threads) threads_ = make_worker_threads(props.threads);
  if (props.quantization != stream_.props.quantization)
    intake_.set_quantization(props.quantization);
  stream_.props = props;
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
  stream_.names = {};
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
  images_.set_labels(stream_.labels());
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

void remove_tensors_from_caps(GstQuery* query) {
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
}

std::optional<WantedFamily> wanted_family(const std::string& detector) {
  if (const DetectorSpec* spec = find_detector(detector))
    return WantedFamily{detector, spec->input, std::string(spec->input.caveat)};
  if (!means_detector_file(detector)) return std::nullopt;
  const auto file = load_detector(detector);
  if (!file) return std::nullopt;
  InputRule input = file->family->input;
  const std::string caveat(std::exchange(input.caveat, {}));
  return WantedFamily{detector, input, caveat};
}

JointProcessor* FrameGroup::joint_for(const StreamProcessor& processor) {
  for (const auto& each : joints_)
    if (each->takes(processor)) return each.get();
  return joints_.emplace_back(std::make_unique<JointProcessor>(processor)).get();
}

void FrameGroup::add(Decoder& decoder, GstBuffer* frame) {
  const GstClockTime started = gst_util_get_timestamp();
  Entry& entry = entries_.emplace_back(&decoder, frame, 0, decoder.prepare(frame));
  if (entry.prepared) entry.joint = joint_for(decoder.stream_processor());
  entry.spent = gst_util_get_timestamp() - started;
}

/// Returns the frames that can be in a run with a prepared one and are not before it.
std::vector<FrameGroup::Entry*> FrameGroup::run_of(size_t first) {
  std::vector<Entry*> out{&entries_[first]};
  for (Entry& each : std::span(entries_).subspan(first + 1)) {
    if (!each.prepared || each.joint != out.front()->joint) continue;
    const bool fits = out.size() < JointProcessor::kMost &&
                      each.joint->follows(*out.back()->prepared, *each.prepared);
    if (!fits) break;
    out.push_back(&each);
  }
  return out;
}

/// Runs a prepared frame with those that can be in its run. Frames that cannot be run together are
/// not prepared any more. @return kInterrupted if stopped.
Status FrameGroup::run_from(size_t first) {
  const GstClockTime started = gst_util_get_timestamp();
  const std::vector<Entry*> run = run_of(first);
  std::vector<const PreparedFrame*> frames;
  for (const Entry* each : run) frames.push_back(&*each->prepared);
  const bool together = run.size() > 1;
  const Status ran = together ? run.front()->joint->run(frames) : Status{};
  if (!ran && ran.error().kind == ErrorKind::kInterrupted) return ran;
  const GstClockTime share = (gst_util_get_timestamp() - started) / run.size();
  for (uint32_t i = 0; i < run.size(); ++i) {
    run[i]->spent += share;
    run[i]->number = i;
    run[i]->ran = together && ran;
    if (!run[i]->ran) run[i]->prepared.reset();
  }
  return {};
}

/// Decodes a frame, or takes its boxes from the run that it is in. A decoder takes none if it has
/// made another plan since, for a frame before.
Status FrameGroup::complete(Entry& entry) {
  if (entry.ran) {
    const Status taken =
        entry.decoder->take(entry.frame, *entry.prepared, **entry.joint, entry.number);
    entry.prepared.reset();  // before the frame gets metas
    if (taken) return taken;
  }
  return entry.decoder->decode(entry.frame);
}

GstFlowReturn FrameGroup::finish(const Finish& finish) {
  GstFlowReturn flow = GST_FLOW_OK;
  for (size_t i = 0; i < entries_.size() && flow == GST_FLOW_OK; ++i) {
    Entry& entry = entries_[i];
    const Status ran = entry.prepared && !entry.ran ? run_from(i) : Status{};
    const GstClockTime started = gst_util_get_timestamp();
    const Status status = ran ? complete(entry) : ran;
    flow = finish(*entry.decoder, entry.frame, status, started - entry.spent);
  }
  entries_.clear();
  return flow;
}

void FrameGroup::keep_for(std::span<const Decoder* const> decoders) {
  std::vector<ProcessorNumber> numbers;
  for (const Decoder* each : decoders) numbers.push_back(each->stream_processor().number());
  std::erase_if(joints_, [&](const auto& joint) { return !joint->keep(numbers); });
}

void FrameGroup::clear() {
  entries_.clear();
  joints_.clear();
}

JointProcessor::JointProcessor(const StreamProcessor& like)
    : plan_(like->plan()), site_(like.site()), alike_{like.number()} {}

bool JointProcessor::keep(std::vector<ProcessorNumber>& numbers) {
  std::erase_if(alike_,
                [&](const ProcessorNumber& each) { return std::erase(numbers, each) == 0; });
  return !alike_.empty();
}

bool JointProcessor::takes(const StreamProcessor& other) {
  const ProcessorNumber& number = other.number();
  if (std::ranges::contains(alike_, number)) return true;
  if (!are_alike(site_, other.site())) return false;
  if (are_alike(plan_, other->plan())) {
    alike_.push_back(number);
    return true;
  }
  const bool tuned = std::ranges::contains(alike_, number.made, &ProcessorNumber::made);
  if (tuned) retune(other);
  return tuned;
}

void JointProcessor::retune(const StreamProcessor& like) {
  plan_ = like->plan();
  alike_ = {like.number()};
  if (!processor_) return;
  const DeviceScope scope(site_.memory_context);
  made_ = scope.status() ? processor_->retune_joint(plan_) : scope.status();
}

bool JointProcessor::follows(const PreparedFrame& frame, const PreparedFrame& next) const {
  return site_.memory == MemorySpace::kSystem ||
         are_adjacent(frame.tensors->views(), next.tensors->views());
}

Status JointProcessor::make(size_t frames) {
  drop();
  KB_ASSIGN(processor_, site_.make(joint_plan(plan_, static_cast<uint32_t>(frames))));
  return {};
}

Status JointProcessor::run(std::span<const PreparedFrame* const> frames) {
  const DeviceScope scope(site_.memory_context);
  KB_TRY(scope.status());
  if (made_ && (!processor_ || processor_->plan().frames() < frames.size()))
    made_ = make(frames.size());
  KB_TRY(made_);
  std::vector<Letterbox> maps;
  std::vector<TensorView> tensors;
  for (const PreparedFrame* each : frames) {
    maps.push_back(each->map);
    tensors.insert(tensors.end(), each->tensors->views().begin(), each->tensors->views().end());
  }
  processor_->set_maps(maps);
  return processor_->run(tensors);
}

void JointProcessor::drop() {
  const DeviceScope scope(site_.memory_context);
  processor_.reset();
}

}  // namespace keepbox
