// SPDX-License-Identifier: LGPL-2.1-or-later
// The plan: everything about a stream of frames that is settled before the first one is decoded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/filter_settings.h"
#include "core/gather.h"
#include "core/layout.h"
#include "core/letterbox.h"
#include "core/result.h"
#include "core/rules.h"

namespace keepbox {

/// What the user asks for. Defaults are the element's.
struct Settings {
  std::string detector = "auto";
  std::shared_ptr<const DetectorSpec> family;  // in place of `detector`: one that is not in the table
  std::string told_contract;  // by the tensors' producer: the framework whose boxes are expected
  float told_iou_threshold = 0;  // the same; 0: none
  std::string told_detector;  // by the tensors' producer, in place of "auto"; numbers may deny it
  std::vector<std::string> tensor_ids;
  float score_threshold = 0.25f;  // of activated scores, which all families have in 0..1
  float iou_threshold = 0.45f;    // 0..1
  uint32_t max_detections = 300;
  uint32_t class_top_k = 0;    // most boxes of each class; 0: no limit
  uint32_t pre_nms_top_k = 0;  // best candidates that reach NMS; 0: all, or as many as the contract
                               // and the method take
  uint32_t pre_nms_class_top_k = 0;  // of each class, before the limit of all; 0: all
  bool default_score_threshold = false;  // a family's own counts in its place, where it has one
  bool default_iou_threshold = false;    // the same
  std::optional<bool> multi_label;       // a box for each class of an anchor; not set: as the family
  std::string contract = "auto";         // the family's, or exact
  bool class_agnostic = false;
  NmsMethod method = NmsMethod::kAuto;
  float soft_sigma = 0.5f;  // above 0: of methods with a gaussian
  std::vector<std::pair<uint32_t, float>> class_thresholds;  // class id, score threshold
  std::vector<uint32_t> include_classes;                     // empty: all
  std::vector<uint32_t> exclude_classes;
  FilterSettings filters;
  Units units = Units::kAuto;
  ResizeMode resize = ResizeMode::kStretch;
  Size model;            // the model's input; 0 x 0: found out
  Picture frame;         // the picture that boxes are wanted for; 0x0: the model's input
  Size tensor_frame;     // the picture that came with the tensors; 0 x 0: frame
  std::optional<Letterbox> letterbox;  // by the tensors' producer, in place of resize and model: from
                                       // a picture that `frame` is a scaled copy of. No size is 0
  uint32_t label_count = 0;
  uint32_t class_count = 0;  // of the model; 0: from shapes, prototypes, labels
  std::vector<Prior> priors;
  bool points = true;           // read, where the family has them
  bool masks = true;            // made, the same
  bool frame_masks = false;     // in the frame's resolution
};

/// What the tensors must look like for a plan to hold, beyond their number.
struct TensorForm {
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;
  float scale = 1, zero_point = 0;
  friend bool operator==(const TensorForm&, const TensorForm&) = default;
};

/// What is read of kept boxes beside their corners.
struct Gathering {
  PointRules points;
  PointSet point_set;  // what they are; without a name where that is not known
  MaskRules masks;

  bool any() const { return points.count != 0 || masks.coefficients != 0; }
};

/// Settled and validated. Kernels read it and nothing else.
struct Plan {
  const DetectorSpec* spec = nullptr;
  std::shared_ptr<const DetectorSpec> family;  // holds it, if it is not in the table
  Layout layout;
  Rules rules;
  Gathering gather;
  std::vector<float> class_threshold;   // by class id
  std::vector<uint8_t> class_wanted;    // by class id
  std::vector<Prior> priors;            // prior codings only
  std::vector<Level> levels;            // codings with cells only
  std::vector<AnchorSize> anchor_sizes;  // of those, where they are needed
  std::vector<SizeLimits> size_limits;  // by class id; empty: every size will do
  std::vector<Region> regions;          // as rules.regions says
  Letterbox letterbox;
  std::vector<TensorForm> forms;        // of the tensors that it reads, which fields number
  std::vector<uint32_t> reads;          // which of the tensors it was made from those are
  Units units = Units::kPixels;         // of decoded coordinates, as settled
  bool provisional = false;             // the data did not show its units yet: make it again
  bool has_ceiling = false;             // rules.pre_nms_top_k is the method's own
  Basis basis = Basis::kNamed;          // of kSet numbers that deny the family are a warning alone
  std::string remark;                   // what was recognised and assumed, for the log
  std::vector<Error> warnings;          // of what was set and cannot be meant, one each

  /// Of the vectors above.
  Tables tables() const {
    return {class_threshold.data(), class_wanted.data(),
            {priors.data(), levels.data(), anchor_sizes.data()},
            size_limits.empty() ? nullptr : size_limits.data(),
            regions.empty() ? nullptr : regions.data()};
  }

  /// Does the plan still hold for a frame with these tensors? Those that it does not read do not
  /// matter.
  bool holds_for(std::span<const TensorView> tensors) const;
};

/// Recognises the tensors and settles everything. Reads tensor data that is in system memory, to
/// tell 0..1 from pixels and to see whether it is the family's: numbers that deny one which was
/// recognised are kMismatch, of one that was set a warning.
Result<Plan> make_plan(const Settings& settings, std::span<const TensorView> tensors);

/// Gives a plan made with a producer's letterbox another one. @pre that has the same model size.
void refit(Plan& plan, const Letterbox& letterbox, Size frame);

/// Gives a plan other thresholds, classes, sizes and regions: all of settings that a plan need not be made anew for.
Status retune(Plan& plan, const Settings& settings);

}  // namespace keepbox
