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
#include "gst/infer/settings.h"
#include "gst/metas/boxes.h"
#include "gst/metas/objecttensors.h"
#include "gst/metas/pixelmap.h"
#include "gst/tensors/provenance.h"
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
      like_(like),
      cuda_(like != nullptr ? like->cuda_ : std::make_shared<SharedCuda>()),
      warnings_(like != nullptr ? like->warnings_ : std::make_shared<ModelWarnings>(element)) {}

/// Destroys the previous inferencer outside of the lock, because it waits for its pending work.
void Model::take(std::unique_ptr<Inferencer> inferencer) {
  const std::lock_guard guard(lock_);
  if (inferencer && interrupted_) inferencer->interrupt(true);
  inferencer_.swap(inferencer);
}

void Model::interrupt(bool on) {
  const std::lock_guard guard(lock_);
  interrupted_ = on;
  if (awaited_ != nullptr) awaited_->interrupt(on);
  if (inferencer_) inferencer_->interrupt(on);
}

Status Model::settle(const FamilyOfModel* family) {
  KB_ASSIGN(facts_, settle_by(props_, declaration_, family));
  if (declaration_.metadata_left_out > 0)
    facts_.warnings.push_back(
        "too much metadata: " + std::to_string(declaration_.metadata_left_out) +
        " keys were ignored");
  if (!declaration_.left_out.empty())
    facts_.remark += "; ignored outputs, not numeric tensors of up to 8 dimensions: " +
                     ports_text(declaration_.left_out);
  return {};
}

/// Takes the family from the downstream decoder, which is linked by now, else from the model's
/// files, else from a trial run. The input's size and type do not change.
Status Model::settle_family() {
  const auto wanted = query_family(element_);
  if (wanted && wanted->input.known())
    wanted_ = FamilyOfModel{.name = wanted->name,
                            .input = wanted->input,
                            .caveat = wanted->caveat,
                            .why = "detector=" + wanted->name + " of the decoder downstream",
                            .set = true};
  else wanted_.reset();
  if (wanted_) return settle(&*wanted_);
  KB_TRY(settle(nullptr));
  if (!facts_.unknown) return {};
  KB_TRY(try_family());
  if (!*tried_) {
    GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "trial run did not reveal the family: %s",
                        tried_->error().message().c_str());
    return {};
  }
  return settle(&**tried_);
}

void Model::stop() {
  drain();
  forget();
  take(nullptr);
  load_.reset();
  trial_.reset();
  source_.reset();
  held_source_.reset();
}

void Model::drain() {
  if (inferencer_) inferencer_->drain();
}

/// Plans the pictures of frames. @pre info_ is set.
Result<Pictures> Model::plan(const Picture& picture) const {
  KB_ASSIGN(const FrameForm form, frame_form_of(info_));
  if (objects_) return plan_objects(form, picture, kMaxObjects, facts_.input);
  return plan_pictures(form, picture, tiles_, facts_.input, facts_.resize);
}

void Model::set_frames(const GstVideoInfo& info) {
  info_ = info;
  prepared_ = false;
  line_latency_ = info.fps_n > 0 ? gst_util_uint64_scale(props_.lookahead * GST_SECOND,
                                                         guint64(info.fps_d), guint64(info.fps_n))
                                 : 0;
}

void Model::expect(unsigned frames) {
  const unsigned max_frames = std::max(props_.lookahead + 1, frames);
  if (std::exchange(max_pending_, max_frames) != max_frames) prepared_ = false;
}

