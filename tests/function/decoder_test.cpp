// SPDX-License-Identifier: LGPL-2.1-or-later
// The decoder as a C function, against core.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "core/run/processor.h"
#include "decode/keepbox-decode.h"
#include "tests/dense.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

struct FreeDecoder {
  void operator()(KeepboxDecoder* decoder) const { keepbox_decoder_free(decoder); }
};
using OwnedDecoder = std::unique_ptr<KeepboxDecoder, FreeDecoder>;

OwnedDecoder decoder(const std::string& options) {
  KeepboxDecodeError error{};
  OwnedDecoder out(keepbox_decoder_new(options.c_str(), &error));
  EXPECT_NE(out, nullptr) << error.message;
  return out;
}

KeepboxDecodeTensor tensor_of(const test::Tensor& from) {
  KeepboxDecodeTensor out = KEEPBOX_DECODE_TENSOR_INIT;
  out.data = from.values.data();
  out.rank = static_cast<uint32_t>(from.shape.rank());
  std::ranges::copy(from.shape.dims(), out.dims);
  return out;
}

struct Decoded {
  std::vector<KeepboxDecodeBox> boxes;
  std::vector<KeepboxDecodePoint> points;
  KeepboxDecodeFunnel funnel{};
};

Decoded image_of(const KeepboxDecodeResult& result, uint32_t number = 0) {
  const auto& image = *reinterpret_cast<const KeepboxDecodeImage*>(
      reinterpret_cast<const std::byte*>(result.images) + number * result.image_size);
  Decoded out{.funnel = image.funnel};
  out.boxes.assign(image.boxes, image.boxes + image.n_boxes);
  if (image.points != nullptr)
    out.points.assign(image.points, image.points + size_t{image.n_boxes} * image.n_points);
  return out;
}

Decoded run(KeepboxDecoder* decoder, const std::vector<KeepboxDecodeTensor>& tensors,
            const std::vector<KeepboxDecodeFrame>& frames = {}, uint32_t number = 0) {
  KeepboxDecodeError error{};
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  EXPECT_EQ(keepbox_decoder_run(decoder, tensors.data(), tensors.size(), frames.data(),
                                frames.size(), &result, &error),
            KEEPBOX_DECODE_OK)
      << error.message;
  return result.n_images > number ? image_of(result, number) : Decoded{};
}

std::string error_of(const std::string& options) {
  KeepboxDecodeError error{};
  EXPECT_EQ(keepbox_decoder_new(options.c_str(), &error), nullptr);
  return error.message;
}

/// Returns the boxes of core for the same tensor.
std::vector<Detection> expected(const test::Tensor& tensor, Settings settings) {
  const TensorView view = tensor.view();
  auto plan = make_plan(settings, {&view, 1});
  auto backend = select_backend("reference", *plan, MemorySpace::kSystem);
  auto processor = Processor::create(*plan, *backend);
  EXPECT_TRUE(processor->run({&view, 1}));
  const auto found = processor->detections();
  return {found.begin(), found.end()};
}

Settings yolov8() {
  Settings settings;
  settings.detector = "yolov8";
  settings.model_size = {640, 640};
  settings.frame = {.size = {1920, 1080}};
  settings.resize_mode = ResizeMode::kLetterboxCenter;
  return settings;
}

constexpr const char* kYolov8 =
    "detector=yolov8 model-size=640x640 frame-size=1920x1080 resize-mode=letterbox-center";

void expect_same(const std::vector<KeepboxDecodeBox>& found, const std::vector<Detection>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  ASSERT_FALSE(found.empty());
  EXPECT_EQ(std::memcmp(found.data(), wanted.data(), found.size() * sizeof found[0]), 0);
}

TEST(Decoder, HasTheBoxesOfCore) {
  const test::Tensor tensor = test::dense({.classes = 80});
  const auto own = decoder(kYolov8);
  const Decoded found = run(own.get(), {tensor_of(tensor)});
  expect_same(found.boxes, expected(tensor, yolov8()));
  EXPECT_EQ(found.funnel.anchors, 8400u);
  EXPECT_GE(found.funnel.kept, found.boxes.size());
}

TEST(Decoder, RecognisesTheFamily) {
  const test::Tensor tensor = test::dense({.classes = 80});
  const auto own = decoder("");
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  const KeepboxDecodeTensor view = tensor_of(tensor);
  ASSERT_EQ(keepbox_decoder_run(own.get(), &view, 1, nullptr, 0, &result, nullptr),
            KEEPBOX_DECODE_OK);
  EXPECT_NE(std::string(result.remark).find("yolov8"), std::string::npos) << result.remark;
}

