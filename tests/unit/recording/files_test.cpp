// SPDX-License-Identifier: LGPL-2.1-or-later
// Recorded tensors, NumPy and raw files, and tables of priors.
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <numeric>

#include "core/formula/box.h"
#include "gst/decode/settings.h"
#include "gst/recording/files.h"
#include "gst/recording/tensorreader.h"
#include "gst/recording/tensorwriter.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

std::vector<float> floats_of(const StoredTensor& tensor) {
  std::vector<float> values(gst_buffer_get_size(tensor.data.get()) / sizeof(float));
  gst_buffer_extract(tensor.data.get(), 0, values.data(), values.size() * sizeof(float));
  return values;
}

TEST(Recording, KeepsIdsTypesDimsAndOrder) {
  const test::TempDir dir;
  const std::array<float, 6> first{1, 2, 3, 4, 5, 6};
  const std::array<uint16_t, 2> second{0x3f80, 0x4000};
  const TensorView views[] = {
      {.id = "boxes", .data = first.data(), .bytes = sizeof first, .shape = {1, 2, 3}},
      {.id = "half \"id\"",
       .data = second.data(),
       .bytes = sizeof second,
       .type = DataType::kBFloat16,
       .shape = {2}}};
  const RecordedTensor tensors[] = {{views[0], GST_TENSOR_DIM_ORDER_COL_MAJOR}, {views[1]}};
  {
    auto writer = TensorWriter::create(dir / "deep/folder");
    ASSERT_TRUE(writer) << writer.error().message();
    ASSERT_TRUE(
        writer->write({.tensors = tensors, .time = 40, .duration = 20, .size = {320, 240}}));
    ASSERT_TRUE(writer->write({.tensors = {}, .time = 60, .duration = 15, .size = {320, 240}}));
    ASSERT_TRUE(writer->finish());
  }
  auto reader = TensorReader::open(dir / "deep/folder", {});
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_EQ(reader->frame_size(), (Size{320, 240}));
  ASSERT_EQ(reader->frames(), 2u);
  EXPECT_EQ(reader->times().timeline.first(), 40);
  EXPECT_EQ(reader->times().timeline.end(), 75);
  const auto read = reader->read(0);
  ASSERT_TRUE(read && read->size() == 2);
  EXPECT_EQ((*read)[0].id, "boxes");
  EXPECT_EQ((*read)[0].shape, (Shape{1, 2, 3}));
  EXPECT_EQ((*read)[0].order, GST_TENSOR_DIM_ORDER_COL_MAJOR);
  EXPECT_EQ(floats_of((*read)[0]), std::vector<float>(first.begin(), first.end()));
  EXPECT_EQ((*read)[1].id, "half \"id\"");
  EXPECT_EQ((*read)[1].type, DataType::kBFloat16);
  EXPECT_EQ((*read)[1].order, GST_TENSOR_DIM_ORDER_ROW_MAJOR);
  const auto second_frame = reader->read(1);
  ASSERT_TRUE(second_frame);
  EXPECT_TRUE(second_frame->empty());
  EXPECT_TRUE(reader->read(0));
}

TEST(Recording, KeepsSourcesExactly) {
  const test::TempDir dir;
  const TensorProvenance sources[] = {
      {.geometry = {{1919, 1081}, {641, 383}, 1919 / 640.3f, 1e-7f, -0.1f, 3.3333333f},
       .tiles = {{{{1919, 1081}, {641, 383}, 1.1f, 2.2f, 3.3f, -4.4f}, {5.5f, 6.6f, 7.7f, 8.8f}}},
       .model = "a \"model\" \xc3\xa9",
       .detector = "yolov8",
       .units = Units::kNormalized,
       .labels = {"person", "", " spaced ", "last", ""}},
      {.units = Units::kPixels, .held = true},
      {}};
  const std::array<float, 1> number{1};
  {
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(writer);
    std::vector<RecordedTensor> tensors;
    for (const TensorProvenance& source : sources)
      tensors.push_back({{.id = "x", .data = number.data(), .bytes = 4, .shape = {1}},
                         GST_TENSOR_DIM_ORDER_ROW_MAJOR,
                         std::make_shared<const TensorProvenance>(source)});
    tensors.push_back({{.id = "y", .data = number.data(), .bytes = 4, .shape = {1}}});
    for (int i = 0; i < 2; ++i) ASSERT_TRUE(writer->write({.tensors = tensors}));
    ASSERT_TRUE(writer->finish());
  }
  auto reader = TensorReader::open(dir.path().string(), {});
  ASSERT_TRUE(reader) << reader.error().message();
  std::vector<SharedProvenance> before;
  for (size_t frame = 0; frame < 2; ++frame) {
    const auto read = reader->read(frame);
    ASSERT_TRUE(read && read->size() == 4);
    std::vector<SharedProvenance> now;
    for (const StoredTensor& tensor : *read) now.push_back(provenance_of(tensor.data.get()));
    for (size_t i = 0; i < 3; ++i) {
      ASSERT_NE(now[i], nullptr);
      EXPECT_EQ(*now[i], sources[i]) << i;
    }
    EXPECT_EQ(now[3], nullptr);
    if (frame == 1) {
      EXPECT_EQ(now, before) << "the same objects";
    }
    before = now;
  }
}

