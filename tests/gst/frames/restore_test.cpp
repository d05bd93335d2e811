// SPDX-License-Identifier: LGPL-2.1-or-later
// framesave and framerestore around real scalers.
#include <gst/video/video.h>

#include <cstring>
#include <tuple>
#include <utility>

#include "tests/gst/frames/restore.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::full_frame;
using test::Harness;
using test::has_matrix;
using test::kFull;
using test::ods;

/// A replay of one row of pixels of a 64 x 64 input.
std::string replay(const test::TempDir& dir, const test::Row& row) {
  const auto tensor = test::rows({row});
  const std::string path =
      dir.write("t.raw", {reinterpret_cast<const char*>(tensor.values.data()), 24});
  return "tensorreplay loop=true dims=1,1,6 location=" + path +
         " ! boxdecode detector=yolov10 box-units=pixels";
}

TEST(Restore, BringsTheFrameBackAndMapsALetterbox) {
  const test::TempDir dir;
  // 192 x 108 in 64 x 64: 64 x 36 pixels with 14 above; frame = (model - 14) * 3.
  Harness h("framesave ! videoconvertscale ! video/x-raw,format=BGR,width=64,height=64,"
            "pixel-aspect-ratio=1/1 ! " + replay(dir, {10, 24, 30, 44, 0.9f, 5}) +
            " ! framerestore", kFull);
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(gst_buffer_get_size(out.get()), 192u * 108 * 3);
  GstMapInfo map;
  ASSERT_TRUE(gst_buffer_map(out.get(), &map, GST_MAP_READ));
  EXPECT_EQ(map.data[1000], 7);
  gst_buffer_unmap(out.get(), &map);
  EXPECT_EQ(GST_BUFFER_PTS(out.get()), 40 * GST_MSECOND);
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{30, 30, 90, 90}));
  EXPECT_EQ(found[0].class_id, 5u);
  g_autoptr(GstCaps) caps = gst_pad_get_current_caps(h.get()->sinkpad);
  gint width = 0;
  gst_structure_get_int(gst_caps_get_structure(caps, 0), "width", &width);
  EXPECT_EQ(width, 192);
}

TEST(Restore, MapsTopLeftAndStretch) {
  const test::TempDir dir;
  const auto box = [&](const char* mode) {
    Harness h("framesave ! videoconvertscale add-borders=false ! video/x-raw,width=64,height=64,"
              "pixel-aspect-ratio=1/1 ! " + replay(dir, {8, 16, 16, 32, 0.9f, 0}) +
              " ! framerestore resize-mode=" + mode, kFull);
    return boxes(h.run(full_frame())).at(0).box;
  };
  EXPECT_EQ(box("stretch"), (Box{24, 27, 48, 54}));
  if (!has_matrix()) EXPECT_EQ(box("letterbox-topleft"), (Box{24, 48, 48, 96}));
}

TEST(Restore, SeesThatAScalerChangedThePixelAspectRatio) {
  const test::TempDir dir;
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64 ! " +
            replay(dir, {8, 16, 16, 32, 0.9f, 0}) + " ! framerestore", kFull);
  EXPECT_EQ(boxes(h.run(full_frame())).at(0).box, (Box{24, 27, 48, 54}));
}

TEST(Restore, ClipsAtTheBorderAndDropsOnlyWhatIsOutside) {
  const test::TempDir dir;
  const auto run = [&](const test::Row& row) {
    Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
              "pixel-aspect-ratio=1/1 ! " + replay(dir, row) + " ! framerestore", kFull);
    return boxes(h.run(full_frame()));
  };
  const auto touching = run({-3, 10, 20, 52, 0.9f, 0});
  ASSERT_EQ(touching.size(), 1u);
  EXPECT_EQ(touching[0].box, (Box{0, 0, 60, 108}));
  EXPECT_TRUE(run({10, 2, 20, 12, 0.9f, 0}).empty()) << "wholly in the padding";
}

