// SPDX-License-Identifier: LGPL-2.1-or-later
// An embedding on its whole path: from a key of a detector file through boxdecode to a file of
// boxsink.
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::TempDir;

constexpr size_t kAnchors = 8400, kClasses = 2, kValues = 8, kChannels = 4 + kClasses + kValues;
constexpr size_t kGood = 4321;  // the only anchor with a score

/// Returns planes as of YOLOv8, as bytes, whose last channels are an embedding.
std::string planes() {
  std::vector<float> values(kChannels * kAnchors);
  const auto at = [&](size_t channel) -> float& { return values[channel * kAnchors + kGood]; };
  at(0) = 100, at(1) = 200, at(2) = 40, at(3) = 60, at(5) = 0.75f;
  for (size_t i = 0; i < kValues; ++i) at(4 + kClasses + i) = float(i) / 2 - 1;
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

TEST(Embedding, GoesFromTheDetectorFileToTheFile) {
  const TempDir dir;
  const std::string family =
      dir.write("box.detector", "[detector]\nbase=yolov8\npayload=embedding\npayload-count=8\n");
  EXPECT_EQ(test::play("videotestsrc num-buffers=1 ! video/x-raw,format=RGB,width=640,height=640"
                       " ! tensorreplay dims=1,14,8400 location=" +
                       dir.write("planes", planes()) + " ! boxdecode num-classes=2 detector=" +
                       family + " ! boxsink location=" + (dir / "out")),
            "");
  std::ifstream file(dir / "out");
  const auto objects = nlohmann::json::parse(file)["objects"];
  ASSERT_EQ(objects.size(), 1u);
  EXPECT_EQ(objects[0]["x"], 80);
  EXPECT_EQ(objects[0]["embedding"].get<std::vector<float>>(),
            (std::vector<float>{-1, -0.5f, 0, 0.5f, 1, 1.5f, 2, 2.5f}));
}

}  // namespace
}  // namespace keepbox