TEST(Recording, KeepsManySources) {
  const test::TempDir dir;
  const std::array<float, 1> number{1};
  std::vector<RecordedTensor> tensors;
  for (int i = 0; i < 40; ++i)
    tensors.push_back({{.id = "x", .data = number.data(), .bytes = 4, .shape = {1}},
                       GST_TENSOR_DIM_ORDER_ROW_MAJOR,
                       std::make_shared<const TensorProvenance>(
                           TensorProvenance{.model = std::to_string(i), .labels = {"a"}})});
  {
    auto writer = TensorWriter::create(dir.path().string());
    ASSERT_TRUE(writer && writer->write({.tensors = tensors}) && writer->finish());
  }
  auto reader = TensorReader::open(dir.path().string(), {});
  ASSERT_TRUE(reader) << reader.error().message();
  const auto read = reader->read(0);
  ASSERT_TRUE(read && read->size() == tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i)
    EXPECT_EQ(*provenance_of((*read)[i].data.get()), *tensors[i].source);
}

TEST(RawFile, HoldsSeveralFrames) {
  const test::TempDir dir;
  const float data[6] = {1, 2, 3, 4, 5, 6};
  const std::string path = dir.write("t.raw", {reinterpret_cast<const char*>(data), sizeof data});
  auto reader = TensorReader::open(path, {"1,3", "float32", "x"});
  ASSERT_TRUE(reader) << reader.error().message();
  ASSERT_EQ(reader->frames(), 2u);
  EXPECT_EQ(floats_of(reader->read(1)->front()), (std::vector<float>{4, 5, 6}));
  EXPECT_EQ(floats_of(reader->read(0)->front()), (std::vector<float>{1, 2, 3}));
  EXPECT_EQ(reader->read(0)->front().id, "x");
}

std::string batch_of_two() {
  std::array<float, 12> values;
  std::iota(values.begin(), values.end(), 0.0f);
  return {reinterpret_cast<const char*>(values.data()), sizeof values};
}

TEST(RawFile, MayHaveOneByte) {
  const test::TempDir dir;
  auto reader = TensorReader::open(dir.write("t.raw", "x"), {"1", "uint8", ""});
  ASSERT_TRUE(reader) << reader.error().message();
  const auto read = reader->read(0);
  ASSERT_TRUE(read) << read.error().message();
  char byte = 0;
  EXPECT_EQ(gst_buffer_extract(read->front().data.get(), 0, &byte, 1), 1u);
  EXPECT_EQ(byte, 'x');
}

TEST(RawFile, BatchHasAFramePerSlice) {
  const test::TempDir dir;
  const std::string path = dir.write("t.raw", batch_of_two() + batch_of_two());
  auto reader = TensorReader::open(path, {"2,3,2", "float32", ""});
  ASSERT_TRUE(reader) << reader.error().message();
  ASSERT_EQ(reader->frames(), 4u);
  EXPECT_EQ(reader->forms().at(0).shape, (Shape{1, 3, 2}));
  for (const size_t frame : {3, 0, 1, 2}) {
    const float first = frame % 2 == 0 ? 0 : 6;
    const StoredTensor& slice = reader->read(frame)->front();
    EXPECT_EQ(slice.shape, (Shape{1, 3, 2}));
    EXPECT_EQ(floats_of(slice),
              (std::vector<float>{first, first + 1, first + 2, first + 3, first + 4, first + 5}))
        << frame;
  }
  const auto cut = TensorReader::open(dir.write("cut", batch_of_two() + std::string(24, 'x')),
                                      {"2,3,2", "float32", ""});
  ASSERT_FALSE(cut);
  EXPECT_EQ(cut.error().expected.find("whole batches of 48 bytes (2x3x2 float32)"), 0u)
      << cut.error().message();
}

TEST(RawFile, TableIsNotABatch) {
  const test::TempDir dir;
  const std::string path = dir.write("t.raw", batch_of_two());
  for (const Shape& shape : {Shape{1, 3, 4}, Shape{4, 3}, Shape{4, 1, 3}, Shape{4, 3, 1}}) {
    auto reader = TensorReader::open(path, {shape.to_string(), "float32", ""});
    ASSERT_TRUE(reader) << reader.error().message();
    EXPECT_EQ(reader->frames(), 1u) << shape.to_string();
    EXPECT_EQ(reader->read(0)->front().shape, shape);
  }
}

