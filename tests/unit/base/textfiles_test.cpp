// SPDX-License-Identifier: LGPL-2.1-or-later
// Text files as editors on Windows write them, for all properties that name one.
#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <vector>

#include "core/base/infile.h"
#include "core/model/detector_text.h"
#include "gst/decode/settings.h"
#include "gst/infer/facts/modelinfo.h"
#include "gst/infer/settings.h"
#include "gst/sink/categories.h"
#include "gst/tensors/labels.h"
#include "tests/tempdir.h"
#include "tests/unit/decode/rowsfile.h"

namespace keepbox {
namespace {

/// Returns a text as Notepad saves it.
std::string of_windows(const std::string& text) {
  std::string out = "\xef\xbb\xbf";
  for (const char c : text) out += c == '\n' ? std::string("\r\n") : std::string(1, c);
  return out;
}

std::string as_utf16(const std::string& text) {
  std::string out = "\xff\xfe";
  for (const char c : text) out += {c, '\0'};
  return out;
}

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "" : result.error().message();
}

/// A kind of file: a good text, and a function that returns the error of reading one.
struct Kind {
  const char* name;
  std::string text;
  std::function<std::string(const std::string& path)> read;
};

std::vector<Kind> kinds() {
  return {
      {"label-file", "person\ncar\n",
       [](const std::string& path) {
         const auto labels = Labels::load(path.c_str());
         if (labels) EXPECT_EQ(labels->names(), (std::vector<std::string>{"person", "car"}));
         return error_of(labels);
       }},
      {"category-ids", "7 person\n9\n",
       [](const std::string& path) {
         const auto ids = load_coco_ids(path.c_str(), "category-ids");
         if (ids) EXPECT_EQ(ids->at(0).id, 7);
         return error_of(ids);
       }},
      {"image-ids", "P0001\nP0002\n",
       [](const std::string& path) {
         const auto names = load_names(path.c_str(), "image-ids");
         if (names) EXPECT_EQ(*names, (std::vector<std::string>{"P0001", "P0002"}));
         return error_of(names);
       }},
      {"priors-file", "1 2 3 4\n5 6 7 8\n",
       [](const std::string& path) { return error_of(load_priors(path.c_str())); }},
      {"detector", test::kRowsFile,
       [](const std::string& path) { return error_of(load_detector(path)); }},
      {"modelinfo", "[modelinfo]\nversion=1.0\ngroup-id=yolo-v8-out\n",
       [](const std::string& path) {
         return error_of(find_model_info(path.substr(0, path.size() - 10)));
       }},
      {"align", "112 112\n38 51\n73 51\n56 71\n",
       [](const std::string& path) {
         InferProps props;
         props.regions = static_cast<int>(Regions::kObjects);
         props.align = path;
         return error_of(object_rules(props));
       }},
  };
}

TEST(TextFiles, MayBeOfWindows) {
  const test::TempDir dir;
  for (const Kind& each : kinds()) {
    EXPECT_EQ(each.read(dir.write("a.modelinfo", each.text)), "") << each.name;
    EXPECT_EQ(each.read(dir.write("b.modelinfo", of_windows(each.text))), "") << each.name;
  }
}

TEST(TextFiles, AreNotUtf16) {
  const test::TempDir dir;
  for (const Kind& each : kinds()) {
    const std::string path = dir.write("a.modelinfo", as_utf16(each.text));
    EXPECT_EQ(each.read(path), path +
                                   " is UTF-16 text, which Windows calls Unicode; expected "
                                   "UTF-8. Save the file as UTF-8.")
        << each.name;
  }
}

TEST(TextFiles, KeepOtherReturns) {
  const test::TempDir dir;
  EXPECT_EQ(*read_text(dir.write("a", "a\rb\r\nc\r"), 100, ""), "a\rb\nc\r");
  EXPECT_EQ(*read_text(dir.write("b", "\xef\xbb\xbf"), 100, ""), "");
  EXPECT_EQ(*read_text(dir.write("c", "a\xef\xbb\xbf"), 100, ""), "a\xef\xbb\xbf");
}

}  // namespace
}  // namespace keepbox
