// SPDX-License-Identifier: LGPL-2.1-or-later
// GEnum types of properties; those that list core's tables are made from them.
#pragma once

#include <gst/gst.h>

#include <string>

#include "core/contract.h"
#include "core/letterbox.h"

namespace keepbox {

enum class OnMismatch { kError, kWarn, kPass };
enum class ReplayMemory { kSystem, kCuda };

GType detector_type();     // 0: auto, else 1 + index into detectors()
GType contract_type();     // index into contracts()
GType backend_type();      // 0: auto, else 1 + index into backends()
GType nms_method_type();   // NmsMethod
GType resize_mode_type();  // ResizeMode
GType units_type();        // Units
GType on_mismatch_type();  // OnMismatch
GType box_format_type();   // BoxFormat
GType memory_type();       // ReplayMemory

/// The nick of a value: what users type.
std::string nick_of(GType type, int value);

}  // namespace keepbox
