// SPDX-License-Identifier: LGPL-2.1-or-later
// The tensors of the known detectors as GStreamer 1.28 writes them in caps.
#pragma once

#include <gst/gst.h>

#include <string>
#include <string_view>

namespace keepbox {

/// The group that GStreamer's registry of tensor ids puts a tensor in: "yolo-v8-out" is one by
/// itself, "a-out-boxes" is of "a-out", and "a-out-boxes-normalized" of "a-out-normalized".
std::string group_of(std::string_view tensor_id);

/// Sink caps of an element that reads tensors: any video, and from GStreamer 1.28 on the groups of
/// the ids in the table of detectors, by which tensordecodebin finds it; ids that name a level's output
/// ("bbox_8") are of no group. A group may have more tensors than are read. Transfer full.
GstCaps* tensor_sink_caps();

}  // namespace keepbox
