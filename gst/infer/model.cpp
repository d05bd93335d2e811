// SPDX-License-Identifier: LGPL-2.1-or-later
// Settles a model for frames, runs it on them, and attaches its tensors.
#include "gst/infer/model.h"

#include <algorithm>
#include <format>
#include <span>
#include <utility>

#include "gst/base/element.h"
#include "gst/base/error.h"
#include "gst/infer/facts/modelports.h"
#include "gst/infer/run/pictures.h"
#include "gst/metas/boxes.h"
#include "gst/metas/objecttensors.h"
#include "gst/metas/pixelmap.h"
#include "gst/tensors/tensors.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
namespace {

/// True if an output has a dynamic dimension other than the batch.
bool has_open_rows(const ModelDeclaration& declaration) {
  return std::ranges::any_of(declaration.outputs, [](const ModelPort& port) {
    const size_t first = port.dims.size() > 2 ? 1 : 0;
    return std::ranges::any_of(std::span(port.dims).subspan(first),
                               [](int64_t dim) { return dim < 0; });
  });
}

std::vector<Crop> crops_of(const std::vector<ObjectCrop>& objects) {
  std::vector<Crop> out;
  for (const ObjectCrop& each : objects) out.push_back(each.crop);
  return out;
}

/// A frame whose begin() failed, so that finish() runs it on the CPU.
class FailedStart : public PendingFrame {
 public:
  explicit FailedStart(Error error) : error_(std::move(error)) {}
  Result<std::vector<InferredTensor>> finish() override { return std::unexpected(error_); }
  InferTimes times() const override { return {}; }

 private:
  Error error_;
};

}  // namespace

Model::Model(GstElement* element, const Model* like)
    : element_(element),
      cuda_(like != nullptr ? like->cuda_ : std::make_shared<SharedCuda>()),
      warnings_(like != nullptr ? like->warnings_ : std::make_shared<ModelWarnings>(element)),
      loader_(element, cuda_, like != nullptr ? &like->loader_ : nullptr) {}

Status Model::start(const InferProps& props) {
  warnings_->clear();
  return begin_with(props);
}

Status Model::begin_with(const InferProps& props) {
  left_device_ = false;
  phase_ = Phase::kLoading;
  interrupt(false);
  KB_ASSIGN(auto rules, object_rules(props));
  objects_ = rules ? std::optional<Objects>(std::move(*rules)) : std::nullopt;
  max_pending_ = props.lookahead + 1;
  KB_ASSIGN(tiles_, tile_grid(props));
  return loader_.start(props);
}

InferSetup Model::setup() const {
  InferSetup out = loader_.setup();
  if (phase_ != Phase::kRunning) return out;
  out.recognized = opened_.facts.remark;
  out.graph = inferencer_->graph();
  return out;
}

/// Takes the model once it is loaded.
Status Model::open() {
  if (phase_ == Phase::kOpened || phase_ == Phase::kRunning) return {};
  KB_ASSIGN(LoadedModel model, loader_.open());
  opened_.declaration = std::move(model.declaration);
  KB_TRY(settle(nullptr));
  take(std::move(model.inferencer));
  opened_.size = opened_.facts.input.size;
  phase_ = Phase::kOpened;
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "%s on %s (%s): %s", props().model_file.c_str(),
                      loader_.provider().name.c_str(), loader_.provider().reason.c_str(),
                      opened_.facts.remark.c_str());
  loader_.warn_of_left_device();
  return {};
}

/// Fits the input to the frames if its size follows theirs, and loads the model for that size.
Status Model::follow_frames(const Picture& picture) {
  ModelFacts& facts = opened_.facts;
  if (facts.rectangle_stride == 0) return {};
  facts.input = rectangle_of(picture, facts.input, facts.rectangle_stride);
  const Size size = facts.input.size;
  facts.remark += std::format("; {}x{} for these frames", size.width, size.height);
  if (size == opened_.size) return {};
  KB_ASSIGN(LoadedModel made, loader_.open_for(size, facts));
  drain();
  take(std::move(made.inferencer));
  opened_.size = size;
  return {};
}

/// Warns if batches were asked for and cannot be run.
void Model::check_batches() {
  const std::optional<Error> why = inferencer_->no_batch_reason();
  if (!why) return;
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "frames run one by one: %s",
                      why->message().c_str());
  warnings_->no_batches(props(), *why);
}

