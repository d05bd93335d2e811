// SPDX-License-Identifier: LGPL-2.1-or-later
// Kinds of messages.
#pragma once

#include <string>
#include <string_view>

#include "core/base/result.h"

namespace keepbox {

/// A set of the kinds of messages.
struct Kinds {
  bool boxes = false;   // the boxes of a frame, as a JSON object
  bool counts = false;  // numbers of objects
  bool tracks = false;  // the beginning, changes and end of objects with a tracking id

  /// Parses a list such as "boxes,counts", possibly empty. @param property for errors
  static Result<Kinds> parse(const std::string& text, const char* property);
  friend bool operator==(const Kinds&, const Kinds&) = default;
};

}  // namespace keepbox
