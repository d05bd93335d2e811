// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of named NMS contracts.
#include "core/contract.h"

#include <algorithm>

namespace keepbox {
namespace {

constexpr NmsContract kContracts[] = {
    {.name = "exact",
     .summary = "Score above, IoU above the threshold; no pixel added; classes compared by id "
                "(torchvision, Ultralytics and DeepStream without their offsets)"},
    {.name = "onnx",
     .summary = "ONNX NonMaxSuppression: as exact, corners in any order, max-detections per class",
     .reorder_corners = true,
     .per_class_limit = true},
    {.name = "tensorflow",
     .summary = "TensorFlow NonMaxSuppression: as exact, corners in any order",
     .reorder_corners = true},
    {.name = "inclusive",
     .summary = "TensorRT EfficientNMS: a score or an IoU equal to its threshold counts as above",
     .score_inclusive = true,
     .iou_inclusive = true,
     .reorder_corners = true},
    {.name = "plus-one",
     .summary = "Faster R-CNN, SCRFD, RetinaFace: a box is x2 - x1 + 1 pixels wide",
     .plus_one = true},
    {.name = "opencv",
     .summary = "OpenCV NMSBoxes: as exact, boxes without area overlap each other",
     .empty_overlap = true},
};

}  // namespace

std::span<const NmsContract> contracts() { return kContracts; }

const NmsContract* find_contract(std::string_view name) {
  const auto* found = std::ranges::find(kContracts, name, &NmsContract::name);
  return found == std::end(kContracts) ? nullptr : found;
}

}  // namespace keepbox