/// Destroys the previous inferencer outside of the lock, because it waits for its pending work.
void Model::take(std::unique_ptr<Inferencer> inferencer) {
  const std::lock_guard guard(lock_);
  if (inferencer && interrupted()) inferencer->interrupt(true);
  inferencer_.swap(inferencer);
}

void Model::interrupt(bool on) {
  const std::lock_guard guard(lock_);
  loader_.interrupt(on);
  if (inferencer_) inferencer_->interrupt(on);
}

Status Model::settle(const FamilyOfModel* family) {
  KB_ASSIGN(opened_.facts, settle_by(props(), opened_.declaration, family));
  if (opened_.declaration.metadata_left_out > 0)
    opened_.facts.warnings.push_back(
        "too much metadata: " + std::to_string(opened_.declaration.metadata_left_out) +
        " keys were ignored");
  if (!opened_.declaration.left_out.empty())
    opened_.facts.remark += "; ignored outputs, not numeric tensors of up to 8 dimensions: " +
                            ports_text(opened_.declaration.left_out);
  return {};
}

/// Takes the family from the downstream decoder, which is linked by now, else from the model's
/// files, else from a trial run. The input's size and type do not change.
Status Model::settle_family() {
  const auto wanted = query_family(element_);
  if (wanted && wanted->input.known()) {
    const FamilyOfModel family{.name = wanted->name,
                               .input = wanted->input,
                               .caveat = wanted->caveat,
                               .why = "detector=" + wanted->name + " of the decoder downstream",
                               .set = true};
    return settle(&family);
  }
  KB_TRY(settle(nullptr));
  if (!opened_.facts.unknown) return {};
  KB_TRY(loader_.try_family(opened_.declaration, opened_.facts));
  const Result<FamilyOfModel>& tried = loader_.tried();
  if (tried) return settle(&*tried);
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "trial run did not reveal the family: %s",
                      tried.error().message().c_str());
  return {};
}

void Model::stop() {
  drain();
  forget();
  take(nullptr);
  loader_.stop();
  running_.source.reset();
  running_.held_source.reset();
  phase_ = Phase::kStopped;
}

void Model::drain() {
  if (inferencer_) inferencer_->drain();
}

/// Plans the pictures of frames. @pre info_ is set.
Result<Pictures> Model::plan(const Picture& picture) const {
  KB_ASSIGN(const FrameForm form, frame_form_of(info_));
  if (objects_) return plan_objects(form, picture, kMaxObjects, opened_.facts.input);
  return plan_pictures(form, picture, tiles_, opened_.facts.input, opened_.facts.resize);
}

void Model::set_frames(const GstVideoInfo& info) {
  info_ = info;
  unsettle();
  line_latency_ = info.fps_n > 0 ? gst_util_uint64_scale(props().lookahead * GST_SECOND,
                                                         guint64(info.fps_d), guint64(info.fps_n))
                                 : 0;
}

void Model::expect(unsigned frames) {
  const unsigned max_frames = std::max(props().lookahead + 1, frames);
  if (std::exchange(max_pending_, max_frames) != max_frames) unsettle();
}

void Model::set_source(const Pictures& pictures) {
  running_.crops = pictures.crops;
  running_.source = std::make_shared<const TensorProvenance>(
      TensorProvenance{.producer = number_,
                       .geometry = pictures.geometry,
                       .tiles = pictures.tiles,
                       .model = opened_.facts.name,
                       .file = props().model_file,
                       .detector = opened_.facts.detector,
                       .contract = opened_.facts.contract,
                       .iou_threshold = opened_.facts.iou_threshold,
                       .units = opened_.facts.units,
                       .labels = opened_.facts.labels,
                       .labels_of = opened_.facts.labels_of,
                       .dynamic_rows = has_open_rows(opened_.declaration),
                       .objects = objects_.has_value()});
  TensorProvenance held = *running_.source;
  held.held = true;
  running_.held_source = std::make_shared<const TensorProvenance>(std::move(held));
}

