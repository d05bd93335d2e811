// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses where a frame is decoded, keeps the processor for it, and falls back to the CPU.
#include "gst/decode/decoder.h"

#include <algorithm>
#include <numeric>
#include <utility>

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

/// Is a tensor of that id, which no plan is for, meant for this decoder? One that tensor-ids asks for
/// is; without such a list those that a later decoder could not ask for either.
bool is_own(const DecodeProps& props, std::string_view id) {
  const auto ids = ids_of(props.tensor_ids);
  return ids.empty() ? id.empty() : std::ranges::contains(ids, id);
}

/// A frame's tensors, but for those that a decoder upstream has taken.
Status look(GstBuffer* buffer, FrameTensors& tensors) {
  KB_TRY(tensors.look(buffer, Which::kUndecoded));
  if (!tensors.listed().empty()) return {};
  FrameTensors all;
  KB_TRY(all.look(buffer));
  if (all.listed().empty()) return {};
  return fail(ErrorKind::kMismatch, "tensors that came since the decoder before this one",
              "only such as it has decoded: " + to_string(all.listed()),
              "put an inference element between the two, or leave one of them out");
}

}  // namespace

void Decoder::set_props(DecodeProps props) {
  if (props == props_) return;
  if (only_tuned(props, props_)) tuned_ = true;
  else drop_processor();
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
  backend_ = wanted_backend(chosen_backend());  // the environment may be another one
  failed_.clear();
  announced_.clear();
  told_.clear();
  warned_.clear();
  KB_TRY(files_.settings(props_, picture_));  // files and lists of classes, before a frame is spent on them
  if (!takes_cuda(backend_)) return {};
  auto context = cuda_.ensure(element_, props_.cuda_device_id, kWithoutCuda);
  device_failed_ = !context;
  if (!context) return std::unexpected(context.error());
  return {};
}

