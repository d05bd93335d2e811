// SPDX-License-Identifier: LGPL-2.1-or-later
// Names that are those of COCO's classes, and others.
#include "gst/tensors/labels.h"

#include <gtest/gtest.h>

#include <vector>

namespace keepbox {
namespace {

TEST(CocoClasses, AreNumberedAsInTheDataSet) {
  const auto all = coco_classes();
  ASSERT_EQ(all.size(), 80u);
  EXPECT_EQ(all[0].id, 1);
  EXPECT_EQ(all[0].name, "person");
  EXPECT_EQ(all[11].id, 13);
  EXPECT_EQ(all[11].name, "stop sign");
  EXPECT_EQ(all[79].id, 90);
}

TEST(CocoClasses, HaveDarknetsSpellings) {
  const std::pair<const char*, size_t> names[] = {
      {"motorbike", 3},    {"aeroplane", 4},  {"sofa", 57},         {"pottedplant", 58},
      {"diningtable", 60}, {"tvmonitor", 62}, {"Traffic_Light", 9}, {"cell-phone", 67},
      {"hair dryer", 78},  {"toothbrush", 79}};
  for (const auto& [name, number] : names) EXPECT_EQ(coco_class_called(name), number) << name;
  for (const char* name : {"helmet", "", "persons"}) EXPECT_FALSE(coco_class_called(name)) << name;
}

std::vector<std::string> coco_names() {
  std::vector<std::string> out;
  for (const CocoClass& each : coco_classes()) out.push_back(each.name);
  return out;
}

TEST(CocoClasses, AreDecidedByAllNames) {
  std::vector<std::string> names = coco_names();
  EXPECT_TRUE(are_coco_classes(names));
  names[0] = "persn";
  names[3] = "motorbike";
  names[5].clear();
  EXPECT_TRUE(are_coco_classes(names)) << "misspelt";
  names.push_back("helmet");
  EXPECT_TRUE(are_coco_classes(names)) << "with others behind them";
  names = coco_names();
  names.insert(names.begin(), "background");
  EXPECT_FALSE(are_coco_classes(names)) << "other numbers";
  names = coco_names();
  names.pop_back();
  EXPECT_FALSE(are_coco_classes(names)) << "79";
  using Names = std::vector<std::string>;
  for (const Names& few : {Names{}, {"person"}, {"person", "helmet"}, {"person", "bicycle", "car"}})
    EXPECT_FALSE(are_coco_classes(few));
}

}  // namespace
}  // namespace keepbox
