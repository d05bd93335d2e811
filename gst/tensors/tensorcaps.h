// SPDX-License-Identifier: LGPL-2.1-or-later
// The tensors of the known detectors in the caps format of GStreamer 1.28.
#pragma once

#include <gst/gst.h>

#include <string>
#include <string_view>

namespace keepbox {

/// Returns the group of a tensor id in GStreamer's registry: "yolo-v8-out" is its own group,
/// "a-out-boxes" is in "a-out", and "a-out-boxes-normalized" in "a-out-normalized".
std::string group_of(std::string_view tensor_id);

/// Returns sink caps of an element that reads tensors: any video and, from GStreamer 1.28 on, the
/// groups of the ids in the table of detectors, by which tensordecodebin finds it. Ids of a level's
/// output ("bbox_8") are in no group. A group may have more tensors than are read. Transfer full.
GstCaps* tensor_sink_caps();

}  // namespace keepbox
