// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes frames with the current processor, marks what was decoded, and falls back to the CPU.
#include "gst/decode/decoder.h"

#include <algorithm>
#include <utility>

#include "core/plan/nms_limits.h"
#include "core/recognition/recognise.h"
#include "core/recognition/value_checks.h"
#include "core/run/masks.h"
#include "gst/base/enums.h"
#include "gst/base/error.h"
#include "gst/decode/decodeenums.h"
#include "gst/metas/pixelway.h"
#include "gst/tensors/decodednote.h"

namespace keepbox {
namespace {

bool have_cuda_backend() {
  return std::ranges::contains(backends(), MemorySpace::kCuda, &Backend::memory);
}

/// True if a tensor with that id, which no plan reads, is meant for this decoder: tensor-ids lists
/// it or, without such a list, it has no id.
bool is_own(const DecodeProps& props, std::string_view id) {
  const auto ids = ids_of(props.tensor_ids);
  return ids.empty() ? id.empty() : std::ranges::contains(ids, id);
}

/// True if there are tensors of that source's element.
bool has_tensors_of(const FrameTensors& tensors, const SharedTensorSource& source) {
  for (size_t i = 0; i < tensors.listed().size(); ++i)
    if (same_element(tensors.source(i), source)) return true;
  return false;
}

/// True if the inference element skipped this frame on purpose, so that any tensors on it belong to
/// another decoder. @param own the source of the tensors that were decoded last
bool is_skipped(GstBuffer* buffer, const FrameTensors& tensors, const std::string& tensor_ids,
                const SharedTensorSource& own) {
  if (!was_skipped(buffer)) return false;
  if (was_skipped_by(buffer, own) && !has_tensors_of(tensors, own)) return true;
  const auto ids = ids_of(tensor_ids);
  return tensors.listed().empty() ||
         (!ids.empty() && std::ranges::none_of(tensors.listed(), [&](const TensorView& tensor) {
           return std::ranges::contains(ids, tensor.id);
         }));
}

/// Reports why there are no tensors for this decoder.
Status check_any(GstBuffer* buffer, const FrameTensors& tensors) {
  if (!tensors.listed().empty()) return {};
  FrameTensors all;
  KB_TRY(all.look(buffer));
  if (all.listed().empty()) return {};
  return fail(ErrorKind::kMismatch, "tensors that no decoder upstream has decoded",
              "only decoded ones: " + to_string(all.listed()),
              "put an inference element between the two decoders, or remove one of them");
}

}  // namespace

bool Decoder::takes_cuda(std::string_view name) {
  const Backend* backend = find_backend(name);
  return backend != nullptr && backend->memory == MemorySpace::kCuda;
}

void Decoder::set_props(DecodeProps props) {
  if (began_)
    for (const Error& wrong : files_.keep_right(props, props_)) post_warning(element_, wrong);
  if (props == props_) return;
  const bool same_classes = props.include_classes == props_.include_classes &&
                            props.exclude_classes == props_.exclude_classes;
  const bool labels = processor_ && processor_->plan().rules.multi_label;  // sized for the classes
  if (only_tuned(props, props_) && (same_classes || !labels)) {
    tuned_ = true;
  } else {
    drop_processor();
    settled_.reset();
  }
  if (props.cuda_device_id != props_.cuda_device_id) cuda_.clear();
  if (props.backend != props_.backend) failed_.clear();
  if (props.threads != props_.threads) threads_ = make_worker_threads(props.threads);
  if (props.quantization != props_.quantization)
    quantization_ = Quantization::from(props.quantization);
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
  backend_ = wanted_backend(chosen_backend());  // the environment may have changed
  failed_.clear();
  announced_.clear();
  told_.clear();
  warned_.clear();
  KB_TRY(files_.check(props_));
  if (!quantization_) return std::unexpected(quantization_.error());
  if (!takes_cuda(backend_)) return {};
  auto context = cuda_.ensure(element_, props_.cuda_device_id, kWithoutCuda);
  device_failed_ = !context;
  if (!context) return std::unexpected(context.error());
  return {};
}

void Decoder::stop() {
  began_ = false;
  decoded_.reset();
  drop_processor();
  settled_.reset();
  cuda_.clear();
  files_ = {};
}

/// Destroys the processor in its own CUDA context, which must outlive it.
void Decoder::drop_processor() {
  {
    const CudaScope scope(home_);
    processor_.reset();
  }
  source_.reset();
  home_ = {};
  unsupported_.clear();
}

Status Decoder::retune() {
  if (!std::exchange(tuned_, false) || !processor_) return {};
  const auto wanted = files_.settings(props_, picture_, source_);
  if (!wanted) {
    tuned_ = true;
    return std::unexpected(wanted.error());
  }
  const CudaScope scope(home_);
  KB_TRY(scope.status());
  if (Status status = processor_->retune(*wanted); !status) {
    tuned_ = true;  // the processor may be partly changed
    return status;
  }
  for (const Error& warning : processor_->plan().warnings) warn_once(warning);
  return {};
}

MemorySpace Decoder::wanted_memory() const {
  const bool device = automatic() ? failed_.empty() && unsupported_.empty() && have_cuda_backend()
                                  : takes_cuda(backend_);
  return device ? MemorySpace::kCuda : MemorySpace::kSystem;
}

bool Decoder::fits(const FrameTensors& tensors) const {
  return processor_ && processor_->plan().holds_for(tensors.listed()) &&
         std::ranges::all_of(processor_->plan().reads, [&](uint32_t number) {
           return same_producer(tensors.source(number), source_);
         });
}

/// Follows the picture's place in the model input, which may change per frame. @pre fits().
void Decoder::follow(const FrameTensors& tensors) {
  const Plan& plan = processor_->plan();
  SharedTensorSource now = tensors.source(plan.reads.front());
  if (now == source_) return;
  if (now->has_geometry() && now->geometry != source_->geometry)
    processor_->refit(now->geometry, plan.letterbox.frame);
  source_ = std::move(now);
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
  downloaded_now_ = downloaded_now_ || tensors.downloaded();
  device_failed_ = !mapped && mapped.error().kind == ErrorKind::kNoResource;
  return mapped;
}

/// Decodes the tensors; the processor is made again if they are not where it expects them.
Status Decoder::run(FrameTensors& tensors) {
  KB_TRY(retune());
  bool ready = fits(tensors);
  if (ready) {
    follow(tensors);
    KB_TRY(fetch(tensors, processor_->plan().reads, wanted_memory()));
    ready = reads_ == tensors.space() && (!tensors.context() || tensors.context() == home_);
  }
  if (!ready) KB_TRY(prepare(tensors));
  const CudaScope scope(home_);
  KB_TRY(scope.status());
  return processor_->run(tensors.views());
}

Status Decoder::quantize(FrameTensors& tensors) {
  if (!quantization_) return std::unexpected(quantization_.error());
  const auto warning = quantization_->apply(tensors);
  if (warning && !tensors.listed().empty()) warn_once(*warning);
  const auto family = files_.family(props_);
  if (!family) return std::unexpected(family.error());
  if (*family != nullptr) quantize_as(**family, tensors, ids_of(props_.tensor_ids));
  return {};
}

/// Maps boxes through what elements after inference did to the picture, onto the current frame.
Status Decoder::follow_picture(GstBuffer* buffer, FrameTensors& tensors) {
  const auto mode = static_cast<ResizeMode>(props_.resize_mode);
  for (size_t i = 0; i < tensors.listed().size(); ++i) {
    SharedTensorSource source = tensors.source(i);
    if (source == nullptr) continue;
    const Size seen = source->geometry.frame;
    if (source->producer != 0 && source->has_geometry()) {
      const auto map = map_from_inferred(buffer, source->producer, picture_, mode);
      if (!map && seen != picture_.size)
        return fail(ErrorKind::kMismatch,
                    "frames of " + std::to_string(seen.width) + "x" + std::to_string(seen.height) +
                        " pixels, as the model saw them",
                    std::to_string(picture_.size.width) + "x" +
                        std::to_string(picture_.size.height) +
                        " pixels after an element that dropped the transform metadata",
                    "put boxdecode directly after the inference element");
      if (map && map->rows() != PixelMap().rows()) {
        source = moved_source(source, seen, picture_.size, *map);
        tensors.set_source(i, source);
      }
    }
    if (source->lost_geometry)
      return fail(ErrorKind::kMismatch, "tensors for the picture as it is now",
                  "a picture that was flipped or rotated after inference",
                  "put boxdecode before the element that flips it, or before framerestore");
  }
  return {};
}

Status Decoder::attempt(GstBuffer* buffer) {
  boxes_.clear();
  route_ = Route::kHost;
  planned_now_ = downloaded_now_ = false;
  FrameTensors tensors;
  KB_TRY(tensors.look(buffer, Which::kUndecoded));
  skipped_ = is_skipped(buffer, tensors, props_.tensor_ids, decoded_);
  if (skipped_) return {};
  KB_TRY(check_any(buffer, tensors));
  KB_TRY(follow_picture(buffer, tensors));
  KB_TRY(quantize(tensors));
  KB_TRY(run(tensors));
  if (const Plan& plan = processor_->plan(); !processor_->detections().empty())
    KB_TRY(believe(plan, check_best_score(plan.layout, processor_->detections()[0].score)));
  const Funnel& funnel = processor_->funnel();
  if (const auto warning =
          ceiling_reached(processor_->plan(), funnel.after_class_filter, funnel.after_top_k))
    warn_once(*warning);
  if (downloaded_now_) route_ = Route::kDownloaded;
  else if (on_device()) route_ = tensors.context() ? Route::kZeroCopy : Route::kUploaded;
  KB_TRY(take_boxes());
  mark(buffer, tensors);
  decoded_ = source_;
  began_ = true;
  return {};
}

Status Decoder::take_boxes() {
  const std::string& told = source_ != nullptr ? source_->model : props_.model_name;
  const std::string& name = props_.model_name.empty() ? told : props_.model_name;
  const bool unnamed = name.empty();
  const GQuark model = g_quark_from_string(unnamed ? GST_OBJECT_NAME(element_) : name.c_str());
  for (const Detection& det : processor_->detections())
    boxes_.push_back({.box = det.box,
                      .score = det.score,
                      .angle = det.angle,
                      .label = labels_->quark(det.class_id),
                      .class_id = det.class_id,
                      .anchor = det.anchor,
                      .model = model,
                      .unnamed = unnamed,
                      .held = source_ != nullptr && source_->held});
  take_payload();
  return take_masks();
}

/// Points and values are owned by the processor until its next run.
void Decoder::take_payload() {
  const PayloadPlan& payload = processor_->plan().payload;
  const PointSet& set = payload.point_set;
  const GQuark name = set.name.empty() ? 0 : g_quark_from_string(std::string(set.name).c_str());
  for (size_t i = 0; set.count != 0 && i < boxes_.size(); ++i)
    boxes_[i].points = {processor_->points().subspan(i * set.count, set.count), set.edges, name};
  if (!payload.has(Moves::kFixed)) return;
  const GQuark kind = g_quark_from_string(std::string(payload.kind.name).c_str());
  for (size_t i = 0; i < boxes_.size(); ++i)
    boxes_[i].values = {processor_->payload().subspan(i * payload.count, payload.count), kind};
}

Status Decoder::take_masks() {
  if (processor_->masks().empty()) return {};
  std::vector<MaskPixels> masks;
  for (const Mask& mask : processor_->masks())
    masks.push_back({mask.pixels, mask.width, mask.height, mask.place});
  masks_ = make_mask_buffers(masks);
  for (size_t i = 0; i < boxes_.size(); ++i) {
    boxes_[i].mask = masks_[i];
    if (masks[i].width != 0 && masks[i].height != 0 && masks_[i].pixels == nullptr)
      return fail(ErrorKind::kNoResource, "enough memory for the masks of a frame", "too little",
                  "set mask-size=prototypes, or lower max-detections");
  }
  if (processor_->plan().rules.contract.drop_empty_masks) drop_empty_masks();
  return {};
}

/// Drops boxes whose mask is empty.
void Decoder::drop_empty_masks() {
  const std::span<const Mask> masks = processor_->masks();
  size_t kept = 0;
  for (size_t i = 0; i < masks.size(); ++i) {
    const std::span pixels(masks[i].pixels, size_t{masks[i].width} * masks[i].height);
    if (std::ranges::contains(pixels, 1)) boxes_[kept++] = boxes_[i];
  }
  boxes_.resize(kept);
}

/// Marks the tensors of this source for decoders downstream; without a source, those whose ids the
/// family knows; if it was recognised by shape alone, all.
void Decoder::mark(GstBuffer* buffer, const FrameTensors& tensors) const {
  const Plan& plan = processor_->plan();
  const auto known = [&](const TensorForm& form) {
    return std::ranges::any_of(plan.spec->rules(), [&](const TensorRule& rule) {
      return rule.has(form.id) || rule.has_plain(form.id);
    });
  };
  if (!props_.tensor_ids.empty() ||
      (source_ == nullptr && std::ranges::any_of(plan.forms, known))) {
    tensors.mark_decoded(buffer, plan.reads);
    return;
  }
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < tensors.listed().size(); ++i)
    if (same_source(tensors.source(i), source_)) all.push_back(i);
  tensors.mark_decoded(buffer, all);
}

/// Marks this decoder's tensors even if they could not be decoded, so that the next one skips them.
void Decoder::mark_refused(GstBuffer* buffer) const {
  FrameTensors tensors;
  if (!tensors.look(buffer, Which::kUndecoded)) return;
  if (fits(tensors)) return mark(buffer, tensors);
  std::vector<uint32_t> own;
  const SharedTensorSource first =
      tensors.listed().empty() || !props_.tensor_ids.empty() ? nullptr : tensors.source(0);
  for (uint32_t i = 0; i < tensors.listed().size(); ++i)
    if (is_own(props_, tensors.listed()[i].id) ||
        (first != nullptr && same_source(tensors.source(i), first)))
      own.push_back(i);
  tensors.mark_decoded(buffer, own);
}

/// Decodes the same frame again. If that fails too, the cause is the tensors, not the device.
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

/// Accepts a family that was set even if the values contradict it, with a warning.
Status Decoder::believe(const Plan& plan, const Status& numbers) {
  if (numbers || plan.basis != Basis::kSet) return numbers;
  warn_once(numbers.error());
  return {};
}

void Decoder::warn_once(const Error& error) {
  if (warned_.insert(error.expected).second) post_warning(element_, error);
}

}  // namespace keepbox