TEST(Restore, KeepsPixelsThatWereDrawnOnTheCopy) {
  const test::TempDir dir;
  // The same size: nothing is scaled, so the copy shares memory until somebody writes.
  Harness h("framesave ! tensorreplay loop=true dims=1,1,6 location=" +
            dir.write("t.raw", std::string(24, '\0')) +
            " ! boxdecode detector=yolov10 ! videobalance brightness=1 ! framerestore",
            "video/x-raw,format=I420,width=64,height=64,framerate=30/1");
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64 * 64 * 3 / 2, nullptr);
  gst_buffer_memset(frame, 0, 50, 64 * 64 * 3 / 2);
  const Buffer out = h.run(frame);
  ASSERT_TRUE(out) << h.error();
  guint8 pixel = 0;
  gst_buffer_extract(out.get(), 100, &pixel, 1);
  EXPECT_EQ(pixel, 50);
}

/// A model on the scaled frame that says where its rows come from: 64 x 64 into 32 x 32 with 8 above.
void infer(GstElement*, GstBuffer* buffer, gpointer) {
  const auto tensor = test::rows({{5, 16, 15, 26, 0.9f, 1}});
  GstBuffer* data = test::data_buffer(tensor.values.data(), test::bytes_of(tensor));
  set_tensor_source(data, std::make_shared<const TensorSource>(
                              TensorSource{.geometry = {{64, 64}, {32, 32}, 2, 4, 0, 8},
                                           .model = "small",
                                           .detector = "yolov10",
                                           .units = Units::kPixels,
                                           .labels = {"zero", "one"}}));
  add_tensor(buffer, "", DataType::kFloat32, tensor.shape, GST_TENSOR_DIM_ORDER_ROW_MAJOR, data);
}

/// The boxes of a line with a model at its element "mid".
std::vector<FrameBox> inferred(const std::string& line) {
  Harness h(line, kFull);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(mid, "handoff", G_CALLBACK(infer), nullptr);
  gst_object_unref(mid);
  std::vector<FrameBox> out;
  for (int i = 0; i < 3; ++i) {
    const Buffer done = h.run(full_frame());
    EXPECT_TRUE(done) << h.error();
    if (done) out = boxes(done);
  }
  EXPECT_EQ(h.warning(), "");
  return out;
}

TEST(Restore, TakesTensorsAlongForADecoderBehindIt) {
  // 192 x 108 in 64 x 64: full = 3 * (scaled - (0, 14)).
  const std::string scale = "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
                            "pixel-aspect-ratio=1/1 ! identity name=mid";
  const auto before = inferred(scale + " ! boxdecode ! framerestore");
  const auto behind = inferred(scale + " ! framerestore ! boxdecode");
  ASSERT_EQ(before.size(), 1u);
  ASSERT_EQ(behind.size(), 1u);
  EXPECT_EQ(before[0].box, (Box{30, 54, 90, 108}));
  EXPECT_EQ(behind[0].box, before[0].box);
  EXPECT_EQ(behind[0].label, before[0].label);
  EXPECT_EQ(behind[0].model, g_quark_from_string("small"));
}

TEST(Restore, LeavesNoTensorForTwoDecoders) {
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64 ! identity name=mid "
            "! boxdecode ! framerestore ! boxdecode on-mismatch=warn", kFull);
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(mid, "handoff", G_CALLBACK(infer), nullptr);
  gst_object_unref(mid);
  EXPECT_EQ(boxes(h.run(full_frame())).size(), 1u);
  EXPECT_NE(h.warning().find("since the decoder before"), std::string::npos);
}

TEST(Restore, SharesTheNumbersOfTensors) {
  const Buffer from(gst_buffer_new()), to(gst_buffer_new());
  infer(nullptr, from.get(), nullptr);
  const auto data_of = [](const Buffer& of) {
    return gst_tensor_meta_get(gst_buffer_get_tensor_meta(of.get()), 0)->data;
  };
  const auto other = std::make_shared<const TensorSource>();
  carry_tensors(from.get(), to.get(), [&](const SharedTensorSource&) { return other; });
  EXPECT_NE(data_of(from), data_of(to));
  EXPECT_EQ(gst_buffer_peek_memory(data_of(from), 0), gst_buffer_peek_memory(data_of(to), 0));
  EXPECT_EQ(tensor_source(data_of(to)), other);
  EXPECT_NE(tensor_source(data_of(from)), other);
}

