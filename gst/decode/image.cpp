// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans and decodes one image of a frame.
#include "gst/decode/image.h"

#include <algorithm>
#include <filesystem>
#include <format>
#include <numeric>
#include <tuple>
#include <utility>

#include "core/plan/limits.h"
#include "core/recognition/value_checks.h"
#include "gst/base/error.h"
#include "gst/metas/boxes.h"
#include "gst/tensors/provenance.h"

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
  KB_ASSIGN(const Settings wanted, stream_.settings(produced.source));
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
  KB_ASSIGN(const Settings wanted, stream_.settings(processor.source()));
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
  const uint32_t labels = stream_.labels()->size(), classes = end - first;
  // A leading background has number 0: without its label all names would be off by one.
  if (labels == 0 || classes == 0 || labels == end) return;
  post_warning(stream_.element,
               problem(ErrorKind::kMismatch,
                       std::format("There are {} labels in {} for {} classes{} in {}", labels,
                                   stream_.labels_from(), classes,
                                   first == 0 ? "" : " and the background", plan.remark),
                       "set label-file= to the labels of this model, or detector= to its family"));
}

void ImageDecoder::clear() {
  boxes_.clear();
  funnel_ = {};
  image_boxes_.clear();
  runs_ = 0;
  incomplete_ = false;
}

Status ImageDecoder::decode(GstBuffer* buffer, FrameTensors& tensors) {
  return processor_.of_objects() ? decode_objects(buffer, tensors) : decode_frame(tensors);
}

Status ImageDecoder::take(const Processor& joint, uint32_t number) {
  runs_ = number == 0 ? 1 : 0;
  KB_TRY(check(joint, number));
  return boxes_.add(joint, number, *labels_, common(), funnel_);
}

/// Runs the processor on one image.
Status ImageDecoder::decode_image(const FrameTensors& tensors) {
  ++runs_;
  KB_TRY(processor_.run(tensors));
  return check(*processor_, 0);
}

/// Checks the boxes of a frame of a run, and adds up the counts.
Status ImageDecoder::check(const Processor& processor, uint32_t number) {
  const Plan& plan = processor_->plan();
  const auto found = processor.detections(number);
  if (!found.empty()) KB_TRY(planner_.accept(plan, check_best_score(plan.layout, found[0].score)));
  const Funnel& funnel = processor.funnel(number);
  if (const auto warning = ceiling_reached(plan, funnel.after_class_filter, funnel.after_top_k))
    stream_.warn_once(*warning);
  funnel_ += funnel;
  return {};
}

/// Decodes tensors of frames, or of all tiles of a frame together.
Status ImageDecoder::decode_frame(const FrameTensors& tensors) {
  KB_TRY(decode_image(tensors));
  for (uint32_t tile = 0; tile < processor_->plan().tiles.size(); ++tile)
    image_boxes_.push_back(processor_->image_funnel(tile).boxes());
  return boxes_.add(*processor_, 0, *labels_, common(), funnel_);
}

/// Decodes the images of the objects that are still on the frame, one by one.
Status ImageDecoder::decode_objects(GstBuffer* buffer, FrameTensors& tensors) {
  const Size input = processor_.source()->geometry.model;
  const guint64 producer = processor_.source()->producer;
  const std::vector<PictureRecord> records = read_pictures(buffer, producer);
  for (const PictureRecord& record : records) {
    const auto of = object_image(record, input, stream_.picture.size, frame());
    if (!of || !tensors.select_image(of->image)) continue;
    processor_.place(of->letterbox);
    KB_TRY(decode_image(tensors));
    const uint32_t before = funnel_.boxes() - processor_->funnel().boxes();
    KB_TRY(boxes_.add_parts(*processor_, *labels_, common(), *of, frame(), funnel_));
    image_boxes_.push_back(funnel_.boxes() - before);
  }
  keep_parts(buffer, producer, records);
  limit_parts(buffer);
  return {};
}

void ImageDecoder::skip(GstBuffer* buffer) {
  SharedProvenance source = processor_.source();
  if (!processor_)
    for (const SharedProvenance& each : sources_of_skipped(buffer))
      if (each->objects) source = each;
  if (source == nullptr || !source->objects) return;
  keep_parts(buffer, source->producer, {});
  limit_parts(buffer);
}

/// Remembers the parts of the objects that were decoded, and adds those of objects that the model
/// left out, because a reader would take a frame without them for one on which there are none.
void ImageDecoder::keep_parts(GstBuffer* buffer, guint64 producer,
                              std::span<const PictureRecord> decoded) {
  parts_.begin();
  const std::vector<guint> left_out = read_left_out(buffer, producer);
  std::vector<FrameBox> objects;
  read_boxes(buffer, objects, nullptr, frame());
  for (const FrameBox& object : objects)
    if (std::ranges::contains(decoded, object.od_id, &PictureRecord::od_id))
      parts_.remember(object, boxes_.boxes());
  for (const FrameBox& object : objects) {
    if (!std::ranges::contains(left_out, object.od_id)) continue;
    const auto parts = parts_.of(object, frame());
    if (parts) boxes_.add(*parts);
    else incomplete_ = true;
  }
}

