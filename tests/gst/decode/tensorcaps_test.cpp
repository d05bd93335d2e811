// SPDX-License-Identifier: LGPL-2.1-or-later
// Tensor caps of boxdecode's sink: the ids in the table of detectors, in the groups of GStreamer's
// registry of tensor ids.
#include <algorithm>

#include "gst/tensors/tensorcaps.h"
#include "tests/gst/decode/rows.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::Buffer;
using test::frame_with;
using test::Harness;
using test::kTwo;
using test::ods;

/// Groups of the registry, and of models that follow its grammar, with their tensors.
struct Registered {
  const char* group;
  std::vector<const char*> ids;
};
const std::vector<Registered> kRegistry{
    {"yolo-v8-out", {"yolo-v8-out"}},
    {"yolo-v8-out-normalized", {"yolo-v8-out-normalized"}},
    {"yolo-v8-obb-out", {"yolo-v8-obb-out"}},
    {"yolo-v8-obb-out-normalized", {"yolo-v8-obb-out-normalized"}},
    {"yolo-v8-pose-out", {"yolo-v8-pose-out"}},
    {"yolo-v8-pose-out-normalized", {"yolo-v8-pose-out-normalized"}},
    {"yolo-v8-segmentation-out",
     {"yolo-v8-segmentation-out-detections", "yolo-v8-segmentation-out-protos"}},
    {"yolo-v8-segmentation-out-normalized",
     {"yolo-v8-segmentation-out-detections-normalized", "yolo-v8-segmentation-out-protos"}},
    {"yolox-out", {"yolox-out"}},
    {"yolo-26-end2end-out", {"yolo-26-end2end-out"}},
    {"ssd-mobilenet-v1-variant-1-out",
     {"ssd-mobilenet-v1-variant-1-out-boxes", "ssd-mobilenet-v1-variant-1-out-scores",
      "ssd-mobilenet-v1-variant-1-out-classes", "generic-variant-1-out-count"}},
    {"ultra-lightweight-face-detection-rfb-320-v1-variant-1-out",
     {"ssd-mobilenet-v1-variant-1-out-boxes",
      "ultra-lightweight-face-detection-rfb-320-v1-variant-1-out-scores"}},
};

/// True if a family has one of the ids.
bool is_known(const Registered& group) {
  return std::ranges::any_of(detectors(), [&](const DetectorSpec& spec) {
    return std::ranges::any_of(spec.rules(), [&](const TensorRule& rule) {
      return std::ranges::any_of(group.ids, [&](std::string_view id) {
        return rule.has(id) && (group.ids.size() == 1 || group_of(id) == group.group);
      });
    });
  });
}

/// Returns caps as an inference element sets them.
GstCaps* caps_of(const Registered& group) {
  std::string tensors;
  for (const char* id : group.ids)
    tensors += std::string(tensors.empty() ? "" : ", ") +
               "(GstCaps)[tensor/strided, tensor-id=(string)" + id +
               ", dims=<1,84,8400>, dims-order=(string)col-major, type=(string)float32]";
  return gst_caps_from_string(("video/x-raw,format=RGB,width=640,height=640,tensors=(structure)"
                               "[tensorgroups," +
                               std::string(group.group) + "=(/uniquelist){" + tensors + "};]")
                                  .c_str());
}

bool has_tensor_caps() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return major > 1 || minor >= 28;
}

TEST(TensorGroup, MatchesTheRegistry) {
  for (const Registered& group : kRegistry)
    for (const char* id : group.ids)
      // Groups borrow tensors: those of SSD, and prototypes, which are never normalised.
      if (std::string_view(id).starts_with(std::string_view(group.group).substr(0, 20)) &&
          !std::string_view(id).ends_with("-protos")) {
        EXPECT_EQ(group_of(id), group.group) << id;
      }
  EXPECT_EQ(group_of("yolo-v8-segmentation-out-protos"), "yolo-v8-segmentation-out");
  EXPECT_EQ(group_of("face-det-lite-out-v2-boxes"), "face-det-lite-out-v2");
  EXPECT_EQ(group_of("output"), "output");
  EXPECT_EQ(group_of(""), "");
}

TEST(TensorCaps, HaveEveryDecodedGroup) {
  if (!has_tensor_caps()) GTEST_SKIP() << "tensor caps came with GStreamer 1.28";
  g_autoptr(GstCaps) sink = tensor_sink_caps();
  size_t known = 0;
  for (const Registered& group : kRegistry) {
    if (!is_known(group)) continue;
    ++known;
    g_autoptr(GstCaps) caps = caps_of(group);
    ASSERT_NE(caps, nullptr) << group.group;
    EXPECT_TRUE(gst_caps_is_subset(caps, sink)) << group.group;
  }
  EXPECT_GE(known, 9u);
  constexpr const char* kOther = "classification-generic-out";
  g_autoptr(GstCaps) other = caps_of({kOther, {kOther}});
  EXPECT_FALSE(gst_caps_is_subset(other, sink));
}

