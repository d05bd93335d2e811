// SPDX-License-Identifier: LGPL-2.1-or-later
// GStreamer's .modelinfo files, valid and invalid.
#include "gst/infer/facts/modelinfo.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <random>

#include "tests/tempdir.h"

namespace keepbox {
namespace {

const std::string kGood =
    "# of a detector\n"
    "[modelinfo]\nversion=1.0\ngroup-id=yolo-v8-out\n\n"
    "[images]\nid=shapes-input\ntype=float32\ndims=1,3,320,-1\ndir=input\n"
    "ranges=0.0,255.0;-1,1;0.0,0.5\nsomething=else\n\n"
    "[out put/0]\nid = yolo-v8-out \ntype=int32\ndims=1, 10, "
    "2100\ndims-order=col-major\ndir=output\n"
    "[bare]\n";

Result<std::optional<ModelInfo>> info_of(const test::TempDir& dir, const std::string& text) {
  dir.write("m.onnx.modelinfo", text);
  return find_model_info(dir / "m.onnx");
}

/// Returns the error's message, or "".
std::string error_of(const test::TempDir& dir, const std::string& text) {
  const auto info = info_of(dir, text);
  return info ? "" : info.error().message();
}

std::string with(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ModelInfo, ReadsEverything) {
  const test::TempDir dir;
  const auto found = info_of(dir, kGood);
  ASSERT_TRUE(found && *found) << found.error().message();
  const ModelInfo& info = **found;
  EXPECT_EQ(info.path, dir / "m.onnx.modelinfo");
  EXPECT_EQ(info.group_id, "yolo-v8-out");
  ASSERT_EQ(info.tensors.size(), 3u);

  const ModelInfoTensor* in = info.find("images", true);
  ASSERT_NE(in, nullptr);
  EXPECT_EQ(in->id, "shapes-input");
  EXPECT_EQ(in->type, DataType::kFloat32);
  EXPECT_EQ(in->dims, (std::vector<int64_t>{1, 3, 320, -1}));
  EXPECT_FALSE(in->column_major);
  const std::vector<std::array<double, 2>> ranges{{0, 255}, {-1, 1}, {0, 0.5}};
  EXPECT_EQ(in->ranges, ranges);
  EXPECT_EQ(info.find("images", false), nullptr);

  const ModelInfoTensor* out = info.find("out put/0", false);
  ASSERT_NE(out, nullptr);
  EXPECT_EQ(out->id, "yolo-v8-out");
  EXPECT_EQ(out->type, DataType::kInt32);
  EXPECT_TRUE(out->column_major);
  EXPECT_TRUE(out->ranges.empty());

  const ModelInfoTensor* bare = info.find("bare", false);
  ASSERT_NE(bare, nullptr);
  EXPECT_EQ(bare, info.find("bare", true));
  EXPECT_FALSE(bare->type);
  EXPECT_TRUE(bare->dims.empty());
}

TEST(ModelInfo, IsOptionalAndFoundByEitherName) {
  const test::TempDir dir;
  const auto group = [&](const char* model) {
    const auto info = find_model_info(dir / model);
    return !info ? info.error().message() : *info ? (*info)->group_id : "none";
  };
  EXPECT_EQ(group("m.onnx"), "none");
  dir.write("m.modelinfo", "[modelinfo]\nversion=1.7\ngroup-id=short\n");
  EXPECT_EQ(group("m.onnx"), "short");
  dir.write("m.onnx.modelinfo", "[modelinfo]\nversion=1.0\ngroup-id=long\n");
  EXPECT_EQ(group("m.onnx"), "long");
  EXPECT_EQ(group("m.modelinfo"), "none");  // a file does not describe itself
  dir.write("m.onnx.modelinfo", "nonsense");
  EXPECT_NE(group("m.onnx").find("m.onnx.modelinfo"), std::string::npos);
}

TEST(ModelInfo, ErrorsNameFileGroupAndKey) {
  const test::TempDir dir;
  ASSERT_EQ(error_of(dir, kGood), "");
  const struct {
    const char *from, *to, *group, *key, *found;
  } cases[] = {
      {"version=1.0", "version=2.0", "[modelinfo]", "version=", "\"2.0\""},
      {"version=1.0", "version=1", "[modelinfo]", "version=", "\"1\""},
      {"version=1.0", "version=1.x", "[modelinfo]", "version=", "\"1.x\""},
      {"version=1.0", "version=1.-1", "[modelinfo]", "version=", "\"1.-1\""},
      {"version=1.0", "verse=1.0", "[modelinfo]", "version=", "nothing"},
      {"[modelinfo]", "[model]", "[modelinfo]", "version=", "no such group"},
      {"=yolo-v8-out", "=PLACEHOLDER_ID", "[modelinfo]", "group-id=", "\"PLACEHOLDER_ID\""},
      {"=shapes-input", "=PLACEHOLDER", "[images]", "id=", "\"PLACEHOLDER\""},
      {"=shapes-input", "=a\\q", "[images]", "id=", "error"},
      {"=shapes-input", "=a\xff", "[images]", "id=", "error"},
      {"type=float32", "type=float", "[images]", "type=", "\"float\""},
      {"type=float32", "type=int4", "[images]", "type=", "\"int4\""},
      {"dims=1,3", "dims=1,,3", "[images]", "dims=", "\"1,,3,320,-1\""},
      {"dims=1,3", "dims=0,3", "[images]", "dims=", "\"0,3,320,-1\""},
      {"dims=1,3", "dims=-2,3", "[images]", "dims=", "-2"},
      {"dims=1,3", "dims=1x3", "[images]", "dims=", "1x3"},
      {"dims=1,3", "dims=1,99999999999", "[images]", "dims=", "99999999999"},
      {"dims=1,3", "dims=1,1,1,1,1,1,1,3", "[images]", "dims=", "1,1,1,1"},
      {"dims=1,3,320,-1", "dims=", "[images]", "dims=", "\"\""},
      {"dir=input", "dir=in", "[images]", "dir=", "\"in\""},
      {"0.0,255.0", "255.0", "[images]", "ranges=", "\"255.0;-1,1;0.0,0.5\""},
      {"0.0,255.0", "0,1,2", "[images]", "ranges=", "\"0,1,2;"},
      {"0.0,255.0", "0,nan", "[images]", "ranges=", "nan"},
      {"0.0,255.0", "0,1e999", "[images]", "ranges=", "1e999"},
      {"0.0,255.0", "7,7.0", "[images]", "ranges=", "\"7,7.0\""},
      {"order=col-major", "order=column", "[out put/0]", "dims-order=", "\"column\""},
  };
  for (const auto& each : cases) {
    const std::string error = error_of(dir, with(kGood, each.from, each.to));
    for (const std::string& part : {dir / "m.onnx.modelinfo", std::string(each.group),
                                    std::string(each.key), std::string(each.found)})
      EXPECT_NE(error.find(part), std::string::npos)
          << each.to << ": \"" << error << "\" lacks " << part;
  }
}

TEST(ModelInfo, RejectsInvalidKeyFiles) {
  const test::TempDir dir;
  for (const std::string& text :
       {std::string("nonsense"), std::string("key=value\n"),
        std::string("[modelinfo\nversion=1.0\n"), std::string("\0\0\0", 3)})
    EXPECT_NE(error_of(dir, text).find(dir / "m.onnx.modelinfo"), std::string::npos) << text;
  EXPECT_NE(error_of(dir, "").find("no such group"), std::string::npos);
  std::filesystem::create_directory(dir / "folder.modelinfo");
  EXPECT_FALSE(find_model_info(dir / "folder"));
  // a pipe without a writer, which would block forever
  ASSERT_EQ(mkfifo((dir / "pipe.modelinfo").c_str(), 0600), 0);
  EXPECT_FALSE(find_model_info(dir / "pipe"));
  dir.write("long.modelinfo", std::string((1 << 20) + 1, '#'));
  EXPECT_FALSE(find_model_info(dir / "long"));
}

TEST(ModelInfo, SurvivesEveryMutation) {
  const test::TempDir dir;
  std::mt19937 random(5);
  size_t good = 0, bad = 0;
  for (int round = 0; round < 700; ++round) {
    std::string text = kGood;
    for (int change = 0; change < 1 + round % 4; ++change) {
      const size_t at = random() % text.size();
      switch (random() % 4) {
        case 0: text[at] = static_cast<char>(random()); break;
        case 1: text.erase(at, 1 + random() % 8); break;
        case 2: text.insert(at, 1, "[]=,;.\\-#\n\0\xff"[random() % 12]); break;
        default: text.insert(at, text.substr(random() % text.size(), random() % 20)); break;
      }
    }
    const std::string error = error_of(dir, text);
    ++(error.empty() ? good : bad);
    if (!error.empty()) {
      EXPECT_NE(error.find("m.onnx.modelinfo"), std::string::npos) << error;
    }
  }
  EXPECT_GT(good, 100u);
  EXPECT_GT(bad, 100u);
}

TEST(ModelInfo, ReadsFilesOfRealModels) {
  const char* source = std::getenv("KEEPBOX_SOURCE");
  if (source == nullptr) GTEST_SKIP() << "KEEPBOX_SOURCE is not set";
  const auto info = find_model_info(std::string(source) + "/pipelines/models/shapes.onnx");
  ASSERT_TRUE(info && *info);
  const ModelInfoTensor* out = (*info)->find("yolo-v8-out", false);
  ASSERT_NE(out, nullptr);
  EXPECT_TRUE(out->column_major);
  EXPECT_EQ(out->dims, (std::vector<int64_t>{1, 10, 2100}));
}

}  // namespace
}  // namespace keepbox
