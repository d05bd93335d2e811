// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of tensorreplay.
#pragma once

#include <gst/gst.h>

#include <cstdint>

#include "gst/recording/tensorreader.h"
#include "gst/recording/timeline.h"

namespace keepbox {

enum class ReplayMemory { kSystem, kCuda };

struct ReplayProps {
  std::string location;
  RawForm form{.dims = {}, .type = "float32", .id = {}};
  ReplayMemory memory = ReplayMemory::kSystem;
  SyncMode mode = SyncMode::kAuto;
  int64_t offset = 0;
  bool loop = false;
};

/// Installs the properties, for the attacher and the bin around it.
void install_replay_properties(GObjectClass* klass);

/// Sets or gets a property for GObject. @pre the object lock is held
void set_replay_property(ReplayProps& props, guint id, const GValue* value);
void get_replay_property(const ReplayProps& props, guint id, GValue* value);

}  // namespace keepbox