/// What elements between the two may do to a frame.
using Between = void (*)(GstElement*, GstBuffer*, gpointer);

/// A frame through the line with `between` called on it at the element "mid".
Buffer run_with(Harness& h, Between between, GstBuffer* frame = full_frame()) {
  GstElement* mid = gst_bin_get_by_name(h.bin(), "mid");
  g_object_set(mid, "signal-handoffs", TRUE, nullptr);
  g_signal_connect(mid, "handoff", G_CALLBACK(between), nullptr);
  gst_object_unref(mid);
  Buffer out = h.run(frame);
  EXPECT_TRUE(out) << h.error();
  return out;
}

// 192 x 108 in 64 x 64 is 64 x 36 with 14 above: full = 3 * (scaled - (0, 14)).
constexpr const char* kLetterboxed =
    "framesave ! videoconvertscale ! video/x-raw,width=64,height=64,pixel-aspect-ratio=1/1 "
    "! identity name=mid ! framerestore";

GQuark quark(const char* name) { return g_quark_from_string(name); }

/// A person with a face, two classes of the face, a mask and a track of the person.
void add_rich(GstElement*, GstBuffer* buffer, gpointer) {
  auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
  GstAnalyticsODMtd person, face, padding;
  gst_analytics_relation_meta_add_od_mtd(meta, quark("padding"), 0, 0, 5, 5, 0.5f, &padding);
  gst_analytics_relation_meta_add_od_mtd(meta, quark("person"), 10, 20, 20, 20, 0.7f, &person);
  gst_analytics_relation_meta_add_od_mtd(meta, quark("face"), 12, 22, 4, 4, 0.6f, &face);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_IS_PART_OF, face.id,
                                           person.id);
  for (const auto& [name, level] : {std::pair{"male", 0.5f}, {"age-30", 0.25f}}) {
    GstAnalyticsClsMtd cls;
    gst_analytics_relation_meta_add_one_cls_mtd(meta, level, quark(name), &cls);
    gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, face.id,
                                             cls.id);
  }
  GstBuffer* mask = gst_buffer_new_allocate(nullptr, 16, nullptr);
  gst_buffer_memset(mask, 0, 1, 16);
  gst_buffer_add_video_meta(mask, GST_VIDEO_FRAME_FLAG_NONE, GST_VIDEO_FORMAT_GRAY8, 4, 4);
  guint ids[] = {1};
  GstAnalyticsSegmentationMtd segmentation;
  gst_analytics_relation_meta_add_segmentation_mtd(meta, mask, GST_SEGMENTATION_TYPE_INSTANCE, 1,
                                                   ids, 10, 20, 20, 20, &segmentation);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, person.id,
                                           segmentation.id);
  GstAnalyticsTrackingMtd track;
  gst_analytics_relation_meta_add_tracking_mtd(meta, 7, 5, &track);
  gst_analytics_relation_meta_set_relation(meta, GST_ANALYTICS_REL_TYPE_RELATE_TO, person.id,
                                           track.id);
  gst_analytics_tracking_mtd_update_last_seen(&track, 9 * GST_SECOND);
  gst_analytics_tracking_mtd_set_lost(&track);
}

/// The mtds of a type related to one.
template <class Mtd>
std::vector<Mtd> related(GstAnalyticsRelationMeta* meta, guint id, GstAnalyticsMtdType type) {
  std::vector<Mtd> out;
  gpointer state = nullptr;
  Mtd mtd;
  while (gst_analytics_relation_meta_get_direct_related(meta, id, GST_ANALYTICS_REL_TYPE_ANY, type,
                                                        &state,
                                                        reinterpret_cast<GstAnalyticsMtd*>(&mtd)))
    out.push_back(mtd);
  return out;
}

