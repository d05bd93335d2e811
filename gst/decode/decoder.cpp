// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses where a frame is decoded, keeps the processor for it, and falls back to the CPU.
#include "gst/decode/decoder.h"

#include <algorithm>

#include "core/evidence.h"
#include "gst/base/enums.h"
#include "gst/base/error.h"
#include "gst/decode/decodeenums.h"

GST_DEBUG_CATEGORY_EXTERN(boxdecode_debug);
#define GST_CAT_DEFAULT boxdecode_debug

namespace keepbox {
namespace {

constexpr const char* kWithoutCuda = "set backend=auto";

bool takes_cuda(std::string_view name) {
  const Backend* backend = find_backend(name);
  return backend != nullptr && backend->memory == MemorySpace::kCuda;
}

bool have_cuda_backend() {
  return std::ranges::contains(backends(), MemorySpace::kCuda, &Backend::memory);
}

}  // namespace

void Decoder::set_props(DecodeProps props) {
  drop_processor();
  if (props.cuda_device_id != props_.cuda_device_id) cuda_.clear();
  if (props.backend != props_.backend) failed_.clear();
  if (props.threads != props_.threads) crew_ = make_thread_crew(props.threads);
  props_ = std::move(props);
  backend_ = wanted_backend(chosen_backend());
}

std::string Decoder::chosen_backend() const { return nick_of(backend_type(), props_.backend); }

void Decoder::set_picture(const Picture& picture) {
  drop_processor();
  picture_ = picture;
}

Status Decoder::start() {
  device_failed_ = false;
  failed_.clear();
  announced_.clear();
  told_.clear();
  warned_.clear();
  KB_TRY(load_labels());
  if (!takes_cuda(backend_)) return {};
  auto context = cuda_.ensure(element_, props_.cuda_device_id, kWithoutCuda);
  device_failed_ = !context;
  if (!context) return std::unexpected(context.error());
  return {};
}

void Decoder::stop() {
  drop_processor();
  cuda_.clear();
  labels_path_.clear();
  labels_ = Labels();
}

/// In the context that it was made in, which must outlast that: the last reference destroys it.
void Decoder::drop_processor() {
  {
    const CudaScope scope(home_);
    processor_.reset();
  }
  home_ = {};
  unsupported_.clear();
}

Status Decoder::load_labels() {
  if (props_.label_file == labels_path_) return {};
  labels_ = Labels();
  labels_path_ = props_.label_file;
  if (labels_path_.empty()) return {};
  auto labels = Labels::load(labels_path_.c_str());
  if (!labels) {
    labels_path_.clear();  // so that the next frame tries, and fails, again
    return std::unexpected(labels.error());
  }
  labels_ = std::move(*labels);
  return {};
}

MemorySpace Decoder::wanted_memory() const {
  const bool device = automatic() ? failed_.empty() && unsupported_.empty() && have_cuda_backend()
                                  : takes_cuda(backend_);
  return device ? MemorySpace::kCuda : MemorySpace::kSystem;
}

bool Decoder::fits(const FrameTensors& tensors) const {
  if (!processor_ || reads_ != tensors.space()) return false;
  if (tensors.context() && tensors.context() != home_) return false;
  return processor_->plan().holds_for(tensors.views());
}

Status Decoder::decode(GstBuffer* buffer) {
  device_failed_ = false;
  const Status done = attempt(buffer);
  if (done || !on_device()) return done;
  if (automatic()) return decode_on_cpu(buffer, done.error());
  device_failed_ = done.error().kind == ErrorKind::kNoResource;
  return done;
}

Status Decoder::fetch(GstBuffer* buffer, MemorySpace preferred, FrameTensors& tensors) {
  Status mapped = tensors.map(buffer, preferred);
  device_failed_ = !mapped && mapped.error().kind == ErrorKind::kNoResource;
  return mapped;
}

Status Decoder::attempt(GstBuffer* buffer) {
  boxes_.clear();
  route_ = Route::kHost;
  planned_now_ = false;
  FrameTensors tensors;
  KB_TRY(fetch(buffer, wanted_memory(), tensors));
  if (!fits(tensors)) KB_TRY(prepare(buffer, tensors));
  const CudaScope scope(home_);
  KB_TRY(scope.status());
  KB_TRY(processor_->run(tensors.views()));
  if (const Plan& plan = processor_->plan(); !processor_->detections().empty())
    KB_TRY(believe(plan, check_best_score(plan.layout, processor_->detections()[0].score)));
  if (tensors.downloaded() || (tensors.context() && planned_now_)) route_ = Route::kDownloaded;
  else if (on_device()) route_ = tensors.context() ? Route::kZeroCopy : Route::kUploaded;
  for (const Detection& det : processor_->detections())
    boxes_.push_back({.box = det.box,
                      .score = det.score,
                      .angle = det.angle,
                      .label = labels_.quark(det.class_id),
                      .class_id = det.class_id,
                      .anchor = det.anchor});
  return {};
}

/// The same frame again. If it fails here too, the tensors are to blame rather than the device.
Status Decoder::decode_on_cpu(GstBuffer* buffer, const Error& device) {
  failed_ = device.message();
  const Status again = attempt(buffer);
  if (again) {
    leave_device(device);
    return {};
  }
  if (device_failed_) return std::unexpected(device);  // its memory went with it
  failed_.clear();
  return again;
}

void Decoder::leave_device(const Error& error) {
  failed_ = error.message();
  const std::string hint = error.hint.empty() ? "" : error.hint + "; ";
  post_warning(element_, {error.kind, error.expected, error.found,
                          hint + "this and later frames are decoded on the CPU"});
}

/// Frames whose numbers say nothing of their units yet go on with the processor that there is.
bool Decoder::goes_on(GstBuffer* buffer, const FrameTensors& tensors) {
  if (!processor_ || !processor_->plan().provisional || reads_ != tensors.space()) return false;
  if (tensors.context() && tensors.context() != home_) return false;
  const auto plan = plan_for(buffer, tensors);
  return plan && plan->provisional && plan->forms == processor_->plan().forms;
}

Status Decoder::prepare(GstBuffer* buffer, FrameTensors& tensors) {
  if (goes_on(buffer, tensors)) return {};
  drop_processor();
  KB_TRY(fetch(buffer, wanted_memory(), tensors));
  auto plan = plan_for(buffer, tensors);
  if (!plan) return std::unexpected(plan.error());
  if (tensors.context() && automatic()) {
    const Status made = make_processor(*plan, tensors);
    if (made) return {};
    if (made.error().kind == ErrorKind::kUnsupported) unsupported_ = made.error().message();
    else leave_device(made.error());
    KB_TRY(fetch(buffer, MemorySpace::kSystem, tensors));
  }
  const Status made = make_processor(std::move(*plan), tensors);
  device_failed_ = !made && takes_cuda(backend_) && made.error().kind == ErrorKind::kNoResource;
  return made;
}

Result<Plan> Decoder::plan_for(GstBuffer* buffer, const FrameTensors& tensors) {
  KB_TRY(load_labels());
  auto settings = resolve(props_, labels_, picture_);
  if (!settings) return std::unexpected(settings.error());
  planned_now_ = true;
  // The numbers tell the units. From a device they are fetched for this once, or the plan would
  // stay provisional and be made for every frame.
  FrameTensors fetched;
  if (tensors.context()) KB_TRY(fetch(buffer, MemorySpace::kSystem, fetched));
  auto plan = make_plan(*settings, tensors.context() ? fetched.views() : tensors.views());
  if (plan && plan->layout.images != 1)
    return fail(ErrorKind::kUnsupported, "tensors of one frame (batch 1)",
                "a batch of " + std::to_string(plan->layout.images), "infer one frame at a time");
  return plan;
}

Result<CudaContext> Decoder::home_for(const FrameTensors& tensors) {
  if (tensors.context()) {
    cuda_.adopt(tensors.context());
    return tensors.context();
  }
  if (!takes_cuda(backend_)) return CudaContext();
  return cuda_.ensure(element_, props_.cuda_device_id, kWithoutCuda);
}

Status Decoder::make_processor(Plan plan, const FrameTensors& tensors) {
  auto home = home_for(tensors);
  if (!home) return std::unexpected(home.error());
  const CudaScope scope(*home);
  KB_TRY(scope.status());
  auto selection = select_backend(chosen_backend(), plan, tensors.space());
  if (!selection) return std::unexpected(selection.error());
  if (const std::string& why = failed_.empty() ? unsupported_ : failed_; !why.empty())
    selection->reason += "; not on the device: " + why;
  auto processor = Processor::create(std::move(plan), std::move(*selection), tensors.space(),
                                     crew_.get());
  if (!processor) return std::unexpected(processor.error());
  processor_ = std::move(*processor);
  home_ = std::move(*home);
  reads_ = tensors.space();
  announce();
  return {};
}

/// A family that was set counts whatever the numbers say, but not without a word.
Status Decoder::believe(const Plan& plan, const Status& numbers) {
  if (numbers || !plan.detector_set) return numbers;
  warn_once(numbers.error());
  return {};
}

void Decoder::warn_once(const Error& error) {
  if (warned_.insert(error.expected).second) post_warning(element_, error);
}

void Decoder::announce() {
  const Plan& plan = processor_->plan();
  for (const Error& warning : plan.warnings) warn_once(warning);
  if (unsupported_ != told_ && !unsupported_.empty())
    GST_WARNING_OBJECT(element_, "decoding on the CPU: %s", unsupported_.c_str());
  told_ = unsupported_;
  if (plan.remark == announced_) return;
  announced_ = plan.remark;
  check_label_count(plan);
  GST_INFO_OBJECT(element_, "%s; input %ux%u; backend %s (%s)", plan.remark.c_str(),
                  plan.letterbox.model.width, plan.letterbox.model.height,
                  std::string(processor_->backend().name).c_str(),
                  processor_->backend_reason().c_str());
}

/// Names that do not fit the classes are wrong names, or the wrong family: both go unseen.
void Decoder::check_label_count(const Plan& plan) {
  const uint32_t labels = labels_.size(), classes = plan.end_class - plan.first_class;
  // With background first, its name may stand in the file or not.
  if (labels == 0 || classes == 0 || labels == classes || labels == plan.end_class) return;
  post_warning(element_, {ErrorKind::kMismatch, "as many labels as classes",
                          std::to_string(labels) + " in " + labels_path_ + " and " +
                              std::to_string(classes) + " in " + plan.remark,
                          "set label-file= or detector="});
}

}  // namespace keepbox
