// SPDX-License-Identifier: LGPL-2.1-or-later
// A crew on GStreamer's task pool.
#pragma once

#include <memory>

#include "core/crew.h"

namespace keepbox {

/// A crew of that many threads, or nullptr for one, and when there are no threads to be had. They end
/// with the crew.
std::unique_ptr<Crew> make_task_crew(uint32_t threads);

}  // namespace keepbox
