// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of classes as GQuarks.
#include "gst/tensors/labels.h"

#include <algorithm>
#include <string>
#include <utility>

namespace keepbox {

Result<Labels> Labels::load(const char* path) {
  KB_ASSIGN(auto names, ClassNames::load(path));
  return Labels(std::move(names));
}

GQuark Labels::quark(uint32_t class_id) const {
  if (class_id >= quarks_.size()) quarks_.resize(std::max<size_t>(class_id + 1, size()));
  GQuark& quark = quarks_[class_id];
  if (quark == 0) {
    const bool named = class_id < size() && !names()[class_id].empty();
    quark = g_quark_from_string(
        (named ? names()[class_id] : "class-" + std::to_string(class_id)).c_str());
  }
  return quark;
}

}  // namespace keepbox
