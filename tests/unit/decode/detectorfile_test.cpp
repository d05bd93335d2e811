// SPDX-License-Identifier: LGPL-2.1-or-later
// Model families in files: round trips of every family, every key.

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>
#include <vector>

#include "core/model/detector_fields.h"
#include "core/model/detector_text.h"
#include "core/model/words.h"
#include "core/recognition/layout.h"
#include "gst/base/props.h"
#include "tests/tempdir.h"
#include "tests/unit/decode/rowsfile.h"

namespace keepbox {
namespace {

using test::kRowsFile;
using test::replaced;

auto numbers_of(const TensorRule& rule) {
  return std::tuple(rule.role, rule.optional, rule.ids, rule.plain, rule.channels, rule.scale,
                    rule.zero_point);
}

auto numbers_of(const Columns& c) {
  return std::tuple(c.box, c.objectness, c.classes, c.score, c.class_id, c.image, c.angle,
                    c.payload, c.box_last);
}

auto numbers_of(const DetectorSpec& s) {
  return std::tuple(
      s.name, s.summary, s.reader, s.tensor_count, numbers_of(s.columns), s.coding, s.box_yx,
      s.units, s.box_scale, s.cell_offset, s.xy_scales, s.delta_limit, s.bins, s.score,
      s.activation, s.background, s.logit_limit, s.probabilities, s.multi_label, s.peaks, s.strides,
      s.min_levels, s.cell_anchors, s.interleaved, s.anchors.base, s.anchors.input,
      s.anchors.scales_inner, s.anchors.integer_sides, s.anchors.of_grid, s.anchors.clipped,
      s.priors, s.payload, s.payload_count, s.nms, s.nms_sigma, s.contract, s.score_threshold,
      s.iou_threshold, s.points.coding, s.points.values, s.points.yx, s.points.set,
      s.input.deviation, s.input.mean, s.input.bgr, s.input.resize, s.input.pad, s.input.caveat);
}

/// Compares all fields except by_shape, which files do not have.
bool equal(const DetectorSpec& a, const DetectorSpec& b) {
  return numbers_of(a) == numbers_of(b) && std::ranges::equal(a.anchors.sizes, b.anchors.sizes) &&
         std::ranges::equal(a.anchors.scales, b.anchors.scales) &&
         std::ranges::equal(a.anchors.ratios, b.anchors.ratios) &&
         std::ranges::equal(
             a.rules(), b.rules(), {}, [](auto& r) { return numbers_of(r); },
             [](auto& r) { return numbers_of(r); });
}

TEST(DetectorFile, RoundTripsEveryFamily) {
  for (const DetectorSpec& spec : detectors()) {
    const std::string text = print_detector(spec);
    const auto back = read_detector(text, "box.detector");
    ASSERT_TRUE(back) << spec.name << ": " << back.error().message() << "\n" << text;
    EXPECT_TRUE(equal(*back->family, spec)) << text << print_detector(*back->family);
    EXPECT_EQ(print_detector(*back->family), text);
    const std::string base = "[detector]\nbase=" + std::string(spec.name);
    const auto based = read_detector(base + "\nname=" + std::string(spec.name), "x");
    ASSERT_TRUE(based) << based.error().message();
    EXPECT_TRUE(equal(*based->family, spec)) << spec.name;
  }
}

TEST(DetectorFile, ComparesEveryField) {
  // Checks that equal() compares every field: each key must make a difference.
  for (const auto& field : detector_fields()) {
    FamilyStorage kept;
    bool differs = false;
    for (const char* value :
         {"true",     "false",       "xy",        "yx",    "split",   "corners",
          "pixels",   "1,2,3,4",     "0.5",       "7",     "product", "softmax",
          "last",     "10x20,30x40", "1.5,2",     "angle", "cells",   "3",
          "weighted", "opencv",      "some text", "bgr",   "stretch", "1,2,3"}) {
      DetectorSpec spec;
      if (!field.read(value, spec, kept)) continue;
      if (field.print(spec) != field.print(DetectorSpec())) {
        EXPECT_FALSE(equal(spec, DetectorSpec())) << field.key << "=" << value;
        differs = true;
        DetectorSpec again;
        EXPECT_TRUE(field.read(field.print(spec), again, kept)) << field.key;
        EXPECT_TRUE(equal(spec, again)) << field.key << "=" << value;
      }
    }
    EXPECT_TRUE(differs) << field.key << " never changed";
  }
}

TEST(DetectorFile, KeepsTextsOfAnyCharacters) {
  DetectorSpec spec = *find_detector("yolov8");
  spec.summary = "a\\b\nc\td\r\\n = [e] # f";
  const std::string text = print_detector(spec);
  EXPECT_TRUE(text.contains("summary=a\\\\b\\nc\td\\r\\\\n = [e] # f\n")) << text;
  const auto file = read_detector(text, "box.detector");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->family->summary, spec.summary);
}

TEST(DetectorFile, ResizeModesHaveTheNamesOfTheProperties) {
  for (int mode = 0; mode <= static_cast<int>(ResizeMode::kCrop); ++mode) {
    const std::string name(to_string(static_cast<ResizeMode>(mode)));
    const std::string keys = "input-std=1,1,1\nresize-mode=" + name + "\ncoding=";
    const auto file = read_detector(replaced(kRowsFile, "coding=", keys), "box.detector");
    ASSERT_TRUE(file) << file.error().message();
    EXPECT_EQ(static_cast<int>(file->family->input.resize), mode) << name;
    EXPECT_EQ(nick_of(resize_mode_type(), mode), name);
  }
}

TEST(DetectorFile, ReadsEveryKeyOfATensor) {
  const auto file = read_detector(
      "[detector]\nreader=split\ncoding=corners\npayload=keypoints\n"
      "[tensor boxes]\nids=a_*,b\nnames=x,y\nchannels=5\nscale=0.25\nzero-point=-3\n"
      "[tensor s]\nrole=scores\n[tensor keypoints]\noptional=true\n",
      "box.detector");
  ASSERT_TRUE(file) << file.error().message();
  ASSERT_EQ(file->family->tensor_count, 3);
  const TensorRule& boxes = file->family->tensors[0];
  EXPECT_EQ(boxes.role, Role::kBoxes);
  EXPECT_EQ(boxes.ids, (std::array<std::string_view, 4>{"a_*", "b"}));
  EXPECT_EQ(boxes.plain, (std::array<std::string_view, 2>{"x", "y"}));
  EXPECT_EQ(boxes.channels, 5);
  EXPECT_EQ(boxes.scale, 0.25f);
  EXPECT_EQ(boxes.zero_point, -3);
  EXPECT_EQ(file->family->tensors[1].role, Role::kScores);
  EXPECT_TRUE(file->family->tensors[2].optional);
}

TEST(DetectorFile, ChangesOnlyWhatItContains) {
  const auto file = read_detector(
      replaced(kRowsFile, "reader=ready", "reader = ready\r\nlabel-file=l.txt\npriors-file=p.txt"),
      "some/where/box.detector");
  ASSERT_TRUE(file) << file.error().message();
  EXPECT_EQ(file->priors_file, "some/where/p.txt");
  EXPECT_EQ(file->family->name, "box");
  EXPECT_EQ(file->label_file, "some/where/l.txt");
  DetectorSpec wanted{.name = "box",
                      .reader = Reader::kReady,
                      .columns = {.box = 2, .score = 1, .class_id = 0},
                      .coding = BoxCoding::kTopLeftSize};
  wanted.tensors[0].ids = {"rows"};
  EXPECT_TRUE(equal(*file->family, wanted)) << print_detector(*file->family);
}

TEST(DetectorFile, ChangesABase) {
  const auto file = read_detector(
      "[detector]\nbase=scrfd\nstrides=8,16\nreader=split\n[tensor scores]\nids=s_*\n"
      "[tensor unread]\noptional=true\n",
      "my.detector");
  ASSERT_TRUE(file) << file.error().message();
  DetectorSpec wanted = *find_detector("scrfd");
  wanted.name = "my";
  wanted.strides = {8, 16};
  wanted.tensors[1].ids = {"s_*"};
  wanted.tensors[wanted.tensor_count++] = {.role = Role::kUnread, .optional = true};
  EXPECT_TRUE(equal(*file->family, wanted)) << print_detector(*file->family);
  EXPECT_FALSE(file->family->by_shape);
}

TEST(DetectorFile, IsARegularFileOfLimitedSize) {
  const test::TempDir dir;
  EXPECT_TRUE(load_detector(dir.write("a.detector", kRowsFile)));
  EXPECT_FALSE(load_detector(dir / "none.detector"));
  EXPECT_FALSE(load_detector(dir.path().string()));
  EXPECT_FALSE(load_detector(dir.write("b", kRowsFile + "#" + std::string(65536, 'x') + "\n")));
}

TEST(DetectorFile, IsDistinguishedFromAFamilyName) {
  const auto before = std::filesystem::current_path();
  const test::TempDir dir;
  EXPECT_TRUE(means_detector_file("./x"));
  EXPECT_TRUE(means_detector_file("x.detector"));
  EXPECT_TRUE(means_detector_file(dir.write("plain", "")));
  std::filesystem::current_path(dir.path());
  for (const char* name : {"auto", "yolov8"}) {
    dir.write(name, "");
    EXPECT_FALSE(means_detector_file(name));
  }
  EXPECT_TRUE(means_detector_file("plain"));
  EXPECT_FALSE(means_detector_file("yolov99"));
  std::filesystem::current_path(before);
}

TEST(DetectorFile, ExplainsEveryKey) {
  const std::string text = detector_keys_text();
  for (const auto& field : detector_fields()) {
    EXPECT_TRUE(text.contains("  " + std::string(field.key) + ": "));
    EXPECT_TRUE(field.summary.ends_with('.')) << field.key;
  }
  for (const auto& field : tensor_fields()) EXPECT_TRUE(field.summary.ends_with('.')) << field.key;
}

TEST(DetectorFile, AssignsScalesToTensors) {
  DetectorSpec spec = *find_detector("scrfd");
  const auto rule_of = [&](std::string_view id, std::vector<std::string> ids = {}) {
    const TensorRule* rule = quantization_of(spec, id, ids);
    return rule == nullptr ? -1 : static_cast<int>(rule - spec.tensors.data());
  };
  EXPECT_EQ(rule_of("bbox_8"), -1);
  spec.tensors[0].scale = 0.5f;
  EXPECT_EQ(rule_of("bbox_8"), 0);
  EXPECT_EQ(rule_of("bbox_32"), 0);
  EXPECT_EQ(rule_of("bbox_33"), -1);
  EXPECT_EQ(rule_of("score_8"), -1);
  EXPECT_EQ(rule_of(""), -1);
  const std::vector<std::string> ids{"a", "b", "c", "d", "e", "f", "g", "h", "i"};
  EXPECT_EQ(rule_of("c", ids), 0);
  EXPECT_EQ(rule_of("d", ids), -1);
  EXPECT_EQ(rule_of("bbox_8", ids), -1);
  spec.tensors[0].ids = {};
  EXPECT_EQ(rule_of("anything"), 0);
  EXPECT_EQ(rule_of("score_8"), -1);
}

}  // namespace
}  // namespace keepbox