Status Model::prepare() {
  if (prepared()) return {};
  KB_TRY(open());
  KB_TRY(settle_family());
  const Picture picture = picture_of(info_);
  KB_ASSIGN(const Picture leading, leading_picture(picture, tiles_));
  KB_TRY(follow_frames(leading));
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "model input: %s", opened_.facts.remark.c_str());
  warnings_->guesses(props(), opened_.facts);
  KB_ASSIGN(Pictures pictures, plan(picture));
  forget();
  set_source(pictures);
  KB_TRY(inferencer_->set_frames(std::move(pictures), info_, max_pending_));
  phase_ = Phase::kRunning;
  ++times_settled_;
  check_batches();
  return {};
}

/// Falls back to the CPU if a GPU fails in mid-stream. Frames that are pending on it follow.
Result<std::vector<InferredTensor>> Model::infer_on_cpu(GstBuffer* frame,
                                                        const std::vector<ObjectCrop>& objects,
                                                        const Error& why) {
  if (runs_on_cuda()) {
    take(nullptr);
    left_device_ = true;
    phase_ = Phase::kLoading;
    KB_TRY(loader_.leave_device(why));
  }
  KB_TRY(prepare());
  KB_ASSIGN(auto pending, inferencer_->begin(frame, 0, crops_of(objects)));
  return pending->finish();
}

Result<Model::StartedRun> Model::begin(GstBuffer* frame, uint64_t order) {
  StartedRun out;
  if (objects_) {
    KB_ASSIGN(out.objects, objects_->of(frame, *running_.crops, opened_.facts.resize));
    warnings_->no_boxes(*objects_);
    add_left_out(frame, number_, objects_->left_out());
    if (out.objects.empty()) return out;
  }
  auto pending = inferencer_->begin(frame, order, crops_of(out.objects));
  if (pending) out.pending = std::move(*pending);
  else if (runs_on_cuda() && loader_.may_leave_device(pending.error()))
    out.pending = std::make_unique<FailedStart>(std::move(pending.error()));
  else return std::unexpected(pending.error());
  return out;
}

Status Model::leave_out(GstBuffer* frame) {
  if (!objects_) return {};
  KB_TRY(objects_->leave_out(frame, running_.crops->frame.size));
  add_left_out(frame, number_, objects_->left_out());
  return {};
}

Status Model::finish(GstBuffer* frame, StartedRun begun) {
  forget_tensors();
  auto tensors = begun.pending->finish();
  if (!tensors && (runs_on_cuda() || left_device_) && loader_.may_leave_device(tensors.error()))
    tensors = infer_on_cpu(frame, begun.objects, tensors.error());
  KB_TRY(tensors);
  running_.times = begun.pending->times();
  running_.last = std::move(*tensors);
  for (const InferredTensor& tensor : running_.last)
    set_provenance(tensor.data.get(), running_.source);
  attach(frame);
  if (objects_)
    add_pictures(gst_buffer_get_analytics_relation_meta(frame), number_,
                 pictures_of(begun.objects, opened_.facts.input.size));
  return props().tensor_mtd ? attach_to_objects(frame) : Status{};
}

/// Attaches each object's part of the tensors to it, with one warning if there is no room.
Status Model::attach_to_objects(GstBuffer* frame) {
  KB_ASSIGN(const size_t left_out, attach_object_tensors(frame, number_));
  warnings_->left_out_tensors(left_out);
  return {};
}

BatchCounts Model::batch_counts() const {
  const std::lock_guard guard(lock_);
  return inferencer_ ? inferencer_->batch_counts() : BatchCounts{};
}

bool Model::hold(GstBuffer* frame) {
  if (running_.last.empty() || objects_) return false;
  if (!std::exchange(running_.last_held, true))
    for (InferredTensor& tensor : running_.last)
      tensor.data.reset(shared_data(tensor.data.get(), running_.held_source));
  attach(frame);
  return true;
}

void Model::attach(GstBuffer* frame) const {
  std::vector<NewTensor> tensors;
  for (size_t i = 0; i < running_.last.size(); ++i) {
    const ModelFacts::Output& output = opened_.facts.outputs[i];
    tensors.push_back({.id = output.id,
                       .type = running_.last[i].type,
                       .shape = running_.last[i].shape,
                       .order = output.column_major ? GST_TENSOR_DIM_ORDER_COL_MAJOR
                                                    : GST_TENSOR_DIM_ORDER_ROW_MAJOR,
                       .data = gst_buffer_ref(running_.last[i].data.get())});
  }
  add_tensors(frame, tensors);
  if (!objects_) begin_transforms(frame, number_, picture_of(info_));
}

