// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames that are only enqueued on a stream of the caller's, against frames that are waited for.
#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "decode/keepbox-decode.h"
#include "tests/dense.h"

namespace keepbox {
namespace {

struct FreeDecoder {
  void operator()(KeepboxDecoder* decoder) const { keepbox_decoder_free(decoder); }
};
using OwnedDecoder = std::unique_ptr<KeepboxDecoder, FreeDecoder>;

struct FreeDevice {
  void operator()(void* memory) const { cudaFree(memory); }
};
template <class T>
using DeviceArray = std::unique_ptr<T, FreeDevice>;

template <class T>
DeviceArray<T> device_array(size_t count) {
  void* memory = nullptr;
  EXPECT_EQ(cudaMalloc(&memory, std::max<size_t>(count, 1) * sizeof(T)), cudaSuccess);
  return DeviceArray<T>(static_cast<T*>(memory));
}

class Enqueue : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
      (void)cudaGetLastError();
      GTEST_SKIP() << "no CUDA device";
    }
    ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  }
  void TearDown() override {
    if (stream_ != nullptr) cudaStreamDestroy(stream_);
  }

  cudaStream_t stream_ = nullptr;
};

struct Boxes {
  std::vector<std::vector<KeepboxDecodeBox>> images;
  std::vector<KeepboxDecodeFunnel> funnels;
};

void expect_equal(const Boxes& found, const Boxes& wanted, const std::string& where) {
  ASSERT_EQ(found.images.size(), wanted.images.size()) << where;
  for (size_t i = 0; i < wanted.images.size(); ++i) {
    ASSERT_EQ(found.images[i].size(), wanted.images[i].size()) << where << ", image " << i;
    EXPECT_EQ(std::memcmp(found.images[i].data(), wanted.images[i].data(),
                          wanted.images[i].size() * sizeof(KeepboxDecodeBox)),
              0)
        << where << ", image " << i;
    EXPECT_EQ(std::memcmp(&found.funnels[i], &wanted.funnels[i], sizeof wanted.funnels[i]), 0)
        << where << ", image " << i;
  }
}

/// Tensors of a call in device memory.
struct OnDevice {
  DeviceArray<float> data;
  KeepboxDecodeTensor tensor = KEEPBOX_DECODE_TENSOR_INIT;
  size_t bytes = 0;

  explicit OnDevice(const test::Tensor& from)
      : data(device_array<float>(from.values.size())), bytes(from.values.size() * sizeof(float)) {
    EXPECT_EQ(cudaMemcpy(data.get(), from.values.data(), bytes, cudaMemcpyHostToDevice),
              cudaSuccess);
    tensor.data = data.get();
    tensor.memory = KEEPBOX_DECODE_CUDA;
    tensor.rank = static_cast<uint32_t>(from.shape.rank());
    std::ranges::copy(from.shape.dims(), tensor.dims);
  }
};

Boxes waited(KeepboxDecoder* decoder, const OnDevice& from,
             const std::vector<KeepboxDecodeFrame>& frames = {}) {
  KeepboxDecodeError error{};
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  EXPECT_EQ(
      keepbox_decoder_run(decoder, &from.tensor, 1, frames.data(), frames.size(), &result, &error),
      KEEPBOX_DECODE_OK)
      << error.message;
  Boxes out;
  for (uint32_t i = 0; i < result.n_images; ++i) {
    out.images.emplace_back(result.images[i].boxes,
                            result.images[i].boxes + result.images[i].n_boxes);
    out.funnels.push_back(result.images[i].funnel);
  }
  return out;
}

/// Memory of the caller for results.
struct Output {
  uint32_t images, capacity;
  DeviceArray<KeepboxDecodeBox> boxes = device_array<KeepboxDecodeBox>(size_t{images} * capacity);
  DeviceArray<uint32_t> counts = device_array<uint32_t>(images);
  DeviceArray<KeepboxDecodeFunnel> funnels = device_array<KeepboxDecodeFunnel>(images);

  KeepboxDecodeOutput view() const {
    KeepboxDecodeOutput out = KEEPBOX_DECODE_OUTPUT_INIT;
    out.boxes = boxes.get();
    out.counts = counts.get();
    out.funnels = funnels.get();
    out.capacity = capacity;
    return out;
  }
  /// Reads the results in the order of a stream.
  Boxes read(cudaStream_t stream) const {
    std::vector<KeepboxDecodeBox> all(size_t{images} * capacity);
    std::vector<uint32_t> numbers(images);
    Boxes out;
    out.funnels.resize(images);
    const auto copy = [&](void* to, const void* from, size_t bytes) {
      EXPECT_EQ(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDeviceToHost, stream), cudaSuccess);
    };
    copy(all.data(), boxes.get(), all.size() * sizeof all[0]);
    copy(numbers.data(), counts.get(), numbers.size() * sizeof numbers[0]);
    copy(out.funnels.data(), funnels.get(), out.funnels.size() * sizeof out.funnels[0]);
    EXPECT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    for (uint32_t i = 0; i < images; ++i)
      out.images.emplace_back(all.begin() + i * capacity,
                              all.begin() + i * capacity + std::min(numbers[i], capacity));
    return out;
  }
};

