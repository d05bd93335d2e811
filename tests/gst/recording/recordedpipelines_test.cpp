// SPDX-License-Identifier: LGPL-2.1-or-later
// Recordings of real models give the expected boxes.
#include "tests/gst/frames.h"
#include "tests/recorded.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

using test::play;

TEST(Recorded, PipelinesGiveTheExpectedBoxes) {
  if (!test::have_data()) GTEST_SKIP() << "no recorded tensors on this machine";
  const test::TempDir dir;
  const std::string with_priors = dir.write(
      "ssd.detector", "[detector]\nbase=ssd\npriors-file=" +
                          (test::data_folder() / "nnstreamer/box_priors.txt").string() + "\n");
  for (const auto& entry : test::recorded()) {
    SCOPED_TRACE(entry.name);
    std::string line;
    for (size_t i = 0; i < entry.files.size(); ++i) {
      line += "tensorreplay location=" + entry.files[i].string() + " type=float32 dims=";
      for (const size_t dim : entry.dims[i]) line += std::to_string(dim) + ",";
      line.back() = ' ';
      line += "! ";
    }
    // The caps need the size only if the tensor does not reveal that of its input.
    const bool ssd = entry.detector == "ssd";
    if (ssd)
      line += "video/x-raw,width=" + std::to_string(entry.width) +
              ",height=" + std::to_string(entry.height) + " ! ";
    line += "boxdecode detector=" + (ssd ? with_priors : "auto") +
            " score-threshold=" + std::to_string(entry.score_threshold) +
            " iou-threshold=" + std::to_string(entry.iou_threshold) + " label-file=" +
            (test::data_folder() / (entry.detector == "ssd"     ? "nnstreamer/coco_labels_list.txt"
                                    : entry.detector == "yolox" ? "yolox/coco.labels"
                                                                : "nnstreamer/coco-80.txt"))
                .string() +
            " ! boxsink location=" + (dir / "out.jsonl");
    ASSERT_EQ(play(line), "");
    const auto result = test::read_json(dir / "out.jsonl");
    ASSERT_EQ(result["objects"].size(), entry.boxes.size());
    for (size_t i = 0; i < entry.boxes.size(); ++i) {
      const auto& got = result["objects"][i];
      const auto& want = entry.boxes[i];
      EXPECT_EQ(got["detection"]["label"], want["label"]);
      EXPECT_EQ(got["detection"]["label_id"], want["class"]);
      EXPECT_NEAR(got["detection"]["confidence"].get<double>(), want["score"].get<double>(), 1e-5);
      const double x = got["x"], y = got["y"], w = got["w"], h = got["h"];
      const double corners[] = {x, y, x + w, y + h};
      for (size_t c = 0; c < 4; ++c) {
        const double limit = c % 2 == 0 ? entry.width : entry.height;
        EXPECT_NEAR(corners[c], std::clamp(want["xyxy"][c].get<double>(), 0.0, limit), 2e-3);
      }
    }
  }
}

}  // namespace
}  // namespace keepbox
