// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognition of families with several tensors by shapes and values.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/recognition/layout.h"
#include "core/recognition/recognise.h"

namespace keepbox {

struct ShapeMatch {
  Layout layout;
  std::string why;               // for the log: "8 tensors of 4 levels"
  std::optional<Error> warning;  // for a warning, if a similar family fits as well
};

/// Returns the fits of all families to several tensors, in the order of the table.
std::vector<Layout> fitting_families(std::span<const TensorView> tensors, const Request& request);

/// Returns the only family that fits these tensors, or nothing. Errors: kAmbiguous, with the
/// families that fit.
Result<std::optional<ShapeMatch>> match_by_shape(std::span<const TensorView> tensors,
                                                 const Request& request);

/// Returns the only family all of whose tensors have generic names that fit, or nothing. Among
/// families that nothing distinguishes, chooses the one that may be recognised by shape.
Result<std::optional<ShapeMatch>> match_by_names(std::span<const TensorView> tensors,
                                                 const Request& request);

}  // namespace keepbox
