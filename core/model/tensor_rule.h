// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensors of a family: their roles, ids and names.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace keepbox {

/// Role of a tensor.
enum class Role : uint8_t {
  kAll,         // kDense and kReady: all fields, at Columns
  kBoxes,       // four values per anchor, or 4 x bins
  kScores,      // one value per class; kOutputs: one
  kObjectness,  // one
  kSizes,       // w h if x y are in a tensor of their own (kBoxes)
  kClasses,     // a class id
  kCount,       // number of filled rows per image
  kIndices,     // image, class, anchor
  kKeypoints,   // keypoints that do not follow the scores or the box
  kUnread,      // present in the model, ignored
};

/// Describes one tensor of a family, or one per level.
struct TensorRule {
  Role role = Role::kAll;
  bool optional = false;
  std::array<std::string_view, 4> ids{};  // tensor ids given by producers, unused ones empty; * is
                                          // the stride of the level
  std::array<std::string_view, 2> plain{};  // generic names, used only if all match
  uint16_t channels = 0;  // values per anchor; 0: as the role implies, any number for scores
  float scale = 1, zero_point = 0;  // of integer tensors: value = (stored - zero_point) * scale

  /// True if the rule lists this id, for the level of that stride.
  bool has(std::string_view id, uint32_t stride = 0) const;
  bool has_plain(std::string_view name) const;
  bool has_scale() const { return scale != 1 || zero_point != 0; }
};

}  // namespace keepbox