TEST(Restore, CarriesWhateverElementsAdded) {
  Harness h(kLetterboxed, kFull);
  const Buffer out = run_with(h, add_rich);
  const auto found = ods(out);
  ASSERT_EQ(found.size(), 2u) << "one lay in the padding";
  EXPECT_EQ(found[0], (test::Od{"person", 30, 18, 60, 60, 0.7f}));
  EXPECT_EQ(found[1], (test::Od{"face", 36, 24, 12, 12, 0.6f}));
  auto* meta = gst_buffer_get_analytics_relation_meta(out.get());
  const auto both = boxes(out);
  EXPECT_EQ(gst_analytics_relation_meta_get_relation(meta, both[1].od_id, both[0].od_id),
            GST_ANALYTICS_REL_TYPE_IS_PART_OF);

  const auto classes = related<GstAnalyticsClsMtd>(meta, both[1].od_id,
                                                   gst_analytics_cls_mtd_get_mtd_type());
  ASSERT_EQ(classes.size(), 2u);
  EXPECT_EQ(gst_analytics_cls_mtd_get_quark(&classes[1], 0), quark("age-30"));
  EXPECT_EQ(gst_analytics_cls_mtd_get_level(&classes[1], 0), 0.25f);

  const auto tracks = related<GstAnalyticsTrackingMtd>(meta, both[0].od_id,
                                                       gst_analytics_tracking_mtd_get_mtd_type());
  ASSERT_EQ(tracks.size(), 1u);
  guint64 id = 0;
  GstClockTime first = 0, last = 0;
  gboolean lost = FALSE;
  ASSERT_TRUE(gst_analytics_tracking_mtd_get_info(&tracks[0], &id, &first, &last, &lost));
  EXPECT_EQ(id, 7u);
  EXPECT_EQ(first, 5u);
  EXPECT_EQ(last, 9 * GST_SECOND);
  EXPECT_TRUE(lost);

  const auto masks = related<GstAnalyticsSegmentationMtd>(
      meta, both[0].od_id, gst_analytics_segmentation_mtd_get_mtd_type());
  ASSERT_EQ(masks.size(), 1u);
  gint x = 0, y = 0;
  guint width = 0, height = 0;
  g_autoptr(GstBuffer) mask =
      gst_analytics_segmentation_mtd_get_mask(&masks[0], &x, &y, &width, &height);
  EXPECT_EQ(gst_buffer_get_size(mask), 16u);
  EXPECT_EQ(x, 30);
  EXPECT_EQ(y, 18);
  EXPECT_EQ(width, 60u);
  EXPECT_EQ(height, 60u);
  EXPECT_EQ(gst_analytics_segmentation_mtd_get_region_id(&masks[0], 0), 1u);
}

TEST(Restore, DoesNotClipWhatIsTurned) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  const Buffer out = run_with(h, +[](GstElement*, GstBuffer* buffer, gpointer) {
    auto* meta = gst_buffer_add_analytics_relation_meta(buffer);
    GstAnalyticsODMtd od;
    gst_analytics_relation_meta_add_oriented_od_mtd(meta, quark("ship"), -20, 50, 60, 20,
                                                    static_cast<gfloat>(G_PI / 4), 0.9f, &od);
    gst_analytics_relation_meta_add_oriented_od_mtd(meta, quark("gone"), -90, 50, 60, 20,
                                                    static_cast<gfloat>(G_PI / 4), 0.9f, &od);
  });
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].box, (Box{-20, 50, 40, 70}));
  EXPECT_FLOAT_EQ(found[0].angle, static_cast<float>(G_PI / 4));
}

