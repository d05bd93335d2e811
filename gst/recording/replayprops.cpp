// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of tensorreplay.
#include "gst/recording/replayprops.h"

#include "gst/base/enums.h"

namespace keepbox {
namespace {

GType memory_type() {
  static const GType type = register_enum(
      "KeepboxReplayMemory", {{static_cast<int>(ReplayMemory::kSystem), "system", "System memory"},
                              {static_cast<int>(ReplayMemory::kCuda), "cuda",
                               "CUDA memory (GstCudaMemory), uploaded on a separate stream"}});
  return type;
}

GType sync_mode_type() {
  static const GType type = register_enum(
      "KeepboxSyncMode",
      {{static_cast<int>(SyncMode::kAuto), "auto",
        "By timestamp if the recording and the frames have timestamps, else by count. If the "
        "recording does not cover the stream's first frame, it is shifted so that both begin "
        "together, with a warning"},
       {static_cast<int>(SyncMode::kTimestamp), "timestamp",
        "By timestamp: the recorded frame that is current at a frame's stream time. Frames before "
        "the first one get no tensors; a recording or frames without timestamps are an error"},
       {static_cast<int>(SyncMode::kCount), "count",
        "By count: the first recorded frame for the first frame, and so on"}});
  return type;
}

constexpr auto kLatest = static_cast<gdouble>(Timeline::kLatest);

const Property<ReplayProps> kReplayProperties[] = {
    {"location",
     "Folder of a tensorrecord recording, a NumPy file (.npy), or a file of raw values. A NumPy "
     "file is one frame or one batch, as with dims; a raw file requires dims, and type if its "
     "values are not float32.",
     &ReplayProps::location},
    {"dims",
     "Dimensions of a tensor in a raw file, slowest first, such as 1,84,8400 or 1x84x8400. The "
     "file may contain several consecutive tensors, each of one frame. 8,84,8400 is a batch of 8 "
     "frames, which get their slices in turn; tensors with fewer than three dimensions above 1, "
     "such as 300,6, are one frame.",
     &ReplayProps::dims},
    {"type",
     "Data type of a raw file: float16, float32, float64, bfloat16, or int or uint followed by 8, "
     "16, 32 or 64.",
     &ReplayProps::type},
    {"tensor-id",
     "Tensor id for a raw or NumPy file; may be empty. Recordings contain their own ids.",
     &ReplayProps::id},
    {.name = "loop",
     .blurb = "Restart after the last recorded frame instead of ending the stream.",
     .member = &ReplayProps::loop,
     .live = true},
    {"memory", "Memory of the attached tensors.", &ReplayProps::memory, memory_type},
    {"sync-mode",
     "How recorded frames are matched to frames of the stream. Only tensorrecord folders have "
     "timestamps; with count, the recorded frame after a seek follows from the frame rate. Without "
     "a sink pad each recorded frame is played once, whatever the mode.",
     &ReplayProps::sync_mode, sync_mode_type},
    {"timestamp-offset",
     "Offset in nanoseconds that is added to recorded timestamps before they are compared with the "
     "stream's.",
     &ReplayProps::offset, nullptr, -kLatest, kLatest},
};

}  // namespace

const PropertyTable<ReplayProps>& replay_properties() {
  static constexpr PropertyTable<ReplayProps> table(kReplayProperties, kChangeWhenReady);
  return table;
}

}  // namespace keepbox
