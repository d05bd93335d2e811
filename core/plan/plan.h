// SPDX-License-Identifier: LGPL-2.1-or-later
// The plan: everything that is settled before the first frame of a stream is decoded.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formula/filter.h"
#include "core/formula/keypoint.h"
#include "core/formula/letterbox.h"
#include "core/formula/mask.h"
#include "core/formula/rules.h"
#include "core/plan/tiles.h"
#include "core/recognition/layout.h"
#include "core/recognition/recognise.h"

namespace keepbox {

/// Size in frame pixels; 0: any.
struct BoxSize {
  float width = 0, height = 0;
  friend bool operator==(BoxSize, BoxSize) = default;
};

/// Size for all classes, with exceptions by class id.
struct BoxSizes {
  BoxSize all;
  std::vector<std::pair<uint32_t, BoxSize>> of_class;
  friend bool operator==(const BoxSizes&, const BoxSizes&) = default;
};

struct FilterSettings {
  BoxSizes min_size, max_size;
  std::vector<Region> regions;  // a box has to belong to one of them; empty: anywhere
  std::vector<Region> excluded;
  RegionRule rule = RegionRule::kCenter;
};

/// Settings of the user. Defaults are those of the element.
struct Settings {
  std::string detector = "auto";
  std::shared_ptr<const DetectorSpec> family;  // overrides `detector`; not in the table
  std::string
      declared_contract;  // declared by the producer: the framework whose boxes are expected
  float declared_iou_threshold = 0;  // declared by the producer; 0: none
  std::string declared_detector;  // family declared by the producer; overrides "auto", rejected if
                                  // the values contradict it
  std::vector<std::string> tensor_ids;
  std::optional<float> score_threshold;  // for activated scores, which are in 0..1 for all
                                         // families; unset: the family's, or kScoreThreshold
  std::optional<float> iou_threshold;    // 0..1; unset: the family's, the declared one, or
                                         // kIouThreshold
  uint32_t max_detections = 300;
  uint32_t class_top_k = 0;    // maximum boxes per class; 0: no limit
  uint32_t pre_nms_top_k = 0;  // best candidates that reach NMS; 0: all, up to the limit of the
                               // contract or the method
  uint32_t pre_nms_class_top_k = 0;   // per class, before pre_nms_top_k; 0: all
  std::optional<bool> multi_label;    // one box per class; unset: the family's default
  std::string nms_contract = "auto";  // auto: the family's, or exact
  bool class_agnostic = false;
  NmsMethod nms_method = NmsMethod::kAuto;
  float nms_sigma = 0;  // for gaussian methods, positive; 0: the family's
  std::vector<std::pair<uint32_t, float>> class_thresholds;  // class id, score threshold
  std::optional<float> track_score_threshold;  // lower one, for boxes that only a tracker uses
  std::vector<uint32_t> include_classes;       // empty: all
  std::vector<uint32_t> exclude_classes;
  FilterSettings filters;
  Units units = Units::kAuto;
  ResizeMode resize_mode = ResizeMode::kStretch;
  Size model_size;  // model input; 0 x 0: detected
  Picture frame;    // picture that boxes refer to; 0 x 0: the model input
  std::optional<Letterbox>
      letterbox;            // from the producer, overrides resize_mode and model_size: the map to
                            // a picture of which `frame` is a scaled copy. No size is 0
  std::vector<Tile> tiles;  // from the producer, of that picture: the images of a batch
                            // are its tiles. Empty: each image is a frame
  TileRules tile_rules;
  bool parts = false;  // images are crops of a frame, possibly rotated; the caller maps boxes back
  uint32_t label_count = 0;
  uint32_t num_classes = 0;   // of the model; 0: from shapes, prototypes, labels
  bool dynamic_rows = false;  // declared by the producer: the number of rows is dynamic
  std::vector<Prior> priors;
  bool keypoints = true;  // decode keypoints if the family has them
  MaskSize mask_size = MaskSize::kPrototypes;
};

/// Thresholds of settings and families that have none.
inline constexpr float kScoreThreshold = 0.25f, kIouThreshold = 0.45f;

/// Form of a tensor that a plan requires.
struct TensorForm {
  std::string id;
  DataType type = DataType::kFloat32;
  Shape shape;
  float scale = 1, zero_point = 0;
  friend bool operator==(const TensorForm&, const TensorForm&) = default;
};

/// The payload of kept boxes.
struct PayloadPlan {
  PayloadKind kind;
  uint32_t count = 0;  // values per box; 0: no payload
  bool mean = false;   // values are means, weighted by score, over all boxes merged into one
  // Keypoints and masks:
  KeypointRules keypoints;
  PointSet point_set;  // meaning of the keypoints; without a name if unknown
  MaskRules masks;

