// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports tensors that do not fit, once per kind.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

#include "core/base/result.h"
#include "gst/decode/settings/decodeenums.h"

namespace keepbox {

/// Returns what errors of one cause have in common: the statement without its numbers, or what was
/// expected.
std::string cause_of(const Error& error);

/// The kinds of mismatches of a stream.
class Mismatches {
 public:
  /// Returns true for the first error of each kind, up to a limit that bounds memory if every frame
  /// fails differently. Errors that differ in numbers alone, as those of frames do, are of one
  /// kind.
  bool add(const Error& error);
  /// Reports the first error of each kind: a warning of the element, or a line in the log.
  /// @return false if the error has to stop the stream: by the policy, or because it is not about a
  /// frame's tensors.
  bool tolerate(GstElement* element, OnMismatch policy, const Error& error);
  void clear() { kinds_.clear(); }

 private:
  std::vector<std::string> kinds_;
};

}  // namespace keepbox