Status Model::prepare() {
  if (prepared_) return {};
  KB_TRY(open());
  KB_TRY(settle_family());
  const Picture picture = picture_of(info_);
  KB_ASSIGN(const Picture leading, leading_picture(picture, tiles_));
  KB_TRY(follow_frames(leading));
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "model input: %s", facts_.remark.c_str());
  warnings_->guesses(props_, facts_);
  KB_ASSIGN(Pictures pictures, plan(picture));
  forget();
  crops_ = pictures.crops;
  source_ = std::make_shared<const TensorProvenance>(
      TensorProvenance{.producer = number_,
                       .geometry = pictures.geometry,
                       .tiles = pictures.tiles,
                       .model = facts_.name,
                       .file = props_.model_file,
                       .detector = facts_.detector,
                       .contract = facts_.contract,
                       .iou_threshold = facts_.iou_threshold,
                       .units = facts_.units,
                       .labels = facts_.labels,
                       .labels_of = facts_.labels_of,
                       .dynamic_rows = has_open_rows(declaration_),
                       .objects = objects_.has_value()});
  TensorProvenance held = *source_;
  held.held = true;
  held_source_ = std::make_shared<const TensorProvenance>(std::move(held));
  KB_TRY(inferencer_->set_frames(std::move(pictures), info_, max_pending_));
  setup_.recognized = facts_.remark;
  setup_.graph = inferencer_->graph();
  check_batches();
  prepared_ = true;
  return {};
}

/// True if the error is that of a device that was chosen automatically.
bool Model::may_leave_device(const Error& error) const {
  return !interrupted_ && error.kind == ErrorKind::kNoResource && is_automatic(props_);
}

/// Falls back to the CPU if a GPU fails in mid-stream. Frames that are pending on it follow.
Result<std::vector<InferredTensor>> Model::infer_on_cpu(GstBuffer* frame,
                                                        const std::vector<ObjectCrop>& objects,
                                                        const Error& why) {
  if (setup_.provider == kCudaProvider) {
    take(nullptr);
    left_device_ = true;
    prepared_ = false;
    KB_TRY(leave_device(why));
  }
  KB_TRY(prepare());
  KB_ASSIGN(auto pending, inferencer_->begin(frame, 0, crops_of(objects)));
  return pending->finish();
}

Result<Model::StartedRun> Model::begin(GstBuffer* frame, uint64_t order) {
  StartedRun out;
  if (objects_) {
    KB_ASSIGN(out.objects, objects_->of(frame, *crops_, facts_.resize));
    warnings_->no_boxes(*objects_);
    add_left_out(frame, number_, objects_->left_out());
    if (out.objects.empty()) return out;
  }
  auto pending = inferencer_->begin(frame, order, crops_of(out.objects));
  if (pending) out.pending = std::move(*pending);
  else if (setup_.provider == kCudaProvider && may_leave_device(pending.error()))
    out.pending = std::make_unique<FailedStart>(std::move(pending.error()));
  else return std::unexpected(pending.error());
  return out;
}

Status Model::leave_out(GstBuffer* frame) {
  if (!objects_) return {};
  KB_TRY(objects_->leave_out(frame, crops_->frame.size));
  add_left_out(frame, number_, objects_->left_out());
  return {};
}

Status Model::finish(GstBuffer* frame, StartedRun begun) {
  forget_tensors();
  auto tensors = begun.pending->finish();
  if (!tensors && (setup_.provider == kCudaProvider || left_device_) &&
      may_leave_device(tensors.error()))
    tensors = infer_on_cpu(frame, begun.objects, tensors.error());
  KB_TRY(tensors);
  times_ = begun.pending->times();
  last_ = std::move(*tensors);
  for (const InferredTensor& tensor : last_) set_provenance(tensor.data.get(), source_);
  attach(frame);
  if (objects_)
    add_pictures(gst_buffer_get_analytics_relation_meta(frame), number_,
                 pictures_of(begun.objects, facts_.input.size));
  return props_.tensor_mtd ? attach_to_objects(frame) : Status{};
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
  if (last_.empty() || objects_) return false;
  if (!std::exchange(last_held_, true))
    for (InferredTensor& tensor : last_)
      tensor.data.reset(shared_data(tensor.data.get(), held_source_));
  attach(frame);
  return true;
}

void Model::attach(GstBuffer* frame) const {
  std::vector<NewTensor> tensors;
  for (size_t i = 0; i < last_.size(); ++i) {
    const ModelFacts::Output& output = facts_.outputs[i];
    tensors.push_back({.id = output.id,
                       .type = last_[i].type,
                       .shape = last_[i].shape,
                       .order = output.column_major ? GST_TENSOR_DIM_ORDER_COL_MAJOR
                                                    : GST_TENSOR_DIM_ORDER_ROW_MAJOR,
                       .data = gst_buffer_ref(last_[i].data.get())});
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