  bool any() const { return count != 0; }
  bool has(Moves moves) const { return any() && kind.moves == moves; }
  friend bool operator==(const PayloadPlan&, const PayloadPlan&) = default;
};

/// Settled and validated settings, the only input of kernels besides tensors.
struct Plan {
  const DetectorSpec* spec = nullptr;
  std::shared_ptr<const DetectorSpec> family;  // owns the spec of a family that is not in the table
  Layout layout;
  Rules rules;
  PayloadPlan payload;
  std::vector<float> class_threshold;    // by class id
  std::vector<float> output_threshold;   // by class id; boxes that do not pass it are for trackers
                                         // only; empty: all boxes pass
  std::vector<uint8_t> class_wanted;     // by class id
  std::vector<Prior> priors;             // prior codings only
  std::vector<Level> levels;             // codings with cells only
  std::vector<AnchorSize> anchor_sizes;  // of the levels, if needed
  std::vector<SizeLimits> size_limits;   // by class id; empty: no limits
  std::vector<Region> regions;           // as described by rules.regions
  std::vector<Region> part_regions;      // of Settings::parts, for the caller, as described by
  RegionRules part_rules;                // part_rules; then there are no other regions
  Letterbox letterbox;
  std::vector<Letterbox> maps;  // of a joint plan (see below), one per image; otherwise empty
  std::vector<Tile> tiles;      // of the frame, one per image; empty: each image is a frame
  TileRules tile_rules;
  uint32_t tile_detections = 0;   // maximum boxes of a frame with tiles
  uint32_t tile_class_limit = 0;  // maximum of a class
  std::vector<TensorForm> forms;  // of the tensors that it reads, indexed by fields
  std::vector<uint32_t> reads;    // indices of these tensors among those of make_plan()
  Units units = Units::kPixels;   // of decoded coordinates
  bool provisional = false;       // values did not determine family or units: make a new plan
                                  // for the next frame
  bool has_ceiling = false;       // rules.pre_nms_top_k is the method's own limit
  Basis basis = Basis::kNamed;    // if kSet, values only warn about the family
  std::string remark;             // what was recognised and assumed, for the log
  std::vector<Error> warnings;    // one per implausible setting

  /// Returns the map between the frame and an image.
  const Letterbox& letterbox_of(uint32_t image) const {
    if (is_joint()) return maps[image];
    return tiles.empty() ? letterbox : tiles[image].letterbox;
  }

  /// True if each image is a frame with tensors of its own.
  bool is_joint() const { return !maps.empty(); }
  /// True if each image has its own map.
  bool has_maps() const { return is_joint() || !tiles.empty(); }
  /// Returns the number of images of a run. @param tensors of all of them.
  uint32_t images_of(std::span<const TensorView> tensors) const {
    return is_joint() ? static_cast<uint32_t>(tensors.size() / forms.size()) : layout.images;
  }
  /// Returns the tensors that have an image.
  std::span<const TensorView> tensors_of(std::span<const TensorView> tensors,
                                         uint32_t image) const {
    return is_joint() ? tensors.subspan(image * forms.size(), forms.size()) : tensors;
  }

  /// Returns the maximum number of frames: all images together are one if they are its tiles.
  uint32_t frames() const { return tiles.empty() ? layout.images : 1; }

  /// Returns pointers to the tables above.
  Tables tables() const {
    return {class_threshold.data(),
            class_wanted.data(),
            {priors.data(), levels.data(), anchor_sizes.data()},
            size_limits.empty() ? nullptr : size_limits.data(),
            regions.empty() ? nullptr : regions.data()};
  }

  /// True if the plan holds for a frame with these tensors. Tensors that it does not read are
  /// ignored.
  bool holds_for(std::span<const TensorView> tensors) const;

  friend bool operator==(const Plan&, const Plan&) = default;
};

/// Recognises the tensors and settles everything. Reads tensor values in system memory, to
/// distinguish 0..1 from pixels and to check the family: values that contradict a recognised family
/// are kMismatch, those that contradict a set family are a warning.
Result<Plan> make_plan(const Settings& settings, std::span<const TensorView> tensors);

/// Returns the plan of suppression alone, of boxes that come from no tensors: corners, or centre,
/// size and angle. fit_to() sets its limits. Only the settings of suppression apply. A
/// score_threshold of minus infinity lets all finite scores pass.
Result<Plan> plan_suppression(const Settings& settings, bool oriented);

/// Sets the limits of that plan for a number of boxes, up to kMaxAnchors.
/// @param settings those of the plan.
void fit_to(Plan& plan, const Settings& settings, uint32_t boxes);

/// Replaces the letterbox of a plan made with a producer's letterbox. @pre the model size is the
/// same, and so is the number of tiles. @param tiles those of the producer; empty for none.
void refit(Plan& plan, const Letterbox& letterbox, std::span<const Tile> tiles, Size frame);

/// Changes the settings that need no new plan: thresholds, classes, sizes and regions.
Status retune(Plan& plan, const Settings& settings);

// Joint plans: several frames with tensors of their own, such as one of each stream, in one run.

/// True if frames of this plan can have a joint plan: each is one image, and its rows do not name
/// an image.
bool can_join(const Plan& plan);

/// Returns a plan for up to `frames` frames at a time, each with tensors of the plan's forms and
/// with its own map. @pre can_join(plan)
Plan joint_plan(Plan plan, uint32_t frames);

/// True if both plans make the same boxes of the same tensors, except for the maps to their frames.
bool are_alike(const Plan& a, const Plan& b);

/// True if tensors follow each other in memory, one by one.
/// @param tensors, next of two frames by the same plan.
bool are_adjacent(std::span<const TensorView> tensors, std::span<const TensorView> next);

}  // namespace keepbox