void enqueue(KeepboxDecoder* decoder, const OnDevice& from, cudaStream_t stream,
             const Output& output, const std::vector<KeepboxDecodeFrame>& frames = {}) {
  KeepboxDecodeError error{};
  const KeepboxDecodeOutput view = output.view();
  KeepboxDecodeTensor tensor = from.tensor;
  tensor.stream = stream;
  ASSERT_EQ(keepbox_decoder_enqueue(decoder, &tensor, 1, frames.data(), frames.size(), stream,
                                    &view, &error),
            KEEPBOX_DECODE_OK)
      << error.message;
}

OwnedDecoder decoder(const std::string& options) {
  KeepboxDecodeError error{};
  OwnedDecoder out(keepbox_decoder_new(options.c_str(), &error));
  EXPECT_NE(out, nullptr) << error.message;
  return out;
}

/// Scores are spread so that many anchors pass.
test::Tensor crowd(size_t classes, size_t payload, unsigned seed, float best) {
  std::mt19937 random(seed);
  test::Tensor out =
      test::dense({.classes = classes, .payload = payload, .number = test::angle}, seed);
  const size_t anchors = out.shape[2];
  for (size_t c = 4; c < 4 + classes; ++c)
    for (size_t a = 0; a < anchors; ++a)
      out.values[c * anchors + a] = test::uniform_number(random, 0, best);
  return out;
}

struct Case {
  const char* name;
  std::string options;
  size_t classes, payload;
  float best;
};

TEST_F(Enqueue, HasTheBoxesOfRun) {
  const std::string base = "model-size=640x640 frame-size=1920x1080 ";
  const Case cases[] = {
      {"few", base + "detector=yolov8", 80, 0, 0.26f},
      {"none", base + "detector=yolov8 score-threshold=0.999", 80, 0, 0.5f},
      {"hundreds", base + "detector=yolov8 score-threshold=0.25", 3, 0, 0.26f},
      {"thousands", base + "detector=yolov8 score-threshold=0.001 max-detections=1000", 4, 0, 0.5f},
      {"all", base + "detector=yolov8 score-threshold=0.0001 max-detections=8400 iou-threshold=0.9",
       2, 0, 1},
      {"several classes", base + "detector=yolov8 score-threshold=0.5 multi-label=true", 20, 0, 1},
      {"filtered", base + "detector=yolov8 score-threshold=0.1 min-size=60x60 regions=0,0,0.5,1", 4,
       0, 1},
      {"fast", base + "detector=yolov8 score-threshold=0.1 nms-method=fast", 4, 0, 1},
      {"no suppression", base + "detector=yolov8 score-threshold=0.9 nms-method=none", 4, 0, 1},
      {"ultralytics", base + "detector=yolov8 score-threshold=0.001 nms-contract=ultralytics", 80,
       0, 1},
      {"oriented", base + "detector=yolov8-obb score-threshold=0.1", 3, 1, 1},
      {"oriented polygons", base + "detector=yolov8-obb score-threshold=0.4 nms-contract=mmcv", 3,
       1, 1},
      {"oriented few", base + "detector=yolov8-obb score-threshold=0.99", 3, 1, 1}};
  for (const Case& each : cases) {
    const auto own = decoder(each.options);
    const Output output{1, 8400};
    for (unsigned seed = 1; seed <= 3; ++seed) {
      const OnDevice from(crowd(each.classes, each.payload, seed, each.best));
      const Boxes wanted = waited(own.get(), from);
      enqueue(own.get(), from, stream_, output);
      expect_equal(output.read(stream_), wanted, each.name);
      expect_equal(waited(own.get(), from), wanted, std::string(each.name) + ", waited again");
    }
  }
}

TEST_F(Enqueue, ImagesOfABatchHaveFramesOfTheirOwn) {
  test::Tensor batch{.shape = {7, 84, 8400}};
  for (unsigned i = 0; i < 7; ++i) {
    const auto image = crowd(80, 0, i + 1, i % 3 == 0 ? 0.26f : i % 3 == 1 ? 0.3f : 0.7f);
    batch.values.insert(batch.values.end(), image.values.begin(), image.values.end());
  }
  std::vector<KeepboxDecodeFrame> frames(7, KEEPBOX_DECODE_FRAME_INIT);
  const auto own = decoder("detector=yolov8 model-size=640x640 resize-mode=letterbox-center");
  const OnDevice from(batch);
  const Output output{7, 300};
  for (uint32_t round = 0; round < 4; ++round) {
    for (uint32_t i = 0; i < 7; ++i)
      frames[i].width = 300 + 100 * i + 13 * round, frames[i].height = 500 + 70 * i;
    const Boxes wanted = waited(own.get(), from, frames);
    for (auto& each : frames) each.width += 1;  // other maps than before
    enqueue(own.get(), from, stream_, output, frames);
    for (auto& each : frames) each.width -= 1;
    enqueue(own.get(), from, stream_, output, frames);
    expect_equal(output.read(stream_), wanted, "round " + std::to_string(round));
  }
}

