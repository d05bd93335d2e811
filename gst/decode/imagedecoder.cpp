// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes images one by one; those of tiles are decoded together.
#include "gst/decode/imagedecoder.h"

#include <algorithm>
#include <format>
#include <string>
#include <utility>

#include "core/plan/limits.h"
#include "core/recognition/value_checks.h"
#include "gst/metas/attachboxes.h"
#include "gst/metas/readboxes.h"
#include "gst/tensors/decodednote.h"

namespace keepbox {

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
  if (!boxes_.keep_best(room_on(buffer), stream_.props.class_meta)) return;
  stream_.warn_once(
      problem(ErrorKind::kInvalid,
              std::format("Only the best {} of {} parts are kept: a frame holds at most {} boxes, "
                          "parts included, or half as many with masks or class-meta=true",
                          boxes_.boxes().size(), found, kMaxMtds),
              "lower max-detections=, which counts per object, or raise score-threshold="));
}

Size ImageDecoder::frame() const {
  if (processor_ && !processor_.of_objects()) return processor_->plan().letterbox.frame;
  const DecodeProps& props = stream_.props;
  return props.source_width != 0 && props.source_height != 0
             ? Size{props.source_width, props.source_height}
             : stream_.picture.size;
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

}  // namespace keepbox