TEST(Npy, BatchHasAFramePerSlice) {
  const test::TempDir dir;
  const std::string head = npy_header(DataType::kFloat32, {2, 3, 2});
  auto reader = TensorReader::open(dir.write("t.npy", head + batch_of_two()), {});
  ASSERT_TRUE(reader) << reader.error().message();
  ASSERT_EQ(reader->frames(), 2u);
  EXPECT_EQ(reader->read(1)->front().shape, (Shape{1, 3, 2}));
  EXPECT_EQ(floats_of(reader->read(1)->front()), (std::vector<float>{6, 7, 8, 9, 10, 11}));
  const std::string none = npy_header(DataType::kFloat32, {2, 3, 2, 0});
  auto empty = TensorReader::open(dir.write("empty.npy", none), {});
  ASSERT_TRUE(empty) << empty.error().message();
  EXPECT_EQ(empty->frames(), 1u) << "without elements there is nothing to share out";
}

TEST(RawFile, ReportsMismatches) {
  const test::TempDir dir;
  const std::string path = dir.write("t.raw", std::string(10, 'x'));
  const auto message = [&](const std::string& location, RawForm form) {
    const auto reader = TensorReader::open(location, form);
    return reader ? std::string() : reader.error().message();
  };
  EXPECT_NE(message(path, {"1,3", "float32", ""}).find("10 bytes"), std::string::npos);
  EXPECT_NE(message(path, {"1,3", "float32", ""}).find("12 bytes"), std::string::npos);
  EXPECT_NE(message(path, {"", "float32", ""}).find("dims="), std::string::npos);
  EXPECT_NE(message(path, {"1,3", "float", ""}).find("float32"), std::string::npos);
  EXPECT_NE(message(path, {"0,3", "float32", ""}), "");
  for (const char* dims : {"4294967296,4294967296", "4294967296,1073741824"})
    EXPECT_NE(message(path, {dims, "float32", ""}).find("does not fit in memory"),
              std::string::npos)
        << message(path, {dims, "float32", ""});
  EXPECT_NE(message(path, {"one", "float32", ""}), "");
  EXPECT_NE(message(dir / "missing", {"1", "float32", ""}).find("missing"), std::string::npos);
  EXPECT_NE(message(dir.write("empty", ""), {"1", "float32", ""}).find("empty"), std::string::npos);
  EXPECT_NE(message("", {}), "");
}

TEST(Priors, MayHaveEitherOrientation) {
  const test::TempDir dir;
  const auto down = load_priors(dir.write("a", "1 2 3 4\n5 6 7 8\n9 10 11 12\n").c_str());
  const auto across = load_priors(dir.write("b", "  1 5 9\n2\t6 10\n3 7 11\n4 8 12 \n\n").c_str());
  ASSERT_TRUE(down && across);
  ASSERT_EQ(down->size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ((*down)[i].cy, (*across)[i].cy);
    EXPECT_EQ((*down)[i].width, (*across)[i].width);
  }
  EXPECT_EQ((*down)[1].cy, 5);
  EXPECT_EQ((*down)[1].cx, 6);
  EXPECT_EQ((*down)[1].height, 7);
  EXPECT_EQ((*down)[1].width, 8);
}

TEST(Priors, MustMatchTheNumberOfAnchors) {
  const test::TempDir dir;
  std::string text;
  for (uint32_t i = 0; i < kMaxAnchors; ++i) text += "1 1 1 1\n";
  const auto most = load_priors(dir.write("p", text).c_str());
  ASSERT_TRUE(most) << most.error().message();
  EXPECT_EQ(most->size(), kMaxAnchors);
  EXPECT_FALSE(load_priors(dir.write("p", text + "1 1 1 1\n").c_str()));
}

TEST(Priors, RejectOtherTables) {
  const test::TempDir dir;
  for (const char* text : {"1 2 3\n", "a b c d\n", "1 2\n3 4\n5 6\n7\n"})
    EXPECT_FALSE(load_priors(dir.write("p", text).c_str())) << text;
}

TEST(Priors, ErrorsNameTheFile) {
  const test::TempDir dir;
  std::string many;
  for (int i = 0; i < (1 << 21) + 1; ++i) many += "1 2 3 4\n";
  for (const std::string& path :
       {dir / "missing", dir.write("empty", " \n"), dir.write("words", "a b c d\n"),
        dir.write("short", "1 2 3\n"), dir.write("many", many), dir.path().string()}) {
    const auto priors = load_priors(path.c_str());
    ASSERT_FALSE(priors) << path;
    EXPECT_NE(priors.error().message().find(path), std::string::npos) << priors.error().message();
  }
}

}  // namespace
}  // namespace keepbox
