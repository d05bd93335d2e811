// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans frames for a decoder, and makes the processor in the memory where it can run.
#include <algorithm>
#include <optional>
#include <utility>

#include "gst/base/enums.h"
#include "gst/base/error.h"
#include "gst/decode/decodeenums.h"
#include "gst/decode/decoder.h"

GST_DEBUG_CATEGORY_EXTERN(boxdecode_debug);

namespace keepbox {

/// A plan, and the source of the tensors that it reads.
struct Decoder::Prepared {
  Plan plan;
  SharedTensorSource source;
};

/// True if the values do not yet reveal the units, so that the current processor continues.
bool Decoder::goes_on(FrameTensors& tensors, const Prepared& prepared) const {
  const Plan& plan = prepared.plan;
  const bool alike = same_producer(prepared.source, source_) &&
                     (source_ == nullptr || prepared.source->geometry == source_->geometry);
  return alike && processor_ && processor_->plan().provisional && plan.provisional &&
         reads_ == tensors.space() && (!tensors.context() || tensors.context() == home_) &&
         plan.forms == processor_->plan().forms && plan.reads == processor_->plan().reads;
}

Status Decoder::prepare(FrameTensors& tensors) {
  auto prepared = plan_for(tensors);
  if (!prepared) return std::unexpected(prepared.error());
  const std::vector<uint32_t> reads = prepared->plan.reads;
  KB_TRY(fetch(tensors, reads, wanted_memory()));
  if (goes_on(tensors, *prepared)) {
    source_ = std::move(prepared->source);
    return {};
  }
  drop_processor();
  KB_TRY(fetch(tensors, reads, wanted_memory()));  // the device may be usable again
  if (tensors.context() && automatic()) {
    const Status made = make_processor(*prepared, tensors);
    if (made) return {};
    if (made.error().kind == ErrorKind::kUnsupported) unsupported_ = made.error().message();
    else leave_device(made.error());
    KB_TRY(fetch(tensors, reads, MemorySpace::kSystem));
  }
  const Status made = make_processor(*prepared, tensors);
  device_failed_ = !made && takes_cuda(backend_) && made.error().kind == ErrorKind::kNoResource;
  return made;
}

/// Plans from shapes alone if the producer declares family and units and the tensors are in device
/// memory, so that nothing is copied to the host.
Result<Plan> Decoder::plan_unread(const FrameTensors& tensors, const Production& production,
                                  const Settings& wanted) const {
  const auto unread = [](std::string found) {
    return fail(ErrorKind::kUnsupported, "a plan made from shapes alone", std::move(found));
  };
  if (production.source == nullptr || production.source->detector.empty() ||
      wanted_memory() != MemorySpace::kCuda)
    return unread("no declared family, or tensors in system memory");
  auto plan = make_plan(wanted, forms_of(tensors, production.tensors));
  if (!plan || plan->provisional) return unread("that the values are needed");
  std::vector<uint32_t> reads;
  for (const uint32_t i : plan->reads) reads.push_back(production.tensors[i]);
  if (!tensors.common_context(reads)) return unread("tensors of several devices");
  return plan;
}

namespace {

/// True if the shapes differ in at most one dimension.
bool alike(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  size_t others = 0;
  for (size_t i = 0; i < a.rank(); ++i) others += a[i] != b[i] ? 1 : 0;
  return others <= 1;
}

bool alike(const TensorForm& form, const TensorView& view) {
  return form.id == view.id && form.type == view.type && alike(form.shape, view.shape);
}

}  // namespace

/// True if each tensor that was read is present again, apart from its number of rows.
bool Decoder::is_settled(const FrameTensors& tensors, const Production& production) const {
  if (!settled_ || !same_producer(settled_->source, production.source)) return false;
  return std::ranges::all_of(settled_->forms, [&](const TensorForm& form) {
    return std::ranges::any_of(
        production.tensors, [&](uint32_t number) { return alike(form, tensors.listed()[number]); });
  });
}

/// Keeps the recognised family; units that the values do not reveal yet stay open.
void Decoder::settle(const Prepared& prepared) {
  const Plan& plan = prepared.plan;
  const bool by_itself = plan.basis == Basis::kNumbers || plan.basis == Basis::kShape;
  if (by_itself && !plan.provisional && plan.family == nullptr)
    settled_ = {prepared.source, plan.forms, std::string(plan.spec->name), plan.units};
}

/// Makes a plan with values, which reveal the units. Tensors in device memory are downloaded once,
/// as a provisional plan would be made again for every frame.
Result<Plan> Decoder::plan_with(FrameTensors& tensors, const Production& production,
                                const Settings& wanted) {
  auto plan = plan_unread(tensors, production, wanted);
  if (plan) return plan;
  KB_TRY(fetch(tensors, production.tensors, MemorySpace::kSystem));
  return make_plan(wanted, tensors.views());
}

/// Keeps a stream's recognised family if only the number of rows changes, because each number of
/// rows alone could match another family. Recognises again if that does not fit.
Result<Plan> Decoder::plan_of(FrameTensors& tensors, const Production& production) {
  auto wanted = files_.settings(props_, picture_, production.source);
  if (!wanted) return std::unexpected(wanted.error());
  Result<Plan> plan = std::unexpected(Error{});
  if (is_settled(tensors, production)) {
    Settings settled = *wanted;
    settled.declared_detector = settled_->family;
    if (settled.units == Units::kAuto) settled.units = settled_->units;
    plan = plan_with(tensors, production, settled);
    if (plan) plan->basis = Basis::kShape;
  }
  if (!plan && !(production.source != nullptr && production.source->open_rows &&
                 is_settled(tensors, production)))
    plan = plan_with(tensors, production, *wanted);
  if (!plan) return plan;
  if (plan->layout.images != 1)
    return fail(ErrorKind::kUnsupported, "tensors of one frame (batch size 1)",
                "batch size " + std::to_string(plan->layout.images), "infer one frame at a time");
  for (uint32_t& number : plan->reads) number = production.tensors[number];
  return plan;
}

/// Plans the first model whose tensors this decoder accepts.
Result<Decoder::Prepared> Decoder::plan_for(FrameTensors& tensors) {
  planned_now_ = true;
  tuned_ = false;
  std::optional<Error> first;
  const auto all = productions(tensors, ids_of(props_.tensor_ids), props_.detector);
  for (const Production& each : all) {
    auto plan = plan_of(tensors, each);
    if (plan && all.size() > 1)
      GST_CAT_WARNING_OBJECT(boxdecode_debug, element_,
                             "frame has tensors of %zu models, decoding those of %s; add another "
                             "boxdecode for the next model",
                             all.size(), to_string(each).c_str());
    if (plan) {
      Prepared prepared{std::move(*plan), each.source};
      settle(prepared);
      return prepared;
    }
    if (!first) first = plan.error();
    if (device_failed_ || plan.error().kind == ErrorKind::kInvalid) break;
  }
  return std::unexpected(*first);
}

Result<CudaContext> Decoder::home_for(const FrameTensors& tensors) {
  if (tensors.context()) {
    cuda_.adopt(tensors.context());
    return tensors.context();
  }
  if (!takes_cuda(backend_)) return CudaContext();
  return cuda_.ensure(element_, props_.cuda_device_id, kWithoutCuda);
}

Status Decoder::make_processor(const Prepared& prepared, const FrameTensors& tensors) {
  auto home = home_for(tensors);
  if (!home) return std::unexpected(home.error());
  const CudaScope scope(*home);
  KB_TRY(scope.status());
  auto selection = select_backend(chosen_backend(), prepared.plan, tensors.space());
  if (!selection) return std::unexpected(selection.error());
  if (const std::string& why = failed_.empty() ? unsupported_ : failed_; !why.empty())
    selection->reason += "; not on the GPU: " + why;
  auto processor =
      Processor::create(prepared.plan, std::move(*selection), tensors.space(), threads_.get());
  if (!processor) return std::unexpected(processor.error());
  processor_ = std::move(*processor);
  processor_->stop_by(stop_);
  home_ = std::move(*home);
  reads_ = tensors.space();
  source_ = prepared.source;
  labels_ = files_.labels();
  announce();
  return {};
}

void Decoder::announce() {
  const Plan& plan = processor_->plan();
  for (const Error& warning : plan.warnings) warn_once(warning);
  if (unsupported_ != told_ && !unsupported_.empty())
    GST_CAT_WARNING_OBJECT(boxdecode_debug, element_, "decoding on the CPU: %s",
                           unsupported_.c_str());
  told_ = unsupported_;
  if (plan.remark == announced_) return;
  announced_ = plan.remark;
  check_label_count(plan);
  GST_CAT_INFO_OBJECT(boxdecode_debug, element_, "%s; input %ux%u; backend %s (%s)",
                      plan.remark.c_str(), plan.letterbox.model.width, plan.letterbox.model.height,
                      std::string(processor_->backend().name).c_str(),
                      processor_->backend_reason().c_str());
}

/// Warns if the number of labels does not match the classes: labels or family are wrong.
void Decoder::check_label_count(const Plan& plan) {
  const uint32_t first = plan.rules.first_class, end = plan.rules.end_class;
  const uint32_t labels = labels_->size(), classes = end - first;
  // A leading background has number 0: without its label all names would be off by one.
  if (labels == 0 || classes == 0 || labels == end) return;
  post_warning(element_, {ErrorKind::kMismatch,
                          first == 0 ? "one label per class"
                                     : "a label for the background, then one label per class",
                          std::to_string(labels) + " labels in " + files_.labels_from() + " and " +
                              std::to_string(classes) + " classes in " + plan.remark,
                          "set label-file= to the labels of this model, or detector= to its "
                          "family"});
}

}  // namespace keepbox
