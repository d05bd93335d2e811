// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of tensorreplay.
#include "gst/recording/replayprops.h"

#include "gst/base/enums.h"
#include "gst/base/props.h"

namespace keepbox {
namespace {

enum {
  kPropLocation = 1,
  kPropDims,
  kPropType,
  kPropTensorId,
  kPropLoop,
  kPropMemory,
  kPropSyncMode,
  kPropTimestampOffset
};

constexpr auto kReady =
    static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS | GST_PARAM_MUTABLE_READY);
constexpr auto kPlaying = static_cast<GParamFlags>(G_PARAM_READWRITE | G_PARAM_STATIC_STRINGS |
                                                   GST_PARAM_MUTABLE_PLAYING);

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

void install_text(GObjectClass* klass, guint id, const char* name, const char* value,
                  const char* blurb) {
  g_object_class_install_property(klass, id,
                                  g_param_spec_string(name, nick_of(name), blurb, value, kReady));
}

void install_texts(GObjectClass* klass) {
  install_text(klass, kPropLocation, "location", nullptr,
               "Folder of a tensorrecord recording, a NumPy file (.npy), or a file of raw numbers. "
               "A NumPy file is one frame; a raw file requires dims, and type if its numbers are "
               "not float32.");
  install_text(klass, kPropDims, "dims", nullptr,
               "Dimensions of one frame's tensor in a raw file, slowest first, such as 1,84,8400 "
               "or 1x84x8400. The file may contain several consecutive frames.");
  install_text(klass, kPropType, "type", "float32",
               "Type of the numbers in a raw file: float16, float32, float64, bfloat16, or int or "
               "uint followed by 8, 16, 32 or 64.");
  install_text(klass, kPropTensorId, "tensor-id", nullptr,
               "Tensor id for a raw or NumPy file; may be empty. Recordings contain their own "
               "ids.");
}

}  // namespace

void install_replay_properties(GObjectClass* klass) {
  install_texts(klass);
  g_object_class_install_property(
      klass, kPropLoop,
      g_param_spec_boolean("loop", nick_of("loop"),
                           "Restart after the last recorded frame instead of ending the stream.",
                           FALSE, kPlaying));
  g_object_class_install_property(
      klass, kPropMemory,
      g_param_spec_enum("memory", nick_of("memory"), "Memory of the attached tensors.",
                        memory_type(), static_cast<int>(ReplayMemory::kSystem), kReady));
  g_object_class_install_property(
      klass, kPropSyncMode,
      g_param_spec_enum("sync-mode", nick_of("sync-mode"),
                        "How recorded frames are matched to frames of the stream. Only "
                        "tensorrecord folders have timestamps; with count, the recorded frame "
                        "after a seek follows from the frame rate. Without a sink pad each "
                        "recorded frame is played once, "
                        "whatever the mode.",
                        sync_mode_type(), static_cast<int>(SyncMode::kAuto), kReady));
  g_object_class_install_property(
      klass, kPropTimestampOffset,
      g_param_spec_int64("timestamp-offset", nick_of("timestamp-offset"),
                         "Offset in nanoseconds that is added to recorded timestamps before they "
                         "are compared with the stream's.",
                         -Timeline::kLatest, Timeline::kLatest, 0, kReady));
}

void set_replay_property(ReplayProps& props, guint id, const GValue* value) {
  const auto text = [&] {
    const gchar* string = g_value_get_string(value);
    return std::string(string != nullptr ? string : "");
  };
  switch (id) {
    case kPropLocation: props.location = text(); break;
    case kPropDims: props.form.dims = text(); break;
    case kPropType: props.form.type = text(); break;
    case kPropTensorId: props.form.id = text(); break;
    case kPropMemory: props.memory = static_cast<ReplayMemory>(g_value_get_enum(value)); break;
    case kPropSyncMode: props.mode = static_cast<SyncMode>(g_value_get_enum(value)); break;
    case kPropTimestampOffset: props.offset = g_value_get_int64(value); break;
    case kPropLoop: props.loop = g_value_get_boolean(value) != FALSE; break;
  }
}

void get_replay_property(const ReplayProps& props, guint id, GValue* value) {
  const auto set_text = [&](const std::string& text) {
    g_value_set_string(value, text.empty() ? nullptr : text.c_str());
  };
  switch (id) {
    case kPropLocation: set_text(props.location); break;
    case kPropDims: set_text(props.form.dims); break;
    case kPropType: set_text(props.form.type); break;
    case kPropTensorId: set_text(props.form.id); break;
    case kPropMemory: g_value_set_enum(value, static_cast<gint>(props.memory)); break;
    case kPropSyncMode: g_value_set_enum(value, static_cast<gint>(props.mode)); break;
    case kPropTimestampOffset: g_value_set_int64(value, props.offset); break;
    case kPropLoop: g_value_set_boolean(value, props.loop); break;
  }
}

}  // namespace keepbox
