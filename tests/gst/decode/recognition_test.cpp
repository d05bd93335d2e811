// SPDX-License-Identifier: LGPL-2.1-or-later
// boxdecode's reports on tensors and settings that do not fit, and the scaler's letterbox.
#include <gst/video/video.h>

#include <algorithm>
#include <cmath>

#include "gst/base/element.h"
#include "tests/dense.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

using test::boxes;
using test::Buffer;
using test::dense;
using test::expect_words;
using test::Harness;
using test::stat_text;
using test::Tensor;

GstBuffer* carrying(const std::vector<Tensor>& tensors) {
  GstBuffer* frame = gst_buffer_new_allocate(nullptr, 64, nullptr);
  for (const Tensor& tensor : tensors) test::attach(frame, tensor);
  return frame;
}

Tensor masks() { return dense({.payload = 32}); }

Tensor blank(Tensor tensor, size_t from = 0) {
  std::fill(tensor.values.begin() + static_cast<ptrdiff_t>(from), tensor.values.end(), 0.0f);
  return tensor;
}

constexpr size_t kBoxes = size_t{4} * 8400;  // values of the box planes

TEST(Recognition, RejectsWhatTheValuesContradict) {
  Harness h("boxdecode");
  EXPECT_FALSE(h.run(carrying({masks()})));
  EXPECT_EQ(h.flow, GST_FLOW_ERROR);
  expect_words(h.error(), {"yolov8 (33 classes)", "fits yolov8-seg (1 class, 32 mask coefficients)",
                           "detector="});
  Harness oriented("boxdecode");
  EXPECT_FALSE(
      oriented.run(carrying({dense({.classes = 15, .payload = 1, .number = test::angle})})));
  expect_words(oriented.error(), {"yolov8-obb (15 classes, an angle)"});
}

TEST(Recognition, SmallPicturesAreWhyThereIsNoBox) {
  Harness h("boxdecode detector=yolov8", "video/x-raw,format=RGB,width=32,height=32");
  const Tensor tensor{std::vector<float>(size_t{84} * 21), {1, 84, 21}};
  ASSERT_TRUE(h.run(carrying({tensor}))) << h.error();
  gst_harness_push_event(h.get(), gst_event_new_eos());
  expect_words(h.warning(), {"32x32", "21 anchors", "input-size=", "by another export"});
}

TEST(Recognition, RejectsItAfterBlankFrames) {
  for (const size_t from : {size_t{0}, kBoxes}) {
    Harness h("boxdecode");
    for (int i = 0; i < 3; ++i) {
      const Buffer out = h.run(carrying({blank(masks(), from)}));
      ASSERT_TRUE(out) << h.error();
      EXPECT_TRUE(boxes(out).empty());
    }
    EXPECT_FALSE(h.run(carrying({masks()})));
    expect_words(h.error(), {"scores in 0..1", "yolov8 (33 classes)"});
  }
}

TEST(Recognition, ReadsBlankFramesAsTheyAre) {
  Harness h("boxdecode");
  const Tensor named = test::rows({{}, {}});
  Tensor nameless = named;
  nameless.id.clear();
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(h.run(carrying({named}))) << h.error();
    EXPECT_EQ(stat_text(h.element(), "detector"), "yolo26");
    ASSERT_TRUE(h.run(carrying({nameless}))) << h.error();
    EXPECT_EQ(stat_text(h.element(), "detector"), "yolov10") << "not as the frame before";
  }
}

/// Rows of image, class, score and corners; none on the first frames.
TEST(Recognition, WaitsForTheFirstRows) {
  Harness h("boxdecode", "video/x-raw,format=RGB,width=416,height=416");
  const Tensor none{.values = {}, .shape = {0, 7}};
  for (int i = 0; i < 2; ++i) {
    const Buffer out = h.run(carrying({none}));
    ASSERT_TRUE(out) << h.error();
    EXPECT_TRUE(boxes(out).empty());
  }
  const Buffer out = h.run(carrying({{.values = {0, 2, .9f, 40, 60, 140, 160}, .shape = {1, 7}}}));
  ASSERT_TRUE(out) << h.error();
  ASSERT_EQ(boxes(out).size(), 1u);
  EXPECT_EQ(boxes(out)[0].box, (Box{40, 60, 140, 160}));
  EXPECT_EQ(stat_text(h.element(), "detector"), "class-score-rows");
  ASSERT_TRUE(h.run(carrying({none}))) << h.error();
}