/// A user's zone, and a region of a detection.
void add_regions(GstElement*, GstBuffer* buffer, gpointer) {
  auto* zone = gst_buffer_add_video_region_of_interest_meta(buffer, "zone", 0, 14, 32, 18);
  zone->id = 77;
  FrameBox box{.box = {10, 20, 30, 40}, .score = 0.5f, .label = quark("cat"), .class_id = 3,
               .anchor = 9};
  attach_boxes(buffer, std::span(&box, 1), {.classes = true, .regions = true, .frame = {64, 64}});
}

TEST(Restore, KeepsRegionsWhosever) {
  Harness h(kLetterboxed, kFull);
  const Buffer out = run_with(h, add_regions);
  auto* zone = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 77);
  ASSERT_NE(zone, nullptr);
  EXPECT_EQ(zone->roi_type, quark("zone"));
  EXPECT_EQ(std::tuple(zone->x, zone->y, zone->w, zone->h), std::tuple(0u, 0u, 96u, 54u));
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].class_id, 3u);
  EXPECT_EQ(found[0].anchor, 9u);
  EXPECT_EQ(found[0].classified, quark("cat"));
  auto* region = gst_buffer_get_video_region_of_interest_meta_id(
      out.get(), static_cast<gint>(found[0].od_id));
  ASSERT_NE(region, nullptr);
  EXPECT_EQ(std::tuple(region->x, region->y, region->w, region->h),
            std::tuple(30u, 18u, 60u, 60u));
  const GstStructure* param = gst_video_region_of_interest_meta_get_param(region, "detection");
  double x_min = 0, y_max = 0;
  ASSERT_TRUE(gst_structure_get(param, "x_min", G_TYPE_DOUBLE, &x_min, "y_max", G_TYPE_DOUBLE,
                                &y_max, nullptr));
  EXPECT_NEAR(x_min, 30 / 192.0, 1e-6);
  EXPECT_NEAR(y_max, 78 / 108.0, 1e-6);
}

TEST(Restore, SaysNoClassWhereNoneIsKnown) {
  FrameBox box{.box = {1, 2, 30, 40}, .score = 0.5f, .label = quark("cat")};
  const Buffer frame(full_frame());
  attach_boxes(frame.get(), std::span(&box, 1), {.regions = true, .frame = {192, 108}});
  auto* region = gst_buffer_get_video_region_of_interest_meta_id(frame.get(), 0);
  ASSERT_NE(region, nullptr);
  EXPECT_FALSE(gst_structure_has_field(
      gst_video_region_of_interest_meta_get_param(region, "detection"), "label_id"));
}

TEST(Restore, TakesFlagsFromTheStreamAndNotFromTheFrame) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  GstBuffer* frame = full_frame();
  GST_BUFFER_FLAG_SET(frame, GST_BUFFER_FLAG_MARKER);
  GST_BUFFER_FLAG_SET(frame, GST_VIDEO_BUFFER_FLAG_INTERLACED);
  const Buffer out = run_with(h, +[](GstElement*, GstBuffer* buffer, gpointer) {
    GST_BUFFER_FLAG_UNSET(buffer, GST_BUFFER_FLAG_MARKER);
    GST_BUFFER_FLAG_SET(buffer, GST_BUFFER_FLAG_GAP);
    GST_BUFFER_PTS(buffer) = 99;
  }, frame);
  EXPECT_FALSE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_MARKER));
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_BUFFER_FLAG_GAP));
  EXPECT_TRUE(GST_BUFFER_FLAG_IS_SET(out.get(), GST_VIDEO_BUFFER_FLAG_INTERLACED));
  EXPECT_EQ(GST_BUFFER_PTS(out.get()), 99u);
}

TEST(Restore, BringsAllMetasOfAKindAlong) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  const Buffer out = run_with(h, +[](GstElement*, GstBuffer* buffer, gpointer) {
    for (const char* name : {"timestamp/x-one", "timestamp/x-two"}) {
      g_autoptr(GstCaps) reference = gst_caps_new_empty_simple(name);
      gst_buffer_add_reference_timestamp_meta(buffer, reference, 5, GST_CLOCK_TIME_NONE);
    }
  });
  EXPECT_EQ(gst_buffer_get_n_meta(out.get(), GST_REFERENCE_TIMESTAMP_META_API_TYPE), 2u);
}

