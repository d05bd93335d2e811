// SPDX-License-Identifier: LGPL-2.1-or-later
// Composes the text of an error.
#include "core/base/result.h"

namespace keepbox {

std::string Error::message() const {
  std::string text = place.empty() ? "" : place + ": ";
  text += "expected " + expected + ", found " + found;
  if (!hint.empty()) text += ": " + hint;
  return text;
}

}  // namespace keepbox