TEST(TensorCaps, HaveEveryIdExceptThoseOfLevels) {
  if (!has_tensor_caps()) GTEST_SKIP() << "tensor caps came with GStreamer 1.28";
  g_autoptr(GstCaps) sink = tensor_sink_caps();
  g_autofree gchar* text = gst_caps_to_string(sink);
  for (const DetectorSpec& spec : detectors())
    for (const TensorRule& rule : spec.rules())
      for (const std::string_view id : rule.ids)
        if (!id.starts_with("Gst.Model.")) {
          EXPECT_EQ(std::string_view(text).contains(id), !id.contains('*')) << id;
        }
}

void note_warning(GstDebugCategory*, GstDebugLevel level, const gchar*, const gchar*, gint,
                  GObject*, GstDebugMessage* message, gpointer warnings) {
  if (level <= GST_LEVEL_WARNING)
    static_cast<std::vector<std::string>*>(warnings)->push_back(gst_debug_message_get(message));
}

// The plugin makes them when loaded, and GST_DEBUG=2 shows what GStreamer cannot parse.
TEST(TensorCaps, AreParsedWithoutAWarning) {
  const GstDebugLevel before = gst_debug_get_default_threshold();
  std::vector<std::string> warnings;
  gst_debug_set_default_threshold(GST_LEVEL_WARNING);
  gst_debug_add_log_function(note_warning, &warnings, nullptr);
  g_autoptr(GstCaps) bad = gst_caps_from_string("video/x-raw,bbox_*");
  EXPECT_FALSE(warnings.empty()) << "warnings are not seen here";
  warnings.clear();
  g_autoptr(GstCaps) sink = tensor_sink_caps();
  gst_debug_remove_log_function(note_warning);
  gst_debug_set_default_threshold(before);
  EXPECT_TRUE(warnings.empty()) << warnings.front();
}

TEST(TensorCaps, AreMissingInOlderVersions) {
  if (has_tensor_caps()) GTEST_SKIP() << "GStreamer 1.28 and later have tensor caps";
  g_autoptr(GstCaps) sink = tensor_sink_caps();
  g_autoptr(GstCaps) any = gst_caps_from_string("video/x-raw(ANY)");
  EXPECT_TRUE(gst_caps_is_equal(sink, any));
}

TEST(Boxdecode, LeavesUnrelatedCapsFieldsAlone) {
  Harness h("boxdecode", "video/x-raw,format=RGB,width=640,height=640,framerate=30/1");
  ASSERT_TRUE(h.run(frame_with(kTwo)));
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(h.get()->sinkpad);
  EXPECT_TRUE(gst_structure_has_field(gst_caps_get_structure(caps, 0), "framerate"));
  EXPECT_FALSE(gst_structure_has_field(gst_caps_get_structure(caps, 0), "tensors"));
}

bool at_least_1_28() {
  guint major = 0, minor = 0, micro = 0, nano = 0;
  gst_version(&major, &minor, &micro, &nano);
  return major > 1 || minor >= 28;
}

constexpr const char* kTensorCaps =
    "video/x-raw,format=RGB,width=640,height=640,tensors=(structure)[tensorgroups,"
    "yolo-26-end2end-out=(/uniquelist){(GstCaps)[tensor/strided,"
    "tensor-id=(string)yolo-26-end2end-out,dims=<1,2,6>,dims-order=(string)row-major,"
    "type=(string)float32]};]";

TEST(TensorCaps, AreTakenAndPassedOn) {
  if (!at_least_1_28()) GTEST_SKIP() << "tensor caps came with GStreamer 1.28";
  Harness h("boxdecode", kTensorCaps);
  const Buffer out = h.run(frame_with(kTwo));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(ods(out).size(), 2u);
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(h.get()->sinkpad);
  EXPECT_TRUE(gst_structure_has_field(gst_caps_get_structure(caps, 0), "tensors"));
}

TEST(TensorCaps, LetTensordecodebinFindARankedElement) {
  GstElementFactory* ours = gst_element_factory_find("boxdecode");
  GstElementFactory* bin = gst_element_factory_find("tensordecodebin");
  if (bin == nullptr) {
    gst_object_unref(ours);
    GTEST_SKIP() << "no tensordecodebin";
  }
  gst_plugin_feature_set_rank(GST_PLUGIN_FEATURE(ours), GST_RANK_PRIMARY);
  {
    Harness h("tensordecodebin", kTensorCaps);
    const Buffer out = h.run(frame_with(kTwo));
    ASSERT_TRUE(out) << h.error();
    EXPECT_EQ(ods(out).size(), 2u);
  }
  gst_plugin_feature_set_rank(GST_PLUGIN_FEATURE(ours), GST_RANK_NONE);
  gst_object_unref(ours);
  gst_object_unref(bin);
}

}  // namespace
}  // namespace keepbox