TEST(Restore, LeavesAZoneItsId) {
  Harness h("framesave ! identity name=mid ! framerestore", kFull);
  GstBuffer* frame = full_frame();
  FrameBox earlier[] = {{.box = {3, 4, 50, 60}, .score = 0.5f, .label = quark("cat")},
                        {.box = {3, 4, 50, 60}, .score = 0.5f, .label = quark("cat")}};
  attach_boxes(frame, earlier, {});
  const Buffer out = run_with(h, +[](GstElement*, GstBuffer* buffer, gpointer) {
    gst_buffer_add_video_region_of_interest_meta(buffer, "zone", 0, 14, 32, 18);  // its id is 0
    FrameBox box{.box = {10, 20, 30, 40}, .score = 0.5f, .label = quark("cat")};
    attach_boxes(buffer, std::span(&box, 1), {.frame = {64, 64}});
  }, frame);
  auto* zone = gst_buffer_get_video_region_of_interest_meta_id(out.get(), 0);
  ASSERT_NE(zone, nullptr);
  EXPECT_EQ(zone->roi_type, quark("zone"));
}

TEST(Restore, UndoesALetterboxOfSubsampledColoursToThePixel) {
  if (has_matrix()) GTEST_SKIP() << "GStreamer's own matrix counts";
  const test::TempDir dir;
  // 1280 x 714 in 640 x 640 is 357 rows behind 141, and 140 where rows share their colours.
  const auto top = [&](const char* format) {
    Harness h(std::string("framesave ! videoconvertscale ! video/x-raw,width=640,height=640,"
                          "pixel-aspect-ratio=1/1 ! ") + replay(dir, {10, 191, 20, 201, 0.9f, 0}) +
              " ! framerestore", std::string("video/x-raw,width=1280,height=714,framerate=30/1,"
                                             "pixel-aspect-ratio=1/1,format=") + format);
    return boxes(h.run(gst_buffer_new_allocate(nullptr, 1280 * 714 * 3, nullptr))).at(0).box.y1;
  };
  EXPECT_EQ(top("I420"), 102);
  EXPECT_EQ(top("GRAY8"), 100);
}

/// While a buffer is pushed on: the first memory of one that can be written to, else nullptr.
GstPadProbeReturn note_writable(GstPad*, GstPadProbeInfo* info, gpointer memory) {
  GstBuffer* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
  if (gst_buffer_is_writable(buffer) && gst_buffer_is_all_memory_writable(buffer))
    *static_cast<GstMemory**>(memory) = gst_buffer_peek_memory(buffer, 0);
  return GST_PAD_PROBE_OK;
}

TEST(Restore, HandsTheFrameOnForWriting) {
  for (const char* between : {"identity", "videoconvertscale ! video/x-raw,width=64,height=64"}) {
    Harness h(std::string("framesave ! ") + between + " ! framerestore", kFull);
    GstMemory* writable = nullptr;
    gst_pad_add_probe(h.get()->sinkpad, GST_PAD_PROBE_TYPE_BUFFER, note_writable, &writable, nullptr);
    GstBuffer* frame = full_frame();
    GstMemory* memory = gst_buffer_peek_memory(frame, 0);
    ASSERT_TRUE(h.run(frame)) << h.error();
    EXPECT_EQ(writable, memory) << between;
  }
}