void Decoder::stop() {
  drop_processor();
  cuda_.clear();
  files_ = {};
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

Status Decoder::retune() {
  if (!std::exchange(tuned_, false) || !processor_) return {};
  const auto wanted = files_.settings(props_, picture_);
  if (!wanted) {
    tuned_ = true;
    return std::unexpected(wanted.error());
  }
  const CudaScope scope(home_);
  KB_TRY(scope.status());
  KB_TRY(processor_->retune(*wanted));
  for (const Error& warning : processor_->plan().warnings) warn_once(warning);
  return {};
}

MemorySpace Decoder::wanted_memory() const {
  const bool device = automatic() ? failed_.empty() && unsupported_.empty() && have_cuda_backend()
                                  : takes_cuda(backend_);
  return device ? MemorySpace::kCuda : MemorySpace::kSystem;
}

bool Decoder::fits(const FrameTensors& tensors) const {
  return processor_ && processor_->plan().holds_for(tensors.listed());
}

Status Decoder::decode(GstBuffer* buffer) {
  device_failed_ = false;
  Status done = attempt(buffer);
  if (!done && on_device()) {
    if (automatic()) done = decode_on_cpu(buffer, done.error());
    else device_failed_ = done.error().kind == ErrorKind::kNoResource;
  }
  if (!done) mark_refused(buffer);
  return done;
}

Status Decoder::fetch(FrameTensors& tensors, std::span<const uint32_t> which,
                      MemorySpace preferred) {
  Status mapped = tensors.map(which, preferred);
  device_failed_ = !mapped && mapped.error().kind == ErrorKind::kNoResource;
  return mapped;
}

/// Tensors that are where the processor was made to find them are decoded; for others it is made
/// anew.
Status Decoder::run(FrameTensors& tensors) {
  KB_TRY(retune());
  bool ready = fits(tensors);
  if (ready) {
    KB_TRY(fetch(tensors, processor_->plan().reads, wanted_memory()));
    ready = reads_ == tensors.space() && (!tensors.context() || tensors.context() == home_);
  }
  if (!ready) KB_TRY(prepare(tensors));
  const CudaScope scope(home_);
  KB_TRY(scope.status());
  return processor_->run(tensors.views());
}

Status Decoder::attempt(GstBuffer* buffer) {
  boxes_.clear();
  route_ = Route::kHost;
  planned_now_ = false;
  FrameTensors tensors;
  KB_TRY(look(buffer, tensors));
  KB_TRY(run(tensors));
  if (const Plan& plan = processor_->plan(); !processor_->detections().empty())
    KB_TRY(believe(plan, check_best_score(plan.layout, processor_->detections()[0].score)));
  if (tensors.downloaded() || (tensors.context() && planned_now_)) route_ = Route::kDownloaded;
  else if (on_device()) route_ = tensors.context() ? Route::kZeroCopy : Route::kUploaded;
  take_boxes();
  mark(buffer, tensors);
  return {};
}

void Decoder::take_boxes() {
  const bool unnamed = props_.model_name.empty();
  const GQuark model =
      g_quark_from_string(unnamed ? GST_OBJECT_NAME(element_) : props_.model_name.c_str());
  for (const Detection& det : processor_->detections())
    boxes_.push_back({.box = det.box,
                      .score = det.score,
                      .angle = det.angle,
                      .label = files_.labels().quark(det.class_id),
                      .class_id = det.class_id,
                      .anchor = det.anchor,
                      .model = model,
                      .unnamed = unnamed});
}

/// For decoders behind this one, which are for what comes after it: the tensors that this family is
/// known by, or where only shapes spoke all that there are.
void Decoder::mark(GstBuffer* buffer, const FrameTensors& tensors) const {
  const Plan& plan = processor_->plan();
  const auto known = [&](const TensorForm& form) {
    return std::ranges::any_of(plan.spec->rules(),
                               [&](const TensorRule& rule) { return rule.has(form.id); });
  };
  if (!props_.tensor_ids.empty() || std::ranges::any_of(plan.forms, known)) {
    tensors.mark_decoded(buffer, plan.reads);
    return;
  }
  std::vector<uint32_t> all(tensors.listed().size());
  std::iota(all.begin(), all.end(), 0u);
  tensors.mark_decoded(buffer, all);
}

/// Tensors that this decoder was for are not the next one's, whatever was wrong with them.
void Decoder::mark_refused(GstBuffer* buffer) const {
  FrameTensors tensors;
  if (!tensors.look(buffer, Which::kUndecoded)) return;
  if (fits(tensors)) return mark(buffer, tensors);
  std::vector<uint32_t> own;
  for (uint32_t i = 0; i < tensors.listed().size(); ++i)
    if (is_own(props_, tensors.listed()[i].id)) own.push_back(i);
  tensors.mark_decoded(buffer, own);
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
bool Decoder::goes_on(FrameTensors& tensors, const Plan& plan) const {
  return processor_ && processor_->plan().provisional && plan.provisional &&
         reads_ == tensors.space() && (!tensors.context() || tensors.context() == home_) &&
         plan.forms == processor_->plan().forms && plan.reads == processor_->plan().reads;
}

Status Decoder::prepare(FrameTensors& tensors) {
  auto plan = plan_for(tensors);
  if (!plan) return std::unexpected(plan.error());
  KB_TRY(fetch(tensors, plan->reads, wanted_memory()));
  if (goes_on(tensors, *plan)) return {};
  drop_processor();
  KB_TRY(fetch(tensors, plan->reads, wanted_memory()));  // what kept the device from being used is gone
  if (tensors.context() && automatic()) {
    const Status made = make_processor(*plan, tensors);
    if (made) return {};
    if (made.error().kind == ErrorKind::kUnsupported) unsupported_ = made.error().message();
    else leave_device(made.error());
    KB_TRY(fetch(tensors, plan->reads, MemorySpace::kSystem));
  }
  const Status made = make_processor(std::move(*plan), tensors);
  device_failed_ = !made && takes_cuda(backend_) && made.error().kind == ErrorKind::kNoResource;
  return made;
}

/// The numbers tell the units. From a device they are fetched for this once, or the plan would stay
/// provisional and be made for every frame.
Result<Plan> Decoder::plan_for(FrameTensors& tensors) {
  auto wanted = files_.settings(props_, picture_);
  if (!wanted) return std::unexpected(wanted.error());
  planned_now_ = true;
  tuned_ = false;
  std::vector<uint32_t> all(tensors.listed().size());
  std::iota(all.begin(), all.end(), 0u);
  KB_TRY(fetch(tensors, all, MemorySpace::kSystem));
  auto plan = make_plan(*wanted, tensors.views());
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
  const uint32_t labels = files_.labels().size(), classes = plan.end_class - plan.first_class;
  // With background first, its name may stand in the file or not.
  if (labels == 0 || classes == 0 || labels == classes || labels == plan.end_class) return;
  post_warning(element_, {ErrorKind::kMismatch, "as many labels as classes",
                          std::to_string(labels) + " in " + files_.labels_path() + " and " +
                              std::to_string(classes) + " in " + plan.remark,
                          "set label-file= or detector="});
}

}  // namespace keepbox