/// Numbers that overflow are why there is no box, not a high threshold.
TEST(Recognition, ScoresThatAreNotFiniteAreWhyThereIsNoBox) {
  for (const float value : {test::kNan, test::kInfinity}) {
    Harness h("boxdecode detector=yolov8");
    Tensor tensor = dense({.classes = 2});
    std::ranges::fill(tensor.values, value);
    const Buffer out = h.run(carrying({tensor}));
    ASSERT_TRUE(out) << h.error();
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(h.element(), "stats", &stats, nullptr);
    guint count = 0;
    EXPECT_TRUE(gst_structure_get_uint(stats, "not-finite", &count));
    EXPECT_EQ(count, std::isnan(value) ? 2u * 8400 : 8400u) << "scores, or candidates";
    gst_harness_push_event(h.get(), gst_event_new_eos());
    const std::string warning = h.warning();
    expect_words(warning, {"not finite", "float16"});
    EXPECT_FALSE(warning.contains("ower score-threshold")) << warning;
  }
}

TEST(Recognition, NamesModelsOfMaps) {
  Harness h("boxdecode");
  const Tensor maps{std::vector<float>(size_t{19} * 128 * 128), {1, 19, 128, 128}};
  EXPECT_FALSE(h.run(carrying({maps})));
  expect_words(h.error(), {"semantic segmentation", "remove boxdecode"});
}

TEST(Recognition, PassesFramesWithoutBoxesWithAWarning) {
  Harness h("boxdecode on-mismatch=warn");
  ASSERT_TRUE(h.run(carrying({blank(masks(), kBoxes)})));
  for (unsigned seed = 1; seed < 4; ++seed) {
    const Buffer out = h.run(carrying({dense({.payload = 32}, seed)}));
    ASSERT_TRUE(out);
    EXPECT_TRUE(boxes(out).empty());
  }
  EXPECT_NE(h.warning(), "");
  EXPECT_EQ(h.warning(), "") << "one cause";
}

TEST(Recognition, AcceptsASetDetectorWithOneWarning) {
  for (const size_t blank_from : {size_t{0}, kBoxes, masks().values.size()}) {
    Harness h("boxdecode detector=yolov8");
    ASSERT_TRUE(h.run(carrying({blank(masks(), blank_from)}))) << h.error();
    for (unsigned seed = 1; seed < 4; ++seed)
      ASSERT_TRUE(h.run(carrying({dense({.payload = 32}, seed)}))) << h.error();
    expect_words(h.warning(), {"scores in 0..1", "yolov8 (33 classes)", "detector="});
    EXPECT_EQ(h.warning(), "");
  }
}

TEST(Recognition, WarnsOfYoloxReadAsYolov8) {
  Tensor raw = dense({.anchors = 3549, .classes = 81, .rows = true});
  for (size_t i = 0; i < raw.values.size(); ++i)
    if (i % 85 < 4) raw.values[i] = raw.values[i] / 100 - 1;
  Harness h("boxdecode detector=yolov8", "video/x-raw,format=RGB,width=416,height=416");
  for (int i = 0; i < 2; ++i) ASSERT_TRUE(h.run(carrying({raw}))) << h.error();
  expect_words(h.warning(), {"decoded boxes", "yolov8 (81 classes)", "detector="});
  EXPECT_EQ(h.warning(), "");
}

TEST(Recognition, WarnsOncePerImplausibleSetting) {
  Harness h("boxdecode score-threshold=25");
  const Tensor tensor = dense({.classes = 6});
  const auto run = [&] { return boxes(h.run(carrying({tensor}))).size(); };
  for (int i = 0; i < 3; ++i) EXPECT_EQ(run(), 0u);
  expect_words(h.warning(), {"score-threshold=25 drops every box", "Set score-threshold="});
  EXPECT_EQ(h.warning(), "");
  h.set("score-threshold", 30.0);
  EXPECT_EQ(run(), 0u);
  EXPECT_EQ(h.warning(), "") << "known";
  h.set("score-threshold", 0.5, "include-classes", "1,80");
  for (int i = 0; i < 3; ++i) EXPECT_GT(run(), 0u);
  expect_words(h.warning(), {"include-classes names class 80", "the model's classes are 0 to 5"});
  EXPECT_EQ(h.warning(), "");
}

TEST(Recognition, ReadsAnyNumberOfKeypointsAndCoefficients) {
  const Tensor seg = dense({.classes = 3, .payload = 8});
  const Tensor pose = dense({.classes = 2, .payload = 15, .number = test::keypoint});
  const auto classes = [](const char* line, const std::vector<Tensor>& tensors) {
    Harness h(line);
    const Buffer out = h.run(carrying(tensors));
    EXPECT_TRUE(out) << h.error();
    EXPECT_EQ(h.warning(), "");
    uint32_t most = 0;
    if (out)
      for (const FrameBox& box : boxes(out)) most = std::max(most, box.class_id.value() + 1);
    return most;
  };
  EXPECT_EQ(classes("boxdecode", {seg, test::prototypes(8, 160)}), 3u);
  EXPECT_EQ(classes("boxdecode detector=yolov8-seg", {seg, test::prototypes(8, 160)}), 3u);
  EXPECT_EQ(classes("boxdecode detector=yolov8-seg num-classes=3", {seg}), 3u);
  EXPECT_EQ(classes("boxdecode detector=yolov8-pose num-classes=2", {pose}), 2u);
  Harness h("boxdecode detector=yolov8-pose");
  EXPECT_FALSE(h.run(carrying({pose})));
  expect_words(h.error(), {"num-classes="});
}