TEST(Restore, HandsAPoolsFrameOnForWriting) {
  for (const char* scaled : {"width=320", "width=160"}) {
    g_autoptr(GError) error = nullptr;
    GstElement* pipeline = gst_parse_launch(
        (std::string("videotestsrc num-buffers=3 ! video/x-raw,width=320,height=240 ! framesave "
                     "! videoconvertscale ! video/x-raw,") + scaled +
         " ! framerestore ! fakesink name=k").c_str(), &error);
    ASSERT_EQ(error, nullptr);
    GstElement* sink = gst_bin_get_by_name(GST_BIN(pipeline), "k");
    g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");
    GstMemory* writable = nullptr;
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, note_writable, &writable, nullptr);
    gst_element_set_state(pipeline, GST_STATE_PLAYING);
    g_autoptr(GstBus) bus = gst_element_get_bus(pipeline);
    g_autoptr(GstMessage) end = gst_bus_timed_pop_filtered(
        bus, 20 * GST_SECOND, static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR));
    EXPECT_NE(writable, nullptr) << scaled;
    gst_element_set_state(pipeline, GST_STATE_NULL);
    gst_object_unref(sink);
    gst_object_unref(pipeline);
  }
}

TEST(Restore, LeavesAFrameThatOthersHoldAsItIs) {
  Harness h("framesave ! identity ! framerestore", kFull);
  const Buffer held(full_frame());
  const Buffer out = h.run(gst_buffer_ref(held.get()));
  ASSERT_TRUE(out) << h.error();
  EXPECT_NE(out.get(), held.get());
  EXPECT_EQ(gst_buffer_get_n_meta(held.get(), GST_ANALYTICS_RELATION_META_API_TYPE), 0u);
}

TEST(Restore, FollowsCropsAndFlips) {
  if (!has_matrix()) GTEST_SKIP() << "GStreamer tells where pixels went from 1.28 on";
  const test::TempDir dir;
  // A crop of 20 from the left; then everything mirrored; then 172 x 108 in 64 x 64.
  Harness h("framesave ! videocrop left=20 ! videoflip method=horizontal-flip ! videoconvertscale "
            "add-borders=false ! video/x-raw,width=86,height=54,pixel-aspect-ratio=1/1 ! " +
            replay(dir, {10, 20, 30, 44, 0.9f, 5}) + " ! framerestore", kFull);
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  const auto found = boxes(out);
  ASSERT_EQ(found.size(), 1u);
  // x' = 171 - (x - 20), halved: a pixel's mirror image is counted from the last pixel.
  EXPECT_NEAR(found[0].box.x1, 192 - 60, 1.01);
  EXPECT_NEAR(found[0].box.x2, 192 - 20, 1.01);
  EXPECT_NEAR(found[0].box.y1, 40, 0.01);
  EXPECT_NEAR(found[0].box.y2, 88, 0.01);
  EXPECT_EQ(h.warning(), "");
}

TEST(Restore, WarnsWhereTheWayIsNotKnown) {
  if (has_matrix()) GTEST_SKIP() << "GStreamer tells where pixels went";
  const test::TempDir dir;
  Harness h("framesave ! videocrop left=20 ! videoconvertscale ! video/x-raw,width=64,height=64,"
            "pixel-aspect-ratio=1/1 ! " + replay(dir, {10, 20, 30, 44, 0.9f, 5}) +
            " ! framerestore", kFull);
  ASSERT_TRUE(h.run(full_frame()));
  EXPECT_NE(h.warning().find("crop or flip"), std::string::npos);
  ASSERT_TRUE(h.run(full_frame()));
  EXPECT_EQ(h.warning(), "") << "once";
}

TEST(Restore, BelievesTheScalerRatherThanTheProperty) {
  const test::TempDir dir;
  Harness h("framesave ! videoconvertscale add-borders=false ! video/x-raw,width=64,height=64,"
            "pixel-aspect-ratio=1/1 ! " + replay(dir, {8, 16, 16, 32, 0.9f, 0}) +
            " ! framerestore", kFull);
  const Box box = boxes(h.run(full_frame())).at(0).box;
  EXPECT_EQ(box, has_matrix() ? (Box{24, 27, 48, 54}) : (Box{24, 6, 48, 54}));
}

