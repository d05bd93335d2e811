// SPDX-License-Identifier: LGPL-2.1-or-later
// Conclusions from the declarations of models.
#include "gst/infer/facts/modelfacts.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "core/model/detector.h"
#include "tests/unit/infer/declaration.h"

namespace keepbox {
namespace {

using test::described;
using test::Dims;
using test::error_of;
using test::facts_of;
using test::kUnknown;
using test::kYolov8;
using test::model;
using test::port;
using test::Three;
using test::ultralytics;

TEST(ModelFacts, HaveDefaultsForUnknowns) {
  const ModelFacts facts = facts_of(kUnknown);
  EXPECT_EQ(facts.remark, "RGB, 0..1, letterbox-center, pad 114: assumed");
  EXPECT_EQ(facts.assumed, "RGB, 0..1, letterbox-center, pad 114, as for most models");
  EXPECT_EQ(facts.outputs[0].id, "out");
  EXPECT_EQ(facts.units, Units::kAuto);
  ModelDeclaration bytes = kUnknown;
  bytes.inputs[0] = port("image", {1, 320, 300, 3}, DataType::kUInt8);
  const ModelFacts raw = facts_of(bytes);
  EXPECT_EQ(raw.input.deviation, (Three{1, 1, 1}));
  EXPECT_EQ(raw.input.type, DataType::kUInt8);
  EXPECT_TRUE(raw.input.channels_last);
  EXPECT_EQ(raw.input.size, (Size{300, 320}));
  EXPECT_SAID(raw.remark, "uint8");
}

TEST(ModelFacts, FindThePicture) {
  const struct {
    Dims dims;
    bool last;
    int channels;
    Size size;
  } cases[] = {{{1, 1, 32, 48}, false, 1, {48, 32}},
               {{-1, 3, 32, 48}, false, 3, {48, 32}},
               {{1, 32, 48, 1}, true, 1, {48, 32}},
               {{3, 32, 48}, false, 3, {48, 32}},
               {{32, 48, 3}, true, 3, {48, 32}}};
  for (const auto& each : cases) {
    const ModelFacts facts = facts_of(model(each.dims, {port("o", {1, 7})}));
    EXPECT_EQ(facts.input.channels_last, each.last);
    EXPECT_EQ(facts.input.channels, each.channels);
    EXPECT_EQ(facts.input.size, each.size);
  }
}

TEST(ModelFacts, RejectUnknownInputs) {
  const auto with = [](std::vector<ModelPort> inputs) {
    ModelDeclaration declaration = kUnknown;
    declaration.inputs = std::move(inputs);
    return error_of(declaration);
  };
  const ModelPort image = port("images", {1, 3, 64, 64});
  EXPECT_SAID(with({}), "inputs none");
  EXPECT_SAID(with({port("input_ids", {-1, -1}, DataType::kInt64)}), "input_ids -1x-1 int64");
  const std::string four = with({port("images", {1, 4, 64, 64})});
  EXPECT_SAID(four, "images 1x4x64x64 float32");
  EXPECT_EQ(four.find("dynamic"), std::string::npos) << four;
  EXPECT_EQ(four.find(".modelinfo"), std::string::npos) << four;
  EXPECT_SAID(with({port("images", {-1, -1, -1, -1})}), "channels, by dims= in a .modelinfo");
  EXPECT_SAID(with({port("images", {1, -1, 64, 64})}), "channels, by dims= in a .modelinfo");
  EXPECT_SAID(with({port("images", {2, 3, 64, 64})}), "batch size 1");
  EXPECT_SAID(with({port("images", {0, 3, 64, 64})}), "batch size 1");
  EXPECT_SAID(with({port("images", {1, 3, 64, 0})}), "sides of 1 to");
  EXPECT_SAID(with({port("images", {1, 3, 64, int64_t{1} << 40})}), "sides of 1 to");
  EXPECT_SAID(with({port("images", {1, 3, 64, 64}, DataType::kInt8)}), "float32, float16 or uint8");
  EXPECT_SAID(with({port("images", {1, 3, 64, 64}, std::nullopt)}), "of unknown type");
  EXPECT_SAID(with({image, port("again", {1, 3, 64, 64})}), "one picture");
  const std::string extra = with({image, port("threshold", {1})});
  EXPECT_SAID(extra, "input threshold 1 float32");
  EXPECT_SAID(extra, "orig_target_sizes");
  ModelDeclaration silent = kUnknown;
  silent.outputs.clear();
  EXPECT_SAID(error_of(silent), "outputs");
}

TEST(ModelFacts, FillDynamicSizesFromAnySource) {
  ModelDeclaration declaration = kUnknown;
  declaration.inputs[0].dims = {-1, 3, -1, -1};
  EXPECT_SAID(error_of(declaration), "Set input-size=");
  EXPECT_SAID(error_of(declaration, {.size = {640, 0}}), "Set input-size=");
  EXPECT_EQ(facts_of(declaration, {.size = {640, 480}}).input.size, (Size{640, 480}));
  declaration.inputs[0].dims = {-1, 3, 480, -1};
  EXPECT_SAID(facts_of(declaration, {.size = {640, 0}}).remark, "640x480 by settings");
  declaration.inputs[0].dims = {-1, 3, -1, 640};
  EXPECT_SAID(facts_of(declaration, {.size = {0, 480}}).remark, "640x480 by settings");
  declaration.inputs[0].dims = {-1, 3, -1, -1};
  declaration.metadata = ultralytics("detect", "['a']", {{"imgsz", "[320, 256]"}});
  EXPECT_EQ(facts_of(declaration).input.size, (Size{256, 320}));
  EXPECT_SAID(facts_of(declaration).remark, "256x320 by metadata imgsz");
  declaration = described({{.name = "images", .dims = {1, 3, 96, 160}}}, declaration);
  EXPECT_EQ(facts_of(declaration).input.size, (Size{160, 96}));
  EXPECT_SAID(facts_of(declaration).remark, "160x96 by .modelinfo");
  EXPECT_EQ(facts_of(declaration, {.size = {650, 480}}).input.size, (Size{650, 480}));
  EXPECT_SAID(facts_of(declaration, {.size = {650, 480}}).remark,
              "not a multiple of the model's stride 32");
  EXPECT_SAID(error_of(declaration, {.size = {650, 1u << 20}}),
              "input-size= with a height of at most 16384");
}

TEST(ModelFacts, RejectSizesThatContradictTheModel) {
  EXPECT_EQ(facts_of(kYolov8, {.size = {640, 640}}).input.size, (Size{640, 640}));
  EXPECT_SAID(error_of(kYolov8, {.size = {320, 640}}), "input-size= with a width of 640");
  EXPECT_SAID(error_of(kYolov8, {.size = {0, 320}}), "input-size= with a height of 640");
}

TEST(ModelFacts, NeedOutputs) {
  const auto facts = settle_model(model({1, 3, 64, 64}, {}), {});
  ASSERT_FALSE(facts);
  EXPECT_EQ(facts.error().kind, ErrorKind::kUnsupported);
}

TEST(ModelFacts, UseTheChannelOrderOfAModelInfo) {
  ModelDeclaration declaration = kUnknown;
  declaration.inputs[0].dims = {-1, -1, -1, -1};
  const ModelFacts facts =
      facts_of(described({{.name = "images", .dims = {1, 64, 96, 3}}}, declaration));
  EXPECT_TRUE(facts.input.channels_last);
  EXPECT_EQ(facts.input.size, (Size{96, 64}));
  EXPECT_SAID(error_of(described({{.name = "images", .dims = {4, 64, 96, 3}}}, declaration)),
              "batch size 1");
}

TEST(ModelFacts, UseRangesOfAModelInfo) {
  const auto form = [](std::vector<std::array<double, 2>> ranges, const char* id) {
    return facts_of(described({{.name = "images", .ranges = std::move(ranges)},
                               {.name = "out", .id = id}}))
        .input;
  };
  const InputForm signs = form({{-1, 1}}, "x");
  EXPECT_EQ(signs.deviation, (Three{127.5f, 127.5f, 127.5f}));
  EXPECT_EQ(signs.mean, (Three{127.5f, 127.5f, 127.5f}));
  const InputForm rgb = form({{0, 255}, {0, 1}, {-2, 3}}, "x");
  EXPECT_EQ(rgb.deviation, (Three{1, 255, 51}));
  EXPECT_EQ(rgb.mean, (Three{0, 0, 102}));
  const InputForm bgr = form({{0, 255}, {0, 1}, {-2, 3}}, "yolox-out");
  EXPECT_TRUE(bgr.bgr);
  EXPECT_EQ(bgr.deviation, (Three{51, 255, 1}));
  EXPECT_EQ(bgr.mean, (Three{102, 0, 0}));
  EXPECT_SAID(error_of(described({{.name = "images", .ranges = {{0, 1}, {0, 1}}}})),
              "1 or 3 channels");
  EXPECT_SAID(error_of(described({{.name = "images", .ranges = {{0, 1e-300}}}})), "width");
  EXPECT_SAID(error_of(described({{.name = "images", .ranges = {{0, 1e300}}}})), "width");
  EXPECT_SAID(error_of(described({{.name = "images", .ranges = {{-1e308, 1e308}}}})), "width");
}

TEST(ModelFacts, CropHasNoPadding) {
  const ModelDeclaration declaration = model({1, 3, 416, 416}, {port("out", {1, 2})});
  EXPECT_SAID(facts_of(declaration, {.resize = ResizeMode::kCrop}).remark,
              "RGB, 0..1, crop: assumed");
}

TEST(ModelFacts, LetSettingsOverrideEverything) {
  const InputSettings settings{.order = ChannelOrder::kBgr,
                               .resize = ResizeMode::kStretch,
                               .mean = Three{1, 2, 3},
                               .deviation = Three{4, 5, 6},
                               .pad = 7};
  const ModelFacts facts =
      facts_of(described({{.name = "images", .ranges = {{-1, 1}}}}, kUnknown), settings);
  EXPECT_TRUE(facts.input.bgr);
  EXPECT_EQ(facts.resize, ResizeMode::kStretch);
  EXPECT_EQ(facts.input.mean, (Three{1, 2, 3}));
  EXPECT_EQ(facts.input.deviation, (Three{4, 5, 6}));
  EXPECT_EQ(facts.input.pad, 7);
  EXPECT_SAID(facts.remark, "settings");
  const ModelDeclaration yolox = model({1, 3, 416, 416}, {port("output", {1, 3549, 85})});
  EXPECT_FALSE(facts_of(yolox, {.order = ChannelOrder::kRgb}).input.bgr);
  const float infinite = std::numeric_limits<float>::infinity();
  EXPECT_SAID(error_of(kUnknown, {.deviation = Three{1, 0, 1}}), "deviation above 0");
  EXPECT_SAID(error_of(kUnknown, {.deviation = Three{1, infinite, 1}}), "finite");
  EXPECT_SAID(error_of(kUnknown, {.mean = Three{1, 0, infinite - infinite}}), "finite");
}

TEST(ModelFacts, PutTheModelInfosIdsFirstThenTheFilesOwn) {
  ModelDeclaration declaration = kYolov8;
  declaration.metadata["output0"] = "my-out/v1";
  const ModelFacts own = facts_of(declaration);
  EXPECT_EQ(own.outputs[0].id, "my-out/v1");
  EXPECT_FALSE(own.outputs[0].column_major);
  EXPECT_EQ(own.units, Units::kPixels);  // an id that is not in the table does not declare units
  const ModelFacts info = facts_of(described(
      {{.name = "output0", .id = "yolo-v8-out-normalized", .input = false, .column_major = true}},
      declaration));
  EXPECT_EQ(info.outputs[0].id, "yolo-v8-out-normalized");
  EXPECT_TRUE(info.outputs[0].column_major);
  EXPECT_EQ(info.units, Units::kNormalized);
  EXPECT_EQ(info.labels.size(), 2u);
  // Planes by their id alone, and rows unless the .modelinfo says otherwise.
  ModelDeclaration plain = kUnknown;
  plain.metadata["out"] = "yolo-v8-out";
  EXPECT_TRUE(facts_of(plain).outputs[0].column_major);
  plain = described({{.name = "out", .id = "yolo-v8-out"}});
  EXPECT_FALSE(facts_of(plain).outputs[0].column_major);
  // Metadata for an output whose name is not an id, and a .modelinfo without ids.
  declaration.metadata["output0"] = "{0: 'a'}";
  EXPECT_EQ(facts_of(described({{.name = "output0"}}, declaration)).outputs[0].id, "yolo-v8-out");
  // An id of the table replaces the family's.
  const std::map<std::string, std::string> metadata{
      {"stride", "32"}, {"names", "['a', 'b']"}, {"o", "yolox-out"}};
  EXPECT_EQ(facts_of(model({1, 3, 640, 640}, {port("o", {1, 25200, 7})}, metadata)).detector, "");
}

TEST(ModelFacts, LackTheModelInfoThatBelongsToGStreamersIds) {
  ModelDeclaration declaration = kUnknown;
  declaration.metadata["out"] = "yolo-v8-out";
  const auto lacks = [&](const InputSettings& settings = {}) {
    const ModelFacts facts = facts_of(declaration, settings);
    EXPECT_EQ(facts.assumed, facts.lacks_info ? "RGB, 0..1, letterbox-center, pad 0" : "");
    return facts.lacks_info;
  };
  EXPECT_TRUE(lacks());
  EXPECT_FALSE(lacks({.deviation = Three{1, 1, 1}}));
  declaration.inputs[0].type = DataType::kUInt8;
  EXPECT_FALSE(lacks()) << "its values have one range";
  declaration.inputs[0].type = DataType::kFloat32;
  declaration.metadata["out"] = "yolox-out";
  EXPECT_FALSE(lacks()) << "an id of the table, which has the input";
  declaration.metadata["out"] = "yolo-v8-out";
  EXPECT_FALSE(facts_of(described({}, declaration)).lacks_info);
  const FamilyOfModel set{.name = "yolov8", .input = find_detector("yolov8")->input, .set = true};
  EXPECT_FALSE(settle_model(declaration, {}, &set)->lacks_info);
}

TEST(ModelFacts, RejectAModelInfoOfAnotherModel) {
  const std::string missing = error_of(described({{.name = "output9", .input = false}}));
  EXPECT_SAID(missing, "[output9] in some.modelinfo");
  EXPECT_SAID(missing, "inputs images 1x3x64x64 float32, outputs out 1x7 float32");
  EXPECT_SAID(error_of(described({{.name = "out", .input = true}})), "[out]");
  EXPECT_SAID(error_of(described({{.name = "out", .type = DataType::kUInt8}})), "type= of [out]");
  EXPECT_SAID(error_of(described({{.name = "out", .dims = {1, 8}}})), "1x8");
  EXPECT_SAID(error_of(described({{.name = "out", .dims = {7}}})), "dims= of [out]");
  EXPECT_EQ(error_of(described({{.name = "out", .type = DataType::kFloat32, .dims = {-1, 7}}})),
            "");
}

TEST(ModelFacts, SurviveArbitraryDeclarations) {
  std::mt19937 random(8);
  const auto any = [&](auto... of) {
    const std::common_type_t<decltype(of)...> list[] = {of...};
    return list[random() % std::size(list)];
  };
  const auto claimed = [&](const char* name) {
    Dims dims(random() % 6);
    for (int64_t& dim : dims)
      dim = any(int64_t{-1}, int64_t{0}, int64_t{1}, int64_t{3}, int64_t{6}, int64_t{84},
                int64_t{640}, int64_t{8400}, std::numeric_limits<int64_t>::max(),
                std::numeric_limits<int64_t>::min());
    return port(name, std::move(dims), static_cast<DataType>(random() % 12));
  };
  size_t good = 0, bad = 0;
  for (int round = 0; round < 20000; ++round) {
    ModelDeclaration declaration;
    declaration.inputs = {round % 2 != 0 ? claimed("images") : port("images", {-1, 3, 640, -1})};
    if (random() % 4 == 0)
      declaration.inputs.push_back(claimed(any("orig_target_sizes", "scale_factor")));
    if (random() % 4 == 0)
      declaration.inputs.push_back(port(any("orig_target_sizes", "scale_factor"), {1, 2}));
    for (size_t i = random() % 4; i > 0; --i)
      declaration.outputs.push_back(claimed(any("output0", "boxes")));
    if (random() % 2 == 0)
      declaration.metadata = ultralytics(
          any("detect", "segment", "pose", "obb", "classify", ""),
          any("['a', 'b']", "", "[", "{0: 'a'}"),
          {{"imgsz", any("[640, 640]", "0", "65535")}, {"end2end", any("True", "False")}});
    if (random() % 3 == 0) declaration = described({}, std::move(declaration));
    if (random() % 3 == 0)
      declaration = described({{.name = "images", .dims = {1, 3, 64, 64}}}, std::move(declaration));
    const auto facts = settle_model(declaration, {.size = {any(0u, 640u, ~0u), any(0u, 640u)}});
    ++(facts ? good : bad);
    if (!facts) {
      EXPECT_FALSE(facts.error().what.empty() && facts.error().expected.empty());
      continue;
    }
    EXPECT_EQ(facts->outputs.size(), declaration.outputs.size());
    for (const ModelFacts::Output& output : facts->outputs) EXPECT_FALSE(output.id.empty());
    EXPECT_GT(facts->input.bytes(), 0u);
    EXPECT_FALSE(facts->remark.empty());
  }
  EXPECT_GT(good, 1000u);
  EXPECT_GT(bad, 1000u);
}

}  // namespace
}  // namespace keepbox