/// An area from the first column and row to one beyond the last.
struct Area {
  int x1 = 0, y1 = 0, x2 = 0, y2 = 0;
  friend bool operator==(const Area&, const Area&) = default;
};

std::ostream& operator<<(std::ostream& out, const Area& a) {
  return out << a.x1 << ',' << a.y1 << " to " << a.x2 << ',' << a.y2;
}

std::string caps_of(const char* format, Size size, const char* par) {
  return "video/x-raw,framerate=30/1,format=" + std::string(format) +
         ",width=" + std::to_string(size.width) + ",height=" + std::to_string(size.height) +
         ",pixel-aspect-ratio=" + par;
}

/// Returns the area of the light pixels.
Area lit(GstBuffer* buffer, const GstCaps* caps) {
  GstVideoInfo info;
  GstVideoFrame frame;
  if (!gst_video_info_from_caps(&info, caps) ||
      !gst_video_frame_map(&frame, &info, buffer, GST_MAP_READ))
    return {};
  const int width = GST_VIDEO_FRAME_WIDTH(&frame), height = GST_VIDEO_FRAME_HEIGHT(&frame);
  Area out{width, height, 0, 0};
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const auto* row = static_cast<const guint8*>(GST_VIDEO_FRAME_COMP_DATA(&frame, 0)) +
                        y * GST_VIDEO_FRAME_COMP_STRIDE(&frame, 0);
      if (row[x * GST_VIDEO_FRAME_COMP_PSTRIDE(&frame, 0)] < 128) continue;
      out = {std::min(out.x1, x), std::min(out.y1, y), std::max(out.x2, x + 1),
             std::max(out.y2, y + 1)};
    }
  gst_video_frame_unmap(&frame);
  return out;
}

void expect_the_scalers_place(const std::string& from, const std::string& to) {
  SCOPED_TRACE(from + " to " + to);
  g_autoptr(GstCaps) in = gst_caps_from_string(from.c_str());
  g_autoptr(GstCaps) out = gst_caps_from_string(to.c_str());
  GstVideoInfo info;
  ASSERT_TRUE(gst_video_info_from_caps(&info, in));
  GstBuffer* white = gst_buffer_new_allocate(nullptr, GST_VIDEO_INFO_SIZE(&info), nullptr);
  gst_buffer_memset(white, 0, 0xff, GST_VIDEO_INFO_SIZE(&info));
  Harness h("videoconvertscale ! capsfilter caps=\"" + to + "\"", from);
  const Buffer scaled = h.run(white);
  ASSERT_TRUE(scaled) << h.error();
  const Picture frame = *picture_of(in);
  const Letterbox map = make_letterbox(frame, *picture_of(out), ResizeMode::kLetterboxScaler);
  const auto x = static_cast<int>(map.pad_x), y = static_cast<int>(map.pad_y);
  const auto w = static_cast<float>(frame.size.width), h2 = static_cast<float>(frame.size.height);
  EXPECT_EQ(lit(scaled.get(), out), (Area{x, y, x + static_cast<int>(std::lround(w / map.scale_x)),
                                          y + static_cast<int>(std::lround(h2 / map.scale_y))}));
}

TEST(ScalersLetterbox, MatchesVideoconvertscale) {
  constexpr Size kFrames[] = {{640, 480}, {641, 483}, {586, 640}, {319, 41},
                              {60, 901},  {901, 60},  {719, 405}, {33, 65}};
  constexpr Size kModels[] = {{416, 416}, {415, 417}, {320, 180}, {64, 64}, {97, 31}};
  constexpr struct {
    const char *frame, *model;
  } kRatios[] = {
      {"1/1", "1/1"}, {"16/11", "1/1"}, {"12/11", "16/15"}, {"1/1", "4/3"}, {"8/9", "1/2"}};
  constexpr const char* kFormats[] = {"RGB", "I420", "UYVY", "GRAY8"};
  size_t next = 0;
  for (const Size& frame : kFrames)
    for (const Size& model : kModels)
      for (const auto& ratio : kRatios)
        expect_the_scalers_place(
            caps_of("RGB", frame, ratio.frame),
            caps_of(kFormats[next++ % std::size(kFormats)], model, ratio.model));
}

}  // namespace
}  // namespace keepbox
