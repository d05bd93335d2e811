// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes plans from shapes, and from values where shapes do not suffice.
#include "gst/decode/planner.h"

#include <algorithm>
#include <format>
#include <utility>

#include "gst/base/error.h"
#include "gst/decode/decodelog.h"

namespace keepbox {
namespace {

/// True if the shapes differ in at most one dimension.
bool are_similar(const Shape& a, const Shape& b) {
  if (a.rank() != b.rank()) return false;
  size_t others = 0;
  for (size_t i = 0; i < a.rank(); ++i) others += a[i] != b[i] ? 1 : 0;
  return others <= 1;
}

bool are_similar(const TensorForm& form, const TensorView& view) {
  return form.id == view.id && form.type == view.type && are_similar(form.shape, view.shape);
}

/// True if the number of rows is dynamic, so that it is no evidence for another family.
bool has_open_rows(const ProducerTensors& produced) {
  return produced.source != nullptr && produced.source->dynamic_rows;
}

}  // namespace

/// True if each tensor that was read is present again, apart from its number of rows.
bool Planner::is_recognized(const FrameTensors& tensors, const ProducerTensors& produced) const {
  if (!recognized_ || !same_producer(recognized_->source, produced.source)) return false;
  return std::ranges::all_of(recognized_->forms, [&](const TensorForm& form) {
    return std::ranges::any_of(produced.tensors, [&](uint32_t number) {
      return are_similar(form, tensors.listed()[number]);
    });
  });
}

/// Keeps the recognised family; units that the values do not reveal yet stay open.
void Planner::remember(const PlannedTensors& planned) {
  const Plan& plan = planned.plan;
  const bool by_itself = plan.basis == Basis::kValues || plan.basis == Basis::kShape;
  if (by_itself && !plan.provisional && plan.family == nullptr)
    recognized_ = {planned.source, plan.forms, std::string(plan.spec->name), plan.units};
}

/// Plans from shapes alone if the producer declares family and units and the tensors are in device
/// memory, so that nothing is copied to the host.
Result<Plan> Planner::plan_unread(const FrameTensors& tensors, const ProducerTensors& produced,
                                  const Settings& wanted) const {
  const auto unread = [](const std::string& why) {
    return reject(ErrorKind::kUnsupported, "No plan can be made from shapes alone: " + why);
  };
  if (produced.source == nullptr || produced.source->detector.empty() ||
      device_.wanted_memory() == MemorySpace::kSystem)
    return unread("no family is declared, or the tensors are in system memory");
  auto plan = make_plan(wanted, forms_of(tensors, produced.tensors));
  if (!plan || plan->provisional) return unread("the values are needed");
  std::vector<uint32_t> reads;
  for (const uint32_t i : plan->reads) reads.push_back(produced.tensors[i]);
  if (!tensors.common_context(reads)) return unread("the tensors are of several devices");
  return plan;
}

/// Makes a plan with values, which reveal the units. Tensors in device memory are downloaded for
/// that: once, or for each frame until there is a box, if the plan is provisional until then.
Result<Plan> Planner::plan_with(FrameTensors& tensors, const ProducerTensors& produced,
                                const Settings& wanted) {
  auto plan = plan_unread(tensors, produced, wanted);
  if (plan) return plan;
  KB_TRY(device_.map(tensors, produced.tensors, MemorySpace::kSystem));
  return make_plan(wanted, tensors.views());
}

/// Plans for the recognised family.
Result<Plan> Planner::plan_again(FrameTensors& tensors, const ProducerTensors& produced,
                                 Settings wanted) {
  wanted.declared_detector = recognized_->family;
  if (wanted.units == Units::kAuto) wanted.units = recognized_->units;
  auto plan = plan_with(tensors, produced, wanted);
  if (plan) plan->basis = Basis::kShape;
  return plan;
}

/// Keeps a stream's recognised family if only the number of rows changes, because each number of
/// rows alone could match another family. Recognises again if that does not fit.
Result<Plan> Planner::plan_of(FrameTensors& tensors, const ProducerTensors& produced) {
  KB_ASSIGN(const Settings wanted,
            stream_.files.settings(stream_.props, stream_.picture, produced.source));
  const bool recognized = is_recognized(tensors, produced);
  Result<Plan> plan = std::unexpected(Error{});
  if (recognized) plan = plan_again(tensors, produced, wanted);
  if (!plan && !(recognized && has_open_rows(produced)))
    plan = plan_with(tensors, produced, wanted);
  if (!plan) return plan;
  if (plan->frames() != 1)
    return reject(
        ErrorKind::kUnsupported,
        "The tensors are of a batch of " + std::to_string(plan->layout.images) +
            " frames, not of this frame alone",
        "give each frame its slice by keepbox_buffers_add_tensor(), or run the model with "
        "tensorinfer batch-size=");
  for (uint32_t& number : plan->reads) number = produced.tensors[number];
  return plan;
}

/// Plans the first model with the selected image of its tensors.
Result<PlannedTensors> Planner::plan_image(FrameTensors& tensors) {
  std::optional<Error> first;
  const auto all =
      by_tensor_producer(tensors, ids_of(stream_.props.tensor_ids), stream_.props.detector);
  for (const ProducerTensors& each : all) {
    auto plan = plan_of(tensors, each);
    if (plan && all.size() > 1)
      GST_CAT_WARNING_OBJECT(decode_log(), stream_.element,
                             "frame has tensors of %zu models, decoding those of %s; add another "
                             "boxdecode for the next model",
                             all.size(), to_string(each).c_str());
    if (plan) {
      PlannedTensors planned{std::move(*plan), each.source};
      remember(planned);
      return planned;
    }
    if (!first) first = plan.error();
    if (device_.failed() || plan.error().kind == ErrorKind::kInvalid) break;
  }
  return std::unexpected(*first);
}

Result<PlannedTensors> Planner::plan(FrameTensors& tensors) {
  auto planned = plan_image(tensors);
  const bool objects = planned && planned->source != nullptr && planned->source->objects;
  for (size_t image = 1; objects && planned->plan.provisional; ++image) {
    if (!tensors.select_image(image)) break;
    auto other = plan_image(tensors);
    if (!other && other.error().kind == ErrorKind::kNoResource) break;
    if (other) planned = std::move(other);
  }
  return planned;
}

Status Planner::retune(StreamProcessor& processor) {
  KB_ASSIGN(const Settings wanted,
            stream_.files.settings(stream_.props, stream_.picture, processor.source()));
  KB_TRY(processor.retune(wanted));
  for (const Error& warning : processor->plan().warnings) stream_.warn_once(warning);
  return {};
}

Status Planner::accept(const Plan& plan, const Status& values) {
  if (values || plan.basis != Basis::kSet) return values;
  stream_.warn_once(values.error());
  return {};
}

void Planner::announce(const Processor& processor) {
  const Plan& plan = processor.plan();
  for (const Error& warning : plan.warnings) stream_.warn_once(warning);
  if (plan.remark == logged_) return;
  logged_ = plan.remark;
  check_label_count(plan);
  GST_CAT_INFO_OBJECT(decode_log(), stream_.element, "%s; input %ux%u; backend %s (%s)",
                      plan.remark.c_str(), plan.letterbox.model.width, plan.letterbox.model.height,
                      std::string(processor.backend().name).c_str(),
                      processor.backend_reason().c_str());
}

/// Warns if the number of labels does not match the classes: labels or family are wrong.
void Planner::check_label_count(const Plan& plan) const {
  const uint32_t first = plan.rules.first_class, end = plan.rules.end_class;
  const uint32_t labels = stream_.files.labels()->size(), classes = end - first;
  // A leading background has number 0: without its label all names would be off by one.
  if (labels == 0 || classes == 0 || labels == end) return;
  post_warning(stream_.element,
               problem(ErrorKind::kMismatch,
                       std::format("There are {} labels in {} for {} classes{} in {}", labels,
                                   stream_.files.labels_from(), classes,
                                   first == 0 ? "" : " and the background", plan.remark),
                       "set label-file= to the labels of this model, or detector= to its family"));
}

}  // namespace keepbox
