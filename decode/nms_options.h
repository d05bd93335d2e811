// SPDX-License-Identifier: LGPL-2.1-or-later
// Options of suppression as text.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"
#include "core/plan/plan.h"

namespace keepbox {

/// Options of keepbox_nms_new().
struct NmsOptions {
  Settings settings;  // suppression_defaults() with the changes of the text
  std::string backend = "auto";
  int device = -1;  // device-id=; negative: the one that has the boxes
};

/// Reads "NAME=VALUE NAME=VALUE". Empty: the defaults.
Result<NmsOptions> nms_options(std::string_view text);

}  // namespace keepbox
