// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of classes, as GQuarks, and lists of classes as users write them.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/result.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// The names of a model's classes. Those of a label file are one a line in UTF-8, the first for
/// class 0.
class Labels {
 public:
  /// No names: every class is "class-N".
  Labels() = default;

  /// By class.
  explicit Labels(std::vector<std::string> names) : names_(std::move(names)) {}

  /// Names that are not known yet: any may be one, and is taken for class 0.
  static Labels to_come();

  /// Errors name the file and what is wrong: missing, no regular file, empty, not UTF-8, more than
  /// 16 MiB or kMostLabels lines.
  static Result<Labels> load(const char* path);

  /// The name of a class; "class-N" for one beyond the file or with an empty line.
  GQuark quark(uint32_t class_id) const;

  /// A class by its name, or by its number. kInvalid when it is neither.
  /// @param property for the error's hint
  Result<uint32_t> class_of(std::string_view text, const char* property) const;

  /// "person,2,car" to class ids.
  Result<std::vector<uint32_t>> classes_of(std::string_view text, const char* property) const;

  /// "person:0.5,2:0.3" to class ids with thresholds.
  Result<std::vector<std::pair<uint32_t, float>>> thresholds_of(std::string_view text,
                                                               const char* property) const;

  /// The name that a text was probably meant to be, or nullptr.
  const std::string* nearest(std::string_view text) const;

  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }

 private:
  std::vector<std::string> names_;
  bool to_come_ = false;
  mutable std::vector<GQuark> quarks_;  // made when first asked for
};

}  // namespace keepbox
