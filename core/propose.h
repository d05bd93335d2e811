// SPDX-License-Identifier: LGPL-2.1-or-later
// Families for several tensors that no id names: what their shapes and numbers leave over.
#pragma once

#include <optional>
#include <string>

#include "core/layout.h"
#include "core/result.h"

namespace keepbox {

struct Proposal {
  Layout layout;
  std::string why;  // for the log: "8 tensors of 4 levels"
  std::optional<Error> doubt;  // where a twin of the family fits as well: for a warning
};

/// The one family whose tensors these are; nothing when they are no family's together. Errors:
/// kAmbiguous, which names those that are left over.
Result<std::optional<Proposal>> propose(std::span<const TensorView> tensors,
                                        const Request& request);

/// The same of families all of whose tensors go by plain names. Of those that only differ in what
/// nothing shows, the one that may be known by its shapes.
Result<std::optional<Proposal>> propose_by_names(std::span<const TensorView> tensors,
                                                 const Request& request);

}  // namespace keepbox