TEST(Decoder, ReadsStrides) {
  const test::Tensor tensor = test::dense({.classes = 80});
  // Values in another order and with a gap, as a view of a larger array has them.
  const size_t channels = tensor.shape[1], anchors = tensor.shape[2], pitch = channels + 3;
  std::vector<float> other(anchors * pitch, std::nanf(""));
  for (size_t c = 0; c < channels; ++c)
    for (size_t a = 0; a < anchors; ++a) other[a * pitch + c] = tensor.values[c * anchors + a];
  KeepboxDecodeTensor view = tensor_of(tensor);
  view.data = other.data();
  view.strides[0] = static_cast<int64_t>(other.size());
  view.strides[1] = 1;
  view.strides[2] = static_cast<int64_t>(pitch);
  expect_same(run(decoder(kYolov8).get(), {view}).boxes, expected(tensor, yolov8()));
}

TEST(Decoder, ReadsNegativeStrides) {
  const test::Tensor tensor = test::dense({.classes = 80});
  const size_t anchors = tensor.shape[2];
  test::Tensor mirrored = tensor;
  for (size_t c = 0; c < tensor.shape[1]; ++c)
    std::reverse(mirrored.values.begin() + static_cast<ptrdiff_t>(c * anchors),
                 mirrored.values.begin() + static_cast<ptrdiff_t>((c + 1) * anchors));
  KeepboxDecodeTensor view = tensor_of(mirrored);
  view.data = mirrored.values.data() + anchors - 1;
  view.strides[0] = static_cast<int64_t>(mirrored.values.size());
  view.strides[1] = static_cast<int64_t>(anchors);
  view.strides[2] = -1;
  expect_same(run(decoder(kYolov8).get(), {view}).boxes, expected(tensor, yolov8()));
}

/// Puts tensors of one image each into a batch.
test::Tensor batch_of(const std::vector<test::Tensor>& images) {
  test::Tensor out{.shape = {images.size(), images[0].shape[1], images[0].shape[2]}};
  for (const test::Tensor& each : images)
    out.values.insert(out.values.end(), each.values.begin(), each.values.end());
  return out;
}

TEST(Decoder, ImagesOfABatchHaveFramesOfTheirOwn) {
  const std::vector<test::Tensor> images{test::dense({.classes = 80}, 1),
                                         test::dense({.classes = 80}, 2),
                                         test::dense({.classes = 80}, 3)};
  const test::Tensor batch = batch_of(images);
  std::vector<KeepboxDecodeFrame> frames(3, KEEPBOX_DECODE_FRAME_INIT);
  const Size sizes[] = {{1920, 1080}, {640, 480}, {300, 900}};
  for (size_t i = 0; i < 3; ++i)
    frames[i].width = sizes[i].width, frames[i].height = sizes[i].height;
  const auto own = decoder(kYolov8);
  for (uint32_t i = 0; i < 3; ++i) {
    Settings settings = yolov8();
    settings.frame = {.size = sizes[i]};
    expect_same(run(own.get(), {tensor_of(batch)}, frames, i).boxes, expected(images[i], settings));
  }
  // Fewer images than before, and then one without frames.
  const test::Tensor two = batch_of({images[2], images[0]});
  Settings settings = yolov8();
  settings.frame = {.size = sizes[1]};
  expect_same(run(own.get(), {tensor_of(two)}, {frames[0], frames[1]}, 1).boxes,
              expected(images[0], settings));
  expect_same(run(own.get(), {tensor_of(images[1])}).boxes, expected(images[1], yolov8()));
}

TEST(Decoder, ABatchWithoutFramesIsOfOneSize) {
  const std::vector<test::Tensor> images{test::dense({.classes = 80}, 1),
                                         test::dense({.classes = 80}, 2)};
  const test::Tensor batch = batch_of(images);
  const auto own = decoder(kYolov8);
  for (uint32_t i = 0; i < 2; ++i)
    expect_same(run(own.get(), {tensor_of(batch)}, {}, i).boxes, expected(images[i], yolov8()));
}

TEST(Decoder, AFrameMayHaveAnExplicitPlace) {
  const test::Tensor tensor = test::dense({.classes = 80});
  KeepboxDecodeFrame frame = KEEPBOX_DECODE_FRAME_INIT;
  frame.width = 1280, frame.height = 1280;
  frame.scale_x = frame.scale_y = 2;
  Settings settings = yolov8();
  settings.frame = {.size = {1280, 1280}};
  expect_same(run(decoder(kYolov8).get(), {tensor_of(tensor)}, {frame}).boxes,
              expected(tensor, settings));
}

