// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of classes as GQuarks.
#pragma once

#include <gst/gst.h>

#include <utility>
#include <vector>

#include "core/model/classnames.h"

namespace keepbox {

/// Class names whose quarks are made on first use.
class Labels : public ClassNames {
 public:
  Labels() = default;
  explicit Labels(ClassNames names) : ClassNames(std::move(names)) {}
  explicit Labels(std::vector<std::string> names) : ClassNames(std::move(names)) {}

  /// Reads a label file as ClassNames::load() does.
  static Result<Labels> load(const char* path);

  /// Returns the name of a class; "class-N" if it is beyond the list or its name is empty.
  GQuark quark(uint32_t class_id) const;

 private:
  mutable std::vector<GQuark> quarks_;
};

}  // namespace keepbox
