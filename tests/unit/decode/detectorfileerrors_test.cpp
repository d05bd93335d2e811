// SPDX-License-Identifier: LGPL-2.1-or-later
// Errors in files of model families, with their line.
#include "core/model/detector_text.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/model/detector_fields.h"
#include "core/recognition/layout.h"
#include "tests/tempdir.h"
#include "tests/unit/decode/rowsfile.h"

namespace keepbox {
namespace {

using test::kRowsFile;
using test::replaced;

/// Returns the message, or "".
std::string error_of(const std::string& text) {
  const auto file = read_detector(text, "box.detector");
  return file ? "" : file.error().message();
}

struct Wrong {
  std::string text, place, part;
};

std::vector<Wrong> wrong_texts() {
  const std::string r = kRowsFile;
  const auto with = [&](const std::string& line) {
    return replaced(r, "coding=", line + "\ncoding=");
  };
  const std::string dense = "[detector]\nreader=dense\n";
  const std::string split = "[detector]\nreader=split\n",
                    roles = "[tensor boxes]\n[tensor scores]\n";
  return {
      {"", "box.detector:1: ", "a group [detector], found none"},
      {"x=1\n", "box.detector:1: x: ", "a group such as"},
      {r + "what\n", "box.detector:11: ", "KEY=VALUE"},
      {r + "[detector]\n", "box.detector:11: [detector]: ", "line 2"},
      {r + "[tensor\n", "box.detector:11: ", "a group such as"},
      {r + "[model]\n", "box.detector:11: [model]: ", "[tensor ROLE]"},
      {r + "[tensor box]\n", "box.detector:11: [tensor box]: ", "one of all, boxes"},
      {r + "scale=0\n", "box.detector:11: scale: ", "a number from"},
      {r + "scal=1\n", "box.detector:11: scal: ", "one of role, optional, ids"},
      {r + "ids=q\n", "box.detector:11: ids: ", "line 10"},
      {r + "optional=yes\n", "box.detector:11: optional: ", "one of true, false, found \"yes\""},
      {r + "names=a,,b\n", "box.detector:11: names: ", "up to 2 comma-separated names"},
      {r + "names=a\\qb\n", "box.detector:11: names: ", "backslash"},
      {r + "# \xff\n", "box.detector:11: ", "UTF-8"},
      {r + "channels=6\n",
       "box.detector:11: channels: ", "0, because the columns define it, found 6"},
      {r + "optional=true\n", "box.detector:11: optional: ", "false for all"},
      {replaced(r, "top-left-size", "corner"),
       "box.detector:7: coding: ", "one of center-size, corners, top-left-size"},
      {with("codin=corners"), "box.detector:7: codin: ", "box-column"},
      {with("base=yolov99"), "box.detector:7: base: ", "found \"yolov99\""},
      {with("bins=0"), "box.detector:7: bins: ", "1 to 255"},
      {with("bins=4"), "box.detector:7: bins: ", "1 with others, found 4"},
      {with("strides=8,-16"), "box.detector:7: strides: ", "up to 6 integers from 1 to 65535"},
      {with("strides=1,2,3,4,5,6,7"), "box.detector:7: strides: ", "up to 6"},
      {with("strides=8,"), "box.detector:7: strides: ", "found \"8,\""},
      {with("box-scale=1,1,1"), "box.detector:7: box-scale: ", "4 numbers"},
      {with("anchor-sizes=10x-3"), "box.detector:7: anchor-sizes: ", "sizes above 0"},
      {with("anchor-scales=nan"), "box.detector:7: anchor-scales: ", "numbers above 0"},
      {with("cell-offset=inf"), "box.detector:7: cell-offset: ", "-16 to 16"},
      {with("image-column=200"), "box.detector:7: image-column: ", "0 to 127, or none"},
      {with("nms-contract=mine"), "box.detector:7: nms-contract: ", "one of exact, onnx"},
      {with("nms-method=auto"), "box.detector:7: nms-method: ", "one of greedy, none"},
      {with("label-file="), "box.detector:7: label-file: ", "found nothing"},
      {with("priors-file="), "box.detector:7: priors-file: ", "found nothing"},
      {with("nms-sigma=0"), "box.detector:7: nms-sigma: ", "1e-06 to 1e+06"},
      {with("score-threshold=2"), "box.detector:7: score-threshold: ", "0 to 1"},
      {with("peaks=true"), "box.detector:8: coding: ", "no peaks"},
      {with("score-rule=product"), "box.detector:7: score-rule: ", "no objectness"},
      {with("classes-column=5"), "box.detector:7: classes-column: ", "none with reader=ready"},
      {with("angle-column=6"), "box.detector:7: angle-column: ", "found 6"},
      {with("payload=angle"), "box.detector:2: angle-column: ", "a column if payload=angle"},
      {with("image-column=1"), "box.detector:5: score-column: ", "separate columns"},
      {replaced(r, "box-column=2", "box-column=3"),
       "box.detector:4: box-column: ", "at most 2 of 6"},
      {replaced(r, "score-column=1", "score-column=3"),
       "box.detector:5: score-column: ", "outside of the box"},
      {replaced(r, "score-column=1", "score-column=none"),
       "box.detector:5: score-column: ", "none"},
      {replaced(r, "top-left-size", "grid-exp"), "box.detector:7: coding: ", "with this reader"},
      {with("payload=keypoints\npayload-column=7"),
       "box.detector:8: payload-column: ", "at most 6"},
      {dense + "classes-column=9\npayload=keypoints\npayload-count=6\npayload-column=4\n",
       "box.detector:6: payload-column: ", "end before the class scores"},
      {dense, "box.detector:1: classes-column: ", "first column of class scores"},
      {dense + "classes-column=3\n", "box.detector:3: classes-column: ", "after those of the box"},
      {dense + "classes-column=4\nobjectness-column=4\n",
       "box.detector:4: objectness-column: ", "below 4"},
      {dense + "classes-column=4\ncoding=grid-exp\n", "box.detector:1: strides: ", "none"},
      {dense + "classes-column=4\ncoding=grid-sigmoid\nstrides=8\ncell-anchors=3\n",
       "box.detector:1: anchor-sizes: ", "3 sizes"},
      {dense + "classes-column=4\nanchor-sizes=1x1\n", "box.detector:1: coding: ", "with anchors"},
      {dense + "classes-column=4\npayload-count=3\n", "box.detector:4: payload-count: ", "0 with"},
      {split, "box.detector:2: reader: ", "boxes, scores, one of each"},
      {split + "box-column=2\n" + roles, "box.detector:2: reader: ", "if columns are set"},
      {split + "[tensor boxes]\nchannels=3\n[tensor scores]\n",
       "box.detector:4: channels: ", "at least 4"},
      {split + "payload=keypoints\npayload-count=10\n[tensor boxes]\n[tensor scores]\n",
       "box.detector:5: channels: ", "at least 14"},
      {split +
           "payload=keypoints\npayload-count=10\n[tensor boxes]\nchannels=13\n[tensor scores]\n",
       "box.detector:6: channels: ", "at least 14"},
      {split + "background=first\n[tensor boxes]\n[tensor scores]\nchannels=1\n",
       "box.detector:6: channels: ", "at least 2"},
      {split + roles + "[tensor sizes]\noptional=true\n",
       "box.detector:6: optional: ", "false for sizes"},
      {split + roles + "[tensor count]\n", "box.detector:5: role: ", "found count"},
      {split + roles + "[tensor keypoints]\n[tensor keypoints 2]\nrole=keypoints\n",
       "box.detector:5: role: ", "found keypoints twice"},
      {split + "[tensor boxes]\nscale=0.5\n[tensor scores]\n",
       "box.detector:3: ids: ", "with a scale"},
      {split + roles +
           "[tensor unread]\n[tensor unread 2]\nrole=unread\n[tensor unread 3]\n"
           "role=unread\n[tensor unread 4]\nrole=unread\n[tensor unread 5]\nrole=unread\n",
       "box.detector:12: [tensor unread 5]: ", "at most 6"},
      {split + "coding=prior-delta\n" + roles, "box.detector:1: anchor-sizes: ", "priors=true"},
      {split + "coding=prior-delta\nstrides=8,16\nanchor-sizes=3x3\n" + roles,
       "box.detector:5: anchor-sizes: ", "2 sizes"},
      {split +
           "coding=prior-delta\nstrides=8\nanchor-base=4\nanchor-scales=1,2\n"
           "anchor-ratios=1x1\n" +
           roles,
       "box.detector:1: cell-anchors: ", "2 (anchor-scales times"},
      {"[detector]\nreader=outputs\n[tensor scores]\n[tensor boxes]\n",
       "box.detector:2: reader: ", "in this order"},
  };
}

TEST(DetectorFile, ErrorsNameTheLine) {
  ASSERT_EQ(error_of(kRowsFile), "");
  for (const Wrong& wrong : wrong_texts()) {
    const std::string error = error_of(wrong.text);
    EXPECT_TRUE(error.starts_with(wrong.place + "expected ") && error.contains(wrong.part))
        << wrong.text << "found: " << error << "\nexpected: " << wrong.place << "... "
        << wrong.part;
  }
}

}  // namespace
}  // namespace keepbox
