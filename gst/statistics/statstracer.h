// SPDX-License-Identifier: LGPL-2.1-or-later
// The tracer keepboxstats, which writes the statistics of a process to a file.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// Registers the tracer, which GST_TRACERS starts by its name, keepboxstats.
bool register_stats_tracer(GstPlugin* plugin);

}  // namespace keepbox
