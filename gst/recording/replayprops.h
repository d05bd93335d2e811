// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of tensorreplay.
#pragma once

#include <gst/gst.h>

#include <string>

#include "gst/base/props.h"
#include "gst/recording/timeline.h"

namespace keepbox {

enum class ReplayMemory { kSystem, kCuda };

struct ReplayProps {
  std::string location;
  std::string dims, type = "float32", id;  // as RawForm
  bool loop = false;
  int memory = static_cast<int>(ReplayMemory::kSystem);
  int sync_mode = static_cast<int>(SyncMode::kAuto);
  gint64 offset = 0;
};

/// Returns the properties, for the attacher and the bin around it.
const PropertyTable<ReplayProps>& replay_properties();

}  // namespace keepbox
