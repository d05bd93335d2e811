// SPDX-License-Identifier: LGPL-2.1-or-later
// What tensorreplay can be told.
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

/// Installs them, for the attacher and the bin around it.
void install_replay_properties(GObjectClass* klass);

/// What GObject's set_property and get_property do. @pre the object's lock is held
void set_replay_property(ReplayProps& props, guint id, const GValue* value);
void get_replay_property(const ReplayProps& props, guint id, GValue* value);

}  // namespace keepbox