TEST(Restore, GivesEarlierBoxesBackOnce) {
  const test::TempDir dir;
  Harness h(std::string("framesave ! videoconvertscale ! video/x-raw,width=64,height=64,") +
            "pixel-aspect-ratio=1/1 ! " + replay(dir, {10, 24, 30, 44, 0.9f, 5}) +
            " ! framerestore", kFull);
  GstBuffer* frame = full_frame();
  FrameBox earlier{.box = {3, 4, 50, 60}, .score = 0.5f, .label = g_quark_from_string("cat"),
                         .class_id = 1, .anchor = 2};
  attach_boxes(frame, std::span(&earlier, 1), {});
  const auto found = boxes(h.run(frame));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(found[0].box, (Box{3, 4, 50, 60})) << "as it was, not through the scaler";
  EXPECT_EQ(found[1].box, (Box{30, 30, 90, 90}));
}

TEST(Restore, Nests) {
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=96,height=54,"
            "pixel-aspect-ratio=1/1 ! framesave ! videoconvertscale ! video/x-raw,width=48,height=27,"
            "pixel-aspect-ratio=1/1 ! framerestore ! framerestore", kFull);
  const Buffer out = h.run(full_frame());
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(gst_buffer_get_size(out.get()), 192u * 108 * 3);
}

TEST(Restore, AnswersAFlushWithFlushing) {
  Harness h("framesave ! framerestore", kFull);
  GstElement* restore = nullptr;
  for (GList* each = GST_BIN_CHILDREN(h.bin()); each != nullptr; each = each->next)
    if (g_str_has_prefix(GST_OBJECT_NAME(each->data), "keepboxframerestore"))
      restore = GST_ELEMENT(each->data);
  g_autoptr(GstPad) src = gst_element_get_static_pad(restore, "src");
  GST_PAD_SET_FLUSHING(src);
  EXPECT_FALSE(h.run(full_frame()));
  EXPECT_EQ(h.flow, GST_FLOW_FLUSHING);
  EXPECT_EQ(h.error(), "");
  GST_PAD_UNSET_FLUSHING(src);
}

TEST(Restore, ExplainsAMissingFrame) {
  Harness h("framerestore", kFull);
  EXPECT_FALSE(h.run(full_frame()));
  EXPECT_EQ(h.flow, GST_FLOW_ERROR);
  EXPECT_NE(h.error().find("framesave"), std::string::npos);
}

TEST(Restore, FollowsNewCaps) {
  const test::TempDir dir;
  Harness h("framesave ! videoconvertscale ! video/x-raw,width=64,height=64,"
            "pixel-aspect-ratio=1/1 ! " + replay(dir, {0, 0, 64, 64, 0.9f, 0}) +
            " ! framerestore", kFull);
  ASSERT_TRUE(h.run(full_frame()));
  h.set_caps("video/x-raw,format=RGB,width=64,height=128,framerate=30/1");
  const Buffer out = h.run(gst_buffer_new_allocate(nullptr, 64 * 128 * 3, nullptr));
  ASSERT_TRUE(out) << h.error();
  EXPECT_EQ(boxes(out).at(0).box, (Box{0, 0, 64, 128}));
}

TEST(Restore, SurvivesFlushAndStateCycles) {
  Harness h("framesave ! framerestore", kFull);
  ASSERT_TRUE(h.run(full_frame()));
  gst_harness_push_event(h.get(), gst_event_new_flush_start());
  gst_harness_push_event(h.get(), gst_event_new_flush_stop(TRUE));
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  gst_harness_push_event(h.get(), gst_event_new_segment(&segment));
  ASSERT_TRUE(h.run(full_frame()));
  for (const char* name : {"framesave", "framerestore"}) {
    GstElement* element = gst_element_factory_make(name, nullptr);
    for (int i = 0; i < 100; ++i) {
      EXPECT_EQ(gst_element_set_state(element, GST_STATE_PLAYING), GST_STATE_CHANGE_SUCCESS);
      EXPECT_EQ(gst_element_set_state(element, GST_STATE_NULL), GST_STATE_CHANGE_SUCCESS);
    }
    gst_object_unref(element);
  }
}

}  // namespace
}  // namespace keepbox
