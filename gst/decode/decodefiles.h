// SPDX-License-Identifier: LGPL-2.1-or-later
// The files that boxdecode's properties name, each read once.
#pragma once

#include <string>
#include <vector>

#include "core/plan.h"
#include "gst/decode/decodeprops.h"
#include "gst/decode/labels.h"

namespace keepbox {

/// Label and priors files. One that fails is tried, and fails, again.
class DecodeFiles {
 public:
  /// Core settings for frames of that size; reads files whose names have changed.
  Result<Settings> settings(const DecodeProps& props, const Picture& frame);

  /// As the last settings() read them.
  const Labels& labels() const { return labels_; }
  const std::string& labels_path() const { return labels_path_; }

 private:
  std::string labels_path_, priors_path_;
  Labels labels_;
  std::vector<Prior> priors_;
};

}  // namespace keepbox