/// Drops the parts beyond the limit of a frame, which max-detections per object does not ensure.
void ImageDecoder::limit_parts(GstBuffer* buffer) {
  const size_t found = boxes_.boxes().size();
  if (!boxes_.keep_best(room_on(buffer), (stream_.props.also_attach & kAttachClass) != 0)) return;
  stream_.warn_once(
      problem(ErrorKind::kInvalid,
              std::format("Only the best {} of {} parts are kept: a frame holds at most {} boxes, "
                          "parts included, or half as many with masks or also-attach=class",
                          boxes_.boxes().size(), found, kMaxMtds),
              "lower max-detections=, which counts per object, or raise score-threshold="));
}

Size ImageDecoder::frame() const {
  const bool planned = processor_ && !processor_.of_objects();
  return planned ? processor_->plan().letterbox.frame : stream_.picture.size;
}

/// Returns model-name or else the model's own name; empty if unknown.
const std::string& ImageDecoder::model_of(const SharedProvenance& source) const {
  const std::string& wanted = stream_.props.model_name;
  return wanted.empty() && source != nullptr ? source->model : wanted;
}

/// Returns the name of a model, or of the decoder if the model has none.
GQuark ImageDecoder::name_of(const std::string& model) const {
  return g_quark_from_string(model.empty() ? GST_OBJECT_NAME(stream_.element) : model.c_str());
}

/// Before the first look, the model is unknown if several models skipped the frame. It keeps the
/// name that it got then until it has looked, because readers wait for the look of each name.
GQuark ImageDecoder::model_on(GstBuffer* buffer) {
  if (!stream_.props.model_name.empty()) return name_of(stream_.props.model_name);
  if (processor_.source() != nullptr) model_ = name_of(processor_.source()->model);
  if (model_ != 0) return model_;
  const auto sources = sources_of_skipped(buffer);
  model_ = name_of(sources.size() == 1 ? sources.front()->model : std::string());
  return model_;
}

/// Returns the values that all boxes of a frame have.
FrameBox ImageDecoder::common() const {
  const std::string& name = model_of(processor_.source());
  return {.model = name_of(name),
          .unnamed = name.empty(),
          .coco = labels_->are_of_coco(),
          .held = held()};
}

namespace {

/// Returns the index of the first listed tensor that is named, or 0.
size_t first_named(std::span<const TensorView> listed, std::span<const std::string> ids) {
  for (const std::string& id : ids) {
    const auto found = std::ranges::find(listed, std::string_view(id), &TensorView::id);
    if (found != listed.end()) return static_cast<size_t>(found - listed.begin());
  }
  return 0;
}

}  // namespace

std::vector<ProducerTensors> by_tensor_producer(const FrameTensors& tensors,
                                                std::span<const std::string> ids,
                                                std::string_view detector) {
  const auto count = static_cast<uint32_t>(tensors.listed().size());
  if (count == 0 || !ids.empty()) {
    ProducerTensors all{.tensors = std::vector<uint32_t>(count)};
    std::iota(all.tensors.begin(), all.tensors.end(), 0u);
    if (count != 0) all.source = tensors.source(first_named(tensors.listed(), ids));
    return {std::move(all)};
  }
  std::vector<ProducerTensors> out;
  for (uint32_t i = 0; i < count; ++i) {
    SharedProvenance source = tensors.source(i);
    auto there = std::ranges::find_if(
        out, [&](const ProducerTensors& each) { return same_source(each.source, source); });
    if (there == out.end()) there = out.insert(out.end(), {.source = std::move(source)});
    there->tensors.push_back(i);
  }
  std::ranges::stable_partition(out, [&](const ProducerTensors& each) {
    return each.source != nullptr && each.source->detector == detector;
  });
  return out;
}

std::string to_string(const ProducerTensors& produced) {
  if (produced.source == nullptr) return "an unnamed model";
  const auto& [model, path] = std::tie(produced.source->model, produced.source->file);
  const std::filesystem::path file(path);
  if (path.empty()) return model;
  return model + " (" + (file.parent_path().filename() / file.filename()).string() + ")";
}

std::vector<TensorView> forms_of(const FrameTensors& tensors, std::span<const uint32_t> which) {
  std::vector<TensorView> out;
  for (const uint32_t number : which) out.push_back(form_of(tensors.listed()[number]));
  return out;
}

}  // namespace keepbox