TEST(Decoder, OptionsChange) {
  const test::Tensor tensor = test::dense({.classes = 80});
  const auto own = decoder(kYolov8);
  const size_t before = run(own.get(), {tensor_of(tensor)}).boxes.size();
  Settings settings = yolov8();
  settings.score_threshold = 0.995f;
  ASSERT_EQ(keepbox_decoder_set(own.get(), "score-threshold=0.995", nullptr), KEEPBOX_DECODE_OK);
  const auto after = run(own.get(), {tensor_of(tensor)}).boxes;
  expect_same(after, expected(tensor, settings));
  EXPECT_LT(after.size(), before);
  settings.max_detections = 5;
  ASSERT_EQ(keepbox_decoder_set(own.get(), "max-detections=5", nullptr), KEEPBOX_DECODE_OK);
  expect_same(run(own.get(), {tensor_of(tensor)}).boxes, expected(tensor, settings));
  KeepboxDecodeError error{};
  EXPECT_EQ(keepbox_decoder_set(own.get(), "score-threshold=0.1 max-detections=x", &error),
            KEEPBOX_DECODE_INVALID);
  expect_same(run(own.get(), {tensor_of(tensor)}).boxes, expected(tensor, settings));
}

TEST(Decoder, HasKeypointsAndMasks) {
  const test::Tensor pose = test::dense({.classes = 1, .payload = 51, .number = test::keypoint});
  const auto own = decoder("detector=yolov8-pose model-size=640x640");
  const Decoded found = run(own.get(), {tensor_of(pose)});
  ASSERT_FALSE(found.boxes.empty());
  EXPECT_EQ(found.points.size(), found.boxes.size() * 17);

  const test::Tensor rows = test::dense({.classes = 80, .payload = 32});
  test::Tensor planes = test::prototypes(32, 160);
  std::ranges::fill(planes.values, 1.0f);
  const auto masks = decoder("detector=yolov8-seg model-size=640x640");
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  KeepboxDecodeError error{};
  const KeepboxDecodeTensor tensors[] = {tensor_of(rows), tensor_of(planes)};
  ASSERT_EQ(keepbox_decoder_run(masks.get(), tensors, 2, nullptr, 0, &result, &error),
            KEEPBOX_DECODE_OK)
      << error.message;
  const KeepboxDecodeImage& image = result.images[0];
  ASSERT_GT(image.n_boxes, 0u);
  ASSERT_NE(image.masks, nullptr);
  EXPECT_TRUE(std::any_of(image.masks, image.masks + image.n_boxes,
                          [](const KeepboxDecodeMask& mask) { return mask.bits != nullptr; }));
}

TEST(Decoder, NamesAreThoseOfTheLabelFile) {
  const test::TempDir dir;
  const std::string path = dir.write("two words.txt", "person\ncar\n");
  const auto own = decoder("label-file=\"" + path + "\" class-thresholds=car:0.9");
  EXPECT_STREQ(keepbox_decoder_class_name(own.get(), 1), "car");
  EXPECT_STREQ(keepbox_decoder_class_name(own.get(), 2), "class-2");
}

TEST(Decoder, WrongOptionsAreErrorsWithARemedy) {
  EXPECT_EQ(error_of("score-treshold=0.3"),
            "There is no option \"score-treshold\". Did you mean score-threshold=?.");
  EXPECT_EQ(
      error_of("score-threshold=high"),
      "score-threshold has \"high\", which is not a number. Set score-threshold= to a number.");
  EXPECT_EQ(error_of("yolov8"),
            "The options have \"yolov8\", which is not NAME=VALUE. Write options such as "
            "detector=yolov8 score-threshold=0.3.");
  EXPECT_NE(error_of("detector=yolov88").find("Did you mean yolov8?"), std::string::npos)
      << error_of("detector=yolov88");
  EXPECT_NE(error_of("nms-method=gready").find("one of auto, greedy"), std::string::npos);
  EXPECT_NE(error_of("iou-threshold=7").find("a number from 0 to 1"), std::string::npos);
  EXPECT_NE(error_of("label-file=\"a b").find("no closing quote"), std::string::npos);
  EXPECT_NE(error_of("label-file=/nowhere").find("/nowhere"), std::string::npos);
  EXPECT_NE(error_of("frame-size=big").find("WIDTHxHEIGHT"), std::string::npos);
}

