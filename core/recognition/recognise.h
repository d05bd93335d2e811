// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognition of the model family of tensors.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "core/base/result.h"
#include "core/recognition/layout.h"

namespace keepbox {

/// Reason why a family was chosen, the most certain first.
enum class Basis : uint8_t {
  kSet,     // set by the caller
  kNamed,   // declared by the producer, or matched by tensor ids or names
  kValues,  // values that no other family has, or several tensors that fit no other family
  kShape,   // shape of one tensor, which other families may share
};

struct Recognition {
  Layout layout;
  std::string remark;               // what was recognised and why, as one log line
  bool box_coding_unknown = false;  // the host cannot read whether boxes are decoded already
  Basis basis = Basis::kNamed;
  std::optional<Error> warning;  // warning about the recognised family
  bool blank = false;            // boxes were all 0: later values may identify another family
};

/// Returns "channel-order=bgr input-mean=0 input-std=1 resize-mode=letterbox-topleft"; empty if the
/// input is unknown.
std::string input_text(const InputRule& input);

/// Recognises the family by tensor ids, or by shapes and values if no id is known; values also
/// decide whether boxes are those of a decoded twin. Errors: kMismatch (nothing fits), kAmbiguous
/// (shapes do not decide; the hint names the property that does), kUnsupported.
Result<Recognition> recognise(std::span<const TensorView> tensors, const Request& request);

/// Returns the first family whose required tensors all have one of its ids, or nullptr.
const DetectorSpec* spec_by_ids(std::span<const TensorView> tensors);

/// True if the family has generic tensor names and all of them are among the ids.
bool has_plain_names(const DetectorSpec& spec, std::span<const TensorView> tensors);

/// True for feature maps such as mask prototypes 1xMxhxw (or 1xhxwxM), unlike anchors x channels.
bool is_maps(const Shape& shape);

/// True for one map 1x1xHxW, as written by text detectors and depth estimators.
bool is_plane(const Shape& shape);

/// Returns M of the prototypes among the tensors, or 0.
size_t prototype_count(std::span<const TensorView> tensors);

}  // namespace keepbox