void ModelWarnings::post(const std::string& key, const Error& error) {
  if (posted_.insert(key).second) post_warning(element_, error);
}

void ModelWarnings::guesses(const InferProps& props, const ModelFacts& facts) {
  const auto warn = [&](const Error& error) { post(error.message(), error); };
  if (!facts.assumed.empty()) warn(assumption(facts, props.model_file));
  for (const std::string& text : facts.warnings)
    warn(problem(ErrorKind::kUnsupported,
                 "the metadata of " + props.model_file + " is incomplete: " + text,
                 "export the model again, or set what is missing, such as label-file= of boxdecode "
                 "for class names"));
}

void ModelWarnings::no_boxes(const Objects& objects) {
  constexpr unsigned kFrames = 30;
  if (objects.without_boxes() != kFrames) return;
  post("no boxes", problem(ErrorKind::kMismatch,
                           std::format("regions=objects found no boxes on {} frames", kFrames),
                           "put a detector before it: tensorinfer ! boxdecode"));
}

void ModelWarnings::left_out_tensors(size_t count) {
  if (count == 0) return;
  post("tensor-mtd",
       problem(ErrorKind::kUnsupported,
               std::format("{} tensors are not attached to their objects: a frame can "
                           "have {} boxes and tensors",
                           count, kMaxMtds),
               "run the model on fewer objects: set include-classes= or min-size="));
}

void ModelWarnings::no_batches(const InferProps& props, const Error& why) {
  if (props.batch_size <= 1) return;
  const bool named = why.hint.contains("batch-size=1");
  post(why.message(),
       problem(ErrorKind::kUnsupported,
               std::format("batch-size={} has no effect: {}", props.batch_size, why.statement()),
               why.hint + (named ? "" : ", or set batch-size=1")));
}

void InferStats::add_inferred(const InferTimes& times, GstClockTime time) {
  ++inferred_;
  time_ += time;
  last_ = times;
  timed_ += times.model_us > 0;
  for (auto each : {&InferTimes::input_us, &InferTimes::model_us, &InferTimes::queued_us})
    sum_.*each += times.*each;
}

void InferStats::add_between(bool held) {
  ++skipped_;
  held_ += held;
}

GstStructure* InferStats::structure(const BatchCounts& batches) const {
  const double frames = static_cast<double>(std::max<guint64>(inferred_, 1));
  const double timed = static_cast<double>(std::max<guint64>(timed_, 1));
  const double runs = static_cast<double>(std::max<uint64_t>(batches.batches, 1));
  return gst_structure_new(
      "tensorinfer-stats", "frames", G_TYPE_UINT64, inferred_ + skipped_, "inferred", G_TYPE_UINT64,
      inferred_, "skipped", G_TYPE_UINT64, skipped_, "held", G_TYPE_UINT64, held_, "late",
      G_TYPE_UINT64, late_, "time-per-frame-us", G_TYPE_DOUBLE,
      static_cast<double>(time_) / GST_USECOND / frames, "preprocess-us", G_TYPE_DOUBLE,
      sum_.input_us / timed, "inference-us", G_TYPE_DOUBLE, sum_.model_us / timed, "queue-us",
      G_TYPE_DOUBLE, sum_.queued_us / frames, "last-preprocess-us", G_TYPE_DOUBLE, last_.input_us,
      "last-inference-us", G_TYPE_DOUBLE, last_.model_us, "provider", G_TYPE_STRING,
      setup_.provider.c_str(), "provider-reason", G_TYPE_STRING, setup_.reason.c_str(), "runtime",
      G_TYPE_STRING, setup_.runtime.c_str(), "batch-size", G_TYPE_UINT, batches.capacity, "batches",
      G_TYPE_UINT64, guint64{batches.batches}, "batch-fill", G_TYPE_DOUBLE,
      static_cast<double>(batches.pictures) / runs, "batch-dropped", G_TYPE_UINT64,
      guint64{batches.dropped}, "cuda-graph", G_TYPE_BOOLEAN, setup_.graph ? TRUE : FALSE,
      "recognized", G_TYPE_STRING, setup_.recognized.c_str(), nullptr);
}

}  // namespace keepbox
