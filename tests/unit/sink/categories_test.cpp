// SPDX-License-Identifier: LGPL-2.1-or-later
// Category ids of COCO results: the model's own, the user's, and those of several models.
#include "gst/sink/categories.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdlib>
#include <span>

#include "tests/tempdir.h"

namespace keepbox {
namespace {

/// Reads the ids from a file with that text.
Result<std::vector<CocoId>> list_of(const std::string& text) {
  const test::TempDir folder;
  return load_coco_ids(folder.write("ids", text).c_str(), "image-ids");
}

TEST(CocoIds, AreANumberAndANamePerLine) {
  const auto ids = list_of("000000000139\r\n1 person\n 13\n");
  EXPECT_FALSE(ids);  // a number must be first
  const auto good = list_of("000000000139\r\n13  stop sign \n-2\n\n");
  ASSERT_TRUE(good) << good.error().message();
  ASSERT_EQ(good->size(), 3u);
  EXPECT_EQ((*good)[0].id, 139);
  EXPECT_EQ((*good)[0].name, "");
  EXPECT_EQ((*good)[1].name, "stop sign");
  EXPECT_EQ((*good)[2].id, -2);
}

TEST(CocoIds, ErrorsNameTheLine) {
  const auto ids = list_of("1\n2.jpg\n");
  ASSERT_FALSE(ids);
  EXPECT_TRUE(ids.error().what.starts_with("Line 2 of /"));
  EXPECT_TRUE(ids.error().what.ends_with(", \"2.jpg\", does not begin with an integer"));
  EXPECT_TRUE(ids.error().hint.starts_with("set image-ids="));
  EXPECT_FALSE(list_of("\n"));
  for (const std::string path : {"/nonexistent/ids", "/dev/zero"}) {
    const auto none = load_coco_ids(path.c_str(), "image-ids");
    ASSERT_FALSE(none);
    EXPECT_NE(none.error().message().find(path), std::string::npos) << none.error().message();
  }
}

FrameBox of(const char* label, std::optional<uint32_t> class_id, const char* model = nullptr) {
  FrameBox box{.box = {10, 20, 30, 60}, .score = 0.1f};
  if (*label != '\0') box.label = g_quark_from_string(label);
  box.class_id = class_id;
  box.model = g_quark_from_string(model);
  return box;
}

std::vector<int64_t> ids_of(CategoryIds& ids, std::span<const FrameBox> boxes) {
  std::vector<int64_t> out;
  for (const FrameBox& box : boxes) out.push_back(ids.of(box).value());
  return out;
}

using Ids = std::vector<int64_t>;

/// Makes a box of a model whose classes are COCO's.
FrameBox of_coco(const char* label, uint32_t class_id, const char* model = nullptr) {
  FrameBox box = of(label, class_id, model);
  box.coco = true;
  return box;
}

TEST(CategoryIds, AreThoseOfCocoForItsClasses) {
  const char* source = std::getenv("KEEPBOX_SOURCE");
  ASSERT_NE(source, nullptr);
  const std::string path = std::string(source) + "/core/model/coco/coco80.ids";
  const auto shipped = load_coco_ids(path.c_str(), "category-ids");
  ASSERT_TRUE(shipped) << shipped.error().message();
  ASSERT_EQ(shipped->size(), 80u);
  CategoryIds numbered, named;
  for (uint32_t i = 0; i < 80; ++i) {
    const CocoId& row = (*shipped)[i];
    EXPECT_EQ(numbered.of(of_coco(row.name.c_str(), i)), row.id);
    EXPECT_EQ(named.of(of(row.name.c_str(), {})), row.id);
  }
  EXPECT_EQ((*shipped)[79].id, 90);
  CategoryMessages news = numbered.take_messages();
  EXPECT_EQ(news.chosen,
            std::vector<std::string>{"category ids are COCO's own for its 80 classes, 1 to 90"});
  EXPECT_TRUE(news.odd.empty() && news.wrong.empty());
  EXPECT_TRUE(numbered.take_messages().chosen.empty());  // reported once
  EXPECT_TRUE(named.take_messages().wrong.empty());
}

TEST(CategoryIds, AreByNumberInACocoModel) {
  CategoryIds ids;
  const FrameBox boxes[] = {of_coco("motorbike", 3), of_coco("persn", 0), of_coco("", 79),
                            of_coco("helmet", 80)};
  EXPECT_EQ(ids_of(ids, boxes), (Ids{4, 1, 90, 1080}));
  const CategoryMessages news = ids.take_messages();
  EXPECT_TRUE(news.wrong.empty());
  EXPECT_EQ(news.odd.size(), 1u) << "80 is a number of COCO's";
}

TEST(CategoryIds, AreTheClassesOfOtherModels) {
  CategoryIds ids;
  const FrameBox boxes[] = {of("circle", 0), of("", 7), of("bicycle", 1)};
  EXPECT_EQ(ids_of(ids, boxes), (Ids{0, 7, 1}));
  CategoryMessages news = ids.take_messages();
  EXPECT_EQ(news.chosen, std::vector<std::string>{"category ids are the class numbers, from 0"});
  EXPECT_TRUE(news.odd.empty() && news.wrong.empty());
}

/// A few names of COCO's do not make a model of COCO, whichever comes first.
TEST(CategoryIds, DoNotDependOnTheFirstBox) {
  const FrameBox person = of("person", 0), helmet = of("helmet", 1);
  CategoryIds one, other;
  EXPECT_EQ(ids_of(one, std::array{person, helmet, person}), (Ids{0, 1, 0}));
  EXPECT_EQ(ids_of(other, std::array{helmet, person, helmet}), (Ids{1, 0, 1}));
  EXPECT_TRUE(one.take_messages().wrong.empty());
}

/// Decoders that give no class numbers: names decide, whichever comes first.
TEST(CategoryIds, AreByNameWithoutNumbers) {
  CategoryIds one, other;
  EXPECT_EQ(ids_of(one, std::array{of("person", {}), of("helmet", {}), of("cat", {})}),
            (Ids{1, 1001, 17}));
  EXPECT_EQ(ids_of(other, std::array{of("helmet", {}), of("cat", {}), of("person", {})}),
            (Ids{1001, 17, 1}));
  for (CategoryIds* each : {&one, &other}) {
    const auto wrong = each->take_messages().wrong;
    ASSERT_EQ(wrong.size(), 1u);
    EXPECT_EQ(wrong[0].message(),
              "Some labels are COCO's and others are not, such as \"helmet\": these get category "
              "ids outside of COCO's. Set category-ids=.");
  }
}

TEST(CategoryIds, DistinguishModels) {
  CategoryIds ids;
  const FrameBox boxes[] = {of_coco("person", 0, "big"), of("face", 0, "faces"),
                            of("nose", 1, "faces"),      of_coco("person", 0, "small"),
                            of_coco("bus", 5, "big"),    of("face", 0, "heads"),
                            of("nose", 1, "faces")};
  EXPECT_EQ(ids_of(ids, boxes), (Ids{1, 0, 1001, 1, 6, 1000, 1001}));
  const CategoryMessages news = ids.take_messages();
  EXPECT_TRUE(news.wrong.empty());
  EXPECT_EQ(news.chosen.size(), 4u);  // one per model
  EXPECT_EQ(news.chosen[1], "category ids of the model \"faces\" are the class numbers, from 0");
  // In any order.
  CategoryIds oriented;
  const FrameBox again[] = {of("face", 0, "faces"), of("nose", 1, "faces"),
                            of_coco("person", 0, "big"), of("chin", 2, "faces")};
  EXPECT_EQ(ids_of(oriented, again), (Ids{0, 1, 1001, 1002}));
}

TEST(CategoryIds, NumberLabelsWithoutClassByAppearance) {
  CategoryIds ids;
  const FrameBox boxes[] = {of("hamster", {}), of("ferret", {}), of("hamster", {}), of("circle", 0),
                            of("cube", 1)};
  EXPECT_EQ(ids_of(ids, boxes), (Ids{1001, 1002, 1001, 0, 1}));
  const CategoryMessages news = ids.take_messages();
  ASSERT_EQ(news.odd.size(), 2u);
  EXPECT_EQ(
      news.odd[1],
      "category_id 1002 is used for the label \"ferret\", whose decoder gives no class number; "
      "set category-ids= to choose the numbers of the data set");
}

TEST(CategoryIds, PreferTheUsersList) {
  CategoryIds ids({{5, "person"}, {6, "face"}, {7, ""}});
  const FrameBox boxes[] = {of("person", 0, "big"),  of("face", 0, "faces"),
                            of("face", {}, "faces"), of("pedestrian", 0, "big"),
                            of("bicycle", 2, "big"), of("face", 0, "big")};
  EXPECT_EQ(ids_of(ids, boxes), (Ids{5, 6, 6, 5, 7, 6}));
  EXPECT_TRUE(ids.take_messages().chosen.empty());
  const auto unknown = ids.of(of("nose", 1, "faces"));
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message(),
            "category-ids= does not list the label \"nose\". Write the label after its number: "
            "class numbers apply only to the model of the first box.");
}

}  // namespace
}  // namespace keepbox
