// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers the GEnum types of boxdecode; those that list core's tables are made from them.
#include "gst/decode/decodeenums.h"

#include <span>
#include <string_view>
#include <vector>

#include "core/backend.h"
#include "core/contract.h"
#include "core/detector.h"
#include "gst/base/enums.h"

namespace keepbox {
namespace {

template <class Row>
std::vector<EnumValue> rows(std::span<const Row> table, std::string_view Row::*summary,
                        const char* automatic) {
  std::vector<EnumValue> values;
  if (automatic != nullptr) values.push_back({0, "auto", automatic});
  for (const Row& row : table)
    values.push_back({static_cast<int>(values.size()), row.name, row.*summary});
  return values;
}

}  // namespace

GType detector_type() {
  static const GType type = register_enum(
      "KeepboxDetector",
      rows(detectors(), &DetectorSpec::summary,
           "Recognised from the tensors' ids, or from their shapes where those are unambiguous"));
  return type;
}

GType contract_type() {
  static const GType type =
      register_enum("KeepboxNmsContract", rows(contracts(), &NmsContract::summary, nullptr));
  return type;
}

GType backend_type() {
  static const GType type = register_enum(
      "KeepboxBackend",
      rows(backends(), &Backend::summary, "The fastest that can read the tensors where they are"));
  return type;
}

GType nms_method_type() {
  static const GType type = register_enum(
      "KeepboxNmsMethod",
      {{static_cast<int>(NmsMethod::kAuto), "auto",
        "As the contract says, which is greedy for most; none for end-to-end models that did it "
        "themselves"},
       {static_cast<int>(NmsMethod::kGreedy), "greedy",
        "Exact greedy suppression by a better box that was kept"},
       {static_cast<int>(NmsMethod::kNone), "none", "Every box above the threshold is kept"},
       {static_cast<int>(NmsMethod::kBitmask), "bitmask",
        "The boxes of greedy, by words of an IoU mask as in Faster R-CNN's code"},
       {static_cast<int>(NmsMethod::kSegmented), "segmented",
        "The boxes of greedy, by sorting by class and resolving a mask for each class"},
       {static_cast<int>(NmsMethod::kFast), "fast",
        "One pass as in YOLACT: loses boxes that greedy keeps, for suppressed boxes suppress "
        "too"},
       {static_cast<int>(NmsMethod::kSoftLinear), "soft-linear",
        "A kept box lowers the scores of those that it overlaps beyond the threshold, to 1 - IoU "
        "of them"},
       {static_cast<int>(NmsMethod::kSoftGaussian), "soft-gaussian",
        "A kept box lowers the scores of all that it overlaps, to e^(-IoU^2 / sigma) of them"},
       {static_cast<int>(NmsMethod::kWeighted), "weighted",
        "A box becomes the mean, by scores, of those that it suppresses and itself, as in "
        "MediaPipe"},
       {static_cast<int>(NmsMethod::kDiou), "diou",
        "Greedy by the IoU less the squared distance of the centres, as a part of the squared "
        "diagonal around both"},
       {static_cast<int>(NmsMethod::kMatrix), "matrix",
        "SOLOv2's Matrix NMS: each score falls once, as with soft-gaussian, less so by boxes that "
        "are suppressed themselves"},
       {static_cast<int>(NmsMethod::kMatrixLinear), "matrix-linear",
        "The same, to 1 - IoU of the scores"},
       {static_cast<int>(NmsMethod::kMerge), "merge",
        "The boxes of greedy, each then the mean, by scores, of all that it overlaps, as in "
        "YOLOv5"}});
  return type;
}

GType units_type() {
  static const GType type = register_enum(
      "KeepboxBoxUnits",
      {{static_cast<int>(Units::kAuto), "auto", "Seen from the first frame's numbers"},
       {static_cast<int>(Units::kPixels), "pixels", "Pixels of the model's input"},
       {static_cast<int>(Units::kNormalized), "normalized",
        "Fractions of the model's input, 0 to 1"}});
  return type;
}

GType region_rule_type() {
  static const GType type = register_enum(
      "KeepboxRegionRule",
      {{static_cast<int>(RegionRule::kCenter), "center",
        "Its centre lies in the region, whose left and upper edges belong to it"},
       {static_cast<int>(RegionRule::kInside), "inside", "All of it lies in the region"},
       {static_cast<int>(RegionRule::kTouch), "touch", "Some of it lies in the region"}});
  return type;
}

GType on_mismatch_type() {
  static const GType type = register_enum(
      "KeepboxOnMismatch",
      {{static_cast<int>(OnMismatch::kError), "error", "An element error stops the stream"},
       {static_cast<int>(OnMismatch::kWarn), "warn",
        "An element warning, once for each cause; the frame goes on without boxes"},
       {static_cast<int>(OnMismatch::kPass), "pass", "The frame goes on without boxes"}});
  return type;
}

}  // namespace keepbox
