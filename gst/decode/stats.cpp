// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts frames and fills the stats structure.
#include "gst/decode/stats.h"

#include <algorithm>

namespace keepbox {
namespace {

constexpr uint32_t kFewAnchors = 100;
constexpr uint32_t kSmallSide = 64;  // two cells of the usual largest stride

constexpr const char* kOverflow =
    "use a float32 or bfloat16 export of the model: its numbers may be too large for float16; "
    "check the value range of the model input (input-std= of tensorinfer) too";

bool is_small(Size input) { return std::min(input.width, input.height) <= kSmallSide; }

/// Returns how many values of its payload a box has, 0 if that moves in another way.
guint values_per_box(const PayloadPlan& payload, Moves moves) {
  return payload.has(moves) ? payload.count : 0;
}

double microseconds(GstClockTime time) { return static_cast<double>(time) / GST_USECOND; }

void set_numbers(GstStructure* out, const char* name, std::span<const guint> numbers) {
  GValue list = G_VALUE_INIT, number = G_VALUE_INIT;
  gst_value_array_init(&list, static_cast<guint>(numbers.size()));
  g_value_init(&number, G_TYPE_UINT);
  for (const guint each : numbers) {
    g_value_set_uint(&number, each);
    gst_value_array_append_value(&list, &number);
  }
  gst_structure_take_value(out, name, &list);
}

}  // namespace

void DecodeStats::set_processor(const Processor& processor) {
  const Plan& plan = processor.plan();
  input_ = plan.letterbox.model;
  detector_ = plan.spec->name;
  payload_ = plan.payload;
  recognised_ = plan.remark;
  backend_ = processor.backend().name;
  backend_reason_ = processor.backend_reason();
}

void DecodeStats::add(const Funnel* funnel, Route route, size_t boxes, size_t weak,
                      GstClockTime time) {
  ++frames_;
  if (funnel == nullptr) ++mismatches_;
  zero_copy_ += route == Route::kZeroCopy;
  uploaded_ += route == Route::kUploaded;
  downloaded_ += route == Route::kDownloaded;
  last_ = funnel != nullptr ? *funnel : Funnel{};
  for (auto count : {&Funnel::anchors, &Funnel::above_threshold, &Funnel::not_finite,
                     &Funnel::after_class_filter, &Funnel::clipped_away, &Funnel::filtered_out,
                     &Funnel::empty_masks})
    max_counts_.*count = std::max(max_counts_.*count, last_.*count);
  boxes_ += boxes;
  weak_ += weak;
  last_boxes_ = static_cast<guint>(boxes);
  last_weak_ = static_cast<guint>(weak);
  time_ += time;
  last_time_ = time;
}

void DecodeStats::set_scores(const ScoreCount& scores) {
  scores_.all += scores.all;
  scores_.not_finite += scores.not_finite;
  last_.not_finite += static_cast<uint32_t>(scores.not_finite);
}

void DecodeStats::add_skipped(GstClockTime time) {
  ++frames_;
  ++skipped_;
  last_ = {};
  last_boxes_ = last_weak_ = 0;
  time_ += time;
  last_time_ = time;
}

std::optional<Error> DecodeStats::why_no_box() const {
  const guint64 looked_at = frames_ - skipped_;
  if (looked_at == 0 || boxes_ != 0) return std::nullopt;
  const auto none = [&](const std::string& why, std::string hint) {
    return problem(ErrorKind::kMismatch,
                   "No box on any of " + std::to_string(looked_at) + " frames: " + why,
                   std::move(hint));
  };
  if (mismatches_ == looked_at)
    return none("their tensors were missing or did not fit",
                "see the warnings, or set on-mismatch=warn to get them");
  if (weak_ != 0)
    return none("all scores were between track-score-threshold and score-threshold",
                "lower score-threshold=");
  if (max_counts_.anchors == 0)
    return none("the tensors had no rows", "check that the model finds objects in these pictures");
  if (max_counts_.above_threshold == 0 && scores_.not_finite != 0)
    return none(std::to_string(scores_.not_finite * 100 / scores_.all) +
                    "% of the scores were not finite (NaN or infinite)",
                kOverflow);
  const std::string low = "no score of " + std::to_string(max_counts_.anchors) +
                          " anchors per frame exceeded the score threshold";
  if (max_counts_.above_threshold == 0 && max_counts_.anchors < kFewAnchors && is_small(input_))
    return none(low + ", and the model's input was only " + std::to_string(input_.width) + "x" +
                    std::to_string(input_.height) + " pixels",
                "lower score-threshold=, use larger frames, or enlarge the input: with input-size= "
                "of tensorinfer if its size is dynamic, or by another export");
  if (max_counts_.above_threshold == 0)
    return none(low,
                "lower score-threshold=, or check the model input: channel order and value range "
                "(input-std= of tensorinfer)");
  if (max_counts_.after_class_filter == 0 && max_counts_.not_finite != 0)
    return none("all candidates had numbers that were not finite (NaN or infinite)", kOverflow);
  if (max_counts_.after_class_filter == 0)
    return none("all candidates had classes that are dropped", "check include-classes=");
  if (max_counts_.filtered_out != 0)
    return none("all boxes were dropped by size or region filters",
                "check min-size=, max-size= and regions=");
  if (max_counts_.clipped_away != 0)
    return none("all boxes were outside the frame",
                "set resize-mode= and model-size= to match how the frame was resized");
  if (max_counts_.empty_masks != 0)
    return none("all masks were empty", "set nms-contract=exact to keep boxes with an empty mask");
  return none("max-detections is 0", "set max-detections= to 1 or more");
}

GstStructure* DecodeStats::structure() const {
  const double each = frames_ == 0 ? 0 : microseconds(time_) / static_cast<double>(frames_);
  GstStructure* out = gst_structure_new(
      "boxdecode-stats", "frames", G_TYPE_UINT64, frames_, "mismatches", G_TYPE_UINT64, mismatches_,
      "skipped-frames", G_TYPE_UINT64, skipped_, "runs", G_TYPE_UINT64, runs_, "boxes",
      G_TYPE_UINT64, boxes_, "zero-copy-frames", G_TYPE_UINT64, zero_copy_, "uploaded-frames",
      G_TYPE_UINT64, uploaded_, "downloaded-frames", G_TYPE_UINT64, downloaded_,
      "time-per-frame-us", G_TYPE_DOUBLE, each, "last-time-us", G_TYPE_DOUBLE,
      microseconds(last_time_), "anchors", G_TYPE_UINT, last_.anchors, "above-threshold",
      G_TYPE_UINT, last_.above_threshold, "not-finite", G_TYPE_UINT, last_.not_finite,
      "after-class-filter", G_TYPE_UINT, last_.after_class_filter, "after-top-k", G_TYPE_UINT,
      last_.after_top_k, "kept", G_TYPE_UINT, last_.kept, "clipped-away", G_TYPE_UINT,
      last_.clipped_away, "filtered-out", G_TYPE_UINT, last_.filtered_out, "merged-away",
      G_TYPE_UINT, last_.merged_away, "empty-masks", G_TYPE_UINT, last_.empty_masks, "for-tracker",
      G_TYPE_UINT, last_weak_, "attached", G_TYPE_UINT, last_boxes_, "keypoints", G_TYPE_UINT,
      values_per_box(payload_, Moves::kAsPoints) / kPointValues, "masks", G_TYPE_BOOLEAN,
      payload_.has(Moves::kAsMask), "embedding", G_TYPE_UINT,
      values_per_box(payload_, Moves::kFixed), "detector", G_TYPE_STRING, detector_.c_str(),
      "recognized", G_TYPE_STRING, recognised_.c_str(), "backend", G_TYPE_STRING, backend_.c_str(),
      "backend-reason", G_TYPE_STRING, backend_reason_.c_str(), nullptr);
  if (!image_boxes_.empty()) set_numbers(out, "image-boxes", image_boxes_);
  return out;
}

}  // namespace keepbox