TEST_F(Enqueue, WaitsForASlowProducer) {
  const auto own = decoder("detector=yolov8 model-size=640x640");
  std::vector<OnDevice> inputs;
  std::vector<Boxes> wanted;
  for (unsigned i = 0; i < 4; ++i) {
    inputs.emplace_back(crowd(80, 0, i + 1, 0.2f + 0.05f * static_cast<float>(i)));
    wanted.push_back(waited(own.get(), inputs.back()));
  }
  const OnDevice shared(crowd(80, 0, 9, 1));
  const Output output{1, 300};
  const auto slow = [](void*) { std::this_thread::sleep_for(std::chrono::microseconds(300)); };
  for (unsigned i = 0; i < 1000; ++i) {
    const OnDevice& next = inputs[i % 4];
    ASSERT_EQ(cudaLaunchHostFunc(stream_, slow, nullptr), cudaSuccess);
    ASSERT_EQ(cudaMemcpyAsync(shared.data.get(), next.data.get(), next.bytes,
                              cudaMemcpyDeviceToDevice, stream_),
              cudaSuccess);
    enqueue(own.get(), shared, stream_, output);
    expect_equal(output.read(stream_), wanted[i % 4], "frame " + std::to_string(i));
    if (HasFailure()) return;
  }
}

TEST_F(Enqueue, StreamsAreInOrder) {
  const auto own = decoder("detector=yolov8 model-size=640x640 score-threshold=0.1");
  const OnDevice a(crowd(80, 0, 1, 0.3f)), b(crowd(80, 0, 2, 0.9f));
  const Boxes of_a = waited(own.get(), a), of_b = waited(own.get(), b);
  const Output first{1, 300}, second{1, 300};
  cudaStream_t other = nullptr;
  ASSERT_EQ(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking), cudaSuccess);
  for (int i = 0; i < 200; ++i) {
    enqueue(own.get(), a, stream_, first);
    enqueue(own.get(), b, i % 2 == 0 ? other : nullptr, second);
    if (i % 3 == 0) expect_equal(waited(own.get(), a), of_a, "waited");
    expect_equal(first.read(stream_), of_a, "first");
    expect_equal(second.read(i % 2 == 0 ? other : nullptr), of_b, "second");
    if (HasFailure()) break;
  }
  cudaStreamDestroy(other);
}

TEST_F(Enqueue, LeavesTheDeviceAndReportsWhatItCannotDo) {
  const auto soft = decoder("detector=yolov8 model-size=640x640 nms-method=soft-linear");
  const OnDevice from(crowd(80, 0, 1, 0.5f));
  EXPECT_FALSE(waited(soft.get(), from).images.empty());
  const Output output{1, 300};
  KeepboxDecodeOutput view = output.view();
  KeepboxDecodeError error{};
  EXPECT_EQ(
      keepbox_decoder_enqueue(soft.get(), &from.tensor, 1, nullptr, 0, stream_, &view, &error),
      KEEPBOX_DECODE_UNSUPPORTED);
  const auto own = decoder("detector=yolov8 model-size=640x640");
  view.capacity = 10;
  EXPECT_EQ(keepbox_decoder_enqueue(own.get(), &from.tensor, 1, nullptr, 0, stream_, &view, &error),
            KEEPBOX_DECODE_INVALID);
  KeepboxDecodeTensor wrong = from.tensor;
  std::vector<float> host(84 * 8400);
  wrong.data = host.data();
  KeepboxDecodeResult result = KEEPBOX_DECODE_RESULT_INIT;
  EXPECT_EQ(keepbox_decoder_run(own.get(), &wrong, 1, nullptr, 0, &result, &error),
            KEEPBOX_DECODE_INVALID);
  EXPECT_NE(std::string(error.message).find("CUDA memory"), std::string::npos) << error.message;
  EXPECT_FALSE(waited(own.get(), from).images.empty());
}

TEST_F(Enqueue, DevicesAreIndependent) {
  int devices = 0;
  cudaGetDeviceCount(&devices);
  if (devices < 2) GTEST_SKIP() << "one device";
  std::vector<Boxes> found;
  for (int device = 0; device < 2; ++device) {
    ASSERT_EQ(cudaSetDevice(device), cudaSuccess);
    const OnDevice from(crowd(80, 0, 1, 0.5f));
    ASSERT_EQ(cudaSetDevice(0), cudaSuccess);
    const auto own = decoder("detector=yolov8 model-size=640x640");
    found.push_back(waited(own.get(), from));
    int current = -1;
    ASSERT_EQ(cudaGetDevice(&current), cudaSuccess);
    EXPECT_EQ(current, 0);
  }
  expect_equal(found[1], found[0], "other device");
}

}  // namespace
}  // namespace keepbox