TEST(Decoder, WrongArgumentsAreErrors) {
  const test::Tensor tensor = test::dense({.classes = 80});
  const auto own = decoder(kYolov8);
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  KeepboxDecodeError error{};
  const auto fails = [&](KeepboxDecodeTensor wrong, KeepboxDecodeStatus status,
                         const char* message) {
    EXPECT_EQ(keepbox_decoder_run(own.get(), &wrong, 1, nullptr, 0, &result, &error), status);
    EXPECT_NE(std::string(error.message).find(message), std::string::npos) << error.message;
  };
  KeepboxDecodeTensor wrong = tensor_of(tensor);
  wrong.size = 0;
  fails(wrong, KEEPBOX_DECODE_INVALID, "KEEPBOX_DECODE_TENSOR_INIT");
  wrong = tensor_of(tensor), wrong.rank = 9;
  fails(wrong, KEEPBOX_DECODE_INVALID, "9 dimensions");
  wrong = tensor_of(tensor), wrong.data = nullptr;
  fails(wrong, KEEPBOX_DECODE_INVALID, "no data");
  wrong = tensor_of(tensor), wrong.type = static_cast<KeepboxDecodeType>(99);
  fails(wrong, KEEPBOX_DECODE_INVALID, "type 99");
  wrong = tensor_of(tensor), wrong.dims[1] = 4;
  fails(wrong, KEEPBOX_DECODE_MISMATCH, "yolov8");
  EXPECT_EQ(keepbox_decoder_run(nullptr, &wrong, 1, nullptr, 0, &result, &error),
            KEEPBOX_DECODE_INVALID);
  KeepboxDecodeFrame frames[2] = {KEEPBOX_DECODE_FRAME_INIT, KEEPBOX_DECODE_FRAME_INIT};
  const KeepboxDecodeTensor right = tensor_of(tensor);
  EXPECT_EQ(keepbox_decoder_run(own.get(), &right, 1, frames, 2, &result, &error),
            KEEPBOX_DECODE_INVALID);
  EXPECT_EQ(run(own.get(), {right}).boxes.size(), expected(tensor, yolov8()).size());
  KeepboxDecodeOutput output = KEEPBOX_DECODE_OUTPUT_INIT;
  EXPECT_EQ(keepbox_decoder_enqueue(own.get(), &right, 1, nullptr, 0, nullptr, &output, &error),
            KEEPBOX_DECODE_INVALID);
}

TEST(Decoder, HasNoResultAfterAnError) {
  const test::Tensor tensor = test::dense({.classes = 80});
  const auto own = decoder(kYolov8);
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  KeepboxDecodeTensor view = tensor_of(tensor);
  ASSERT_EQ(keepbox_decoder_run(own.get(), &view, 1, nullptr, 0, &result, nullptr),
            KEEPBOX_DECODE_OK);
  EXPECT_EQ(result.n_images, 1u);
  view.dims[1] = 4;
  EXPECT_NE(keepbox_decoder_run(own.get(), &view, 1, nullptr, 0, &result, nullptr),
            KEEPBOX_DECODE_OK);
  EXPECT_EQ(result.n_images, 0u);
  EXPECT_EQ(result.images, nullptr);
}

TEST(Decoder, RefusesStridesSizesAndScalesThatCannotBe) {
  const test::Tensor tensor = test::dense({.classes = 80});
  const auto own = decoder(kYolov8);
  const auto fails = [&](KeepboxDecodeTensor wrong, const char* message) {
    KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
    KeepboxDecodeError error{};
    EXPECT_EQ(keepbox_decoder_run(own.get(), &wrong, 1, nullptr, 0, &result, &error),
              KEEPBOX_DECODE_INVALID);
    EXPECT_NE(std::string(error.message).find(message), std::string::npos) << error.message;
  };
  KeepboxDecodeTensor wrong = tensor_of(tensor);
  wrong.strides[1] = INT64_MAX, wrong.strides[2] = 1;
  fails(wrong, "a stride of");
  wrong.strides[1] = INT64_MIN;
  fails(wrong, "a stride of");
  wrong = tensor_of(tensor), wrong.size = 0xaaaaaaaaaaaaaaaa;
  fails(wrong, "KEEPBOX_DECODE_TENSOR_INIT");
  wrong = tensor_of(tensor), wrong.scale = 0.5f;
  fails(wrong, "scale");
}

TEST(Decoder, DescribesItsOptions) {
  const std::string text = keepbox_decoder_options();
  for (const char* name : {"detector=", "score-threshold=", "nms-contract=", "frame-size="})
    EXPECT_NE(text.find(name), std::string::npos) << name;
  EXPECT_STREQ(keepbox_decode_version(), PACKAGE_VERSION);
}

}  // namespace
}  // namespace keepbox
