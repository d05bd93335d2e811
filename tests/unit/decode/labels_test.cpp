// SPDX-License-Identifier: LGPL-2.1-or-later
// Valid and invalid label files, and lists of classes.
#include "gst/tensors/labels.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "tests/tempdir.h"

namespace keepbox {
namespace {

std::string name(const Labels& labels, uint32_t class_id) {
  return g_quark_to_string(labels.quark(class_id));
}

TEST(Labels, NameClassesByIdOnly) {
  const test::TempDir dir;
  const auto labels = Labels::load(dir.write("l", "person\r\n\n  dog \ncat\n\n").c_str());
  ASSERT_TRUE(labels) << labels.error().message();
  EXPECT_EQ(labels->size(), 4u);
  EXPECT_EQ(name(*labels, 0), "person");
  EXPECT_EQ(name(*labels, 1), "class-1");
  EXPECT_EQ(name(*labels, 2), "dog");
  EXPECT_EQ(name(*labels, 3), "cat");
  EXPECT_EQ(name(*labels, 4), "class-4");
  EXPECT_EQ(name(*labels, 2000), "class-2000");
}

TEST(Labels, WithoutAFileGiveEveryClassItsOwnQuark) {
  const Labels labels;
  EXPECT_NE(labels.quark(0), labels.quark(1));
  EXPECT_EQ(name(labels, 12), "class-12");
}

TEST(Labels, SkipAByteOrderMark) {
  const test::TempDir dir;
  const auto labels = Labels::load(dir.write("l", "\xef\xbb\xbfperson\n").c_str());
  ASSERT_TRUE(labels);
  EXPECT_EQ(name(*labels, 0), "person");
}

/// Returns the names in a label file with that text, with | between them.
std::string names_in(const std::string& text) {
  const test::TempDir dir;
  const auto labels = Labels::load(dir.write("l", text).c_str());
  if (!labels) return labels.error().message();
  std::string out;
  for (const std::string& each : labels->names()) out += each + '|';
  return out;
}

TEST(Labels, MayBeNumbered) {
  EXPECT_EQ(names_in("0  person\n1  bicycle\n\n2  traffic light\n"),
            "person|bicycle|traffic light|");
  EXPECT_EQ(names_in("2  car\r\n5\tcar\r\n"), "||car|||car|") << "with gaps";
  EXPECT_EQ(names_in("0 person\n2 2 euro\n"), "person||2 euro|");
  EXPECT_EQ(names_in("1 euro\n2 euro\n5 euro"), "1 euro|2 euro|5 euro|") << "names";
  EXPECT_EQ(names_in("0  a\n0  b"), "0  a|0  b|");
  EXPECT_EQ(names_in("1  a\n0  b"), "1  a|0  b|");
  EXPECT_EQ(names_in("0  a\nb"), "0  a|b|");
  EXPECT_EQ(names_in("0\n1\n2"), "0|1|2|");
  EXPECT_EQ(names_in("0  a\n99999999  b"), "0  a|99999999  b|");
  EXPECT_EQ(names_in("0  a\n-1  b"), "0  a|-1  b|");
}

TEST(Labels, ErrorsNameTheFile) {
  const test::TempDir dir;
  for (const std::string& path :
       {dir / "missing", dir.write("empty", ""), dir.write("blank", "\n \n"),
        dir.write("latin1", "caf\xe9\n"), dir.path().string()}) {
    const auto labels = Labels::load(path.c_str());
    ASSERT_FALSE(labels) << path;
    EXPECT_NE(labels.error().message().find(path), std::string::npos) << labels.error().message();
    EXPECT_NE(labels.error().message().find("label-file="), std::string::npos);
  }
}

std::string lines(size_t count) {
  std::string out;
  for (size_t i = 0; i < count; ++i) out += "a\n";
  return out;
}

TEST(Labels, ErrorsNameAbsurdFiles) {
  const test::TempDir dir;
  for (const std::string& path :
       {dir.write("long", lines(70'000)), dir.write("large", std::string(17 << 20, 'a') + "\n"),
        dir.write("ends", "a" + std::string(70'000, '\n') + "b\n"),
        dir.write("blank", std::string(17 << 20, '\n'))}) {
    const auto labels = Labels::load(path.c_str());
    ASSERT_FALSE(labels) << path;
    EXPECT_NE(labels.error().message().find("the maximum is"), std::string::npos)
        << labels.error().message();
    EXPECT_NE(labels.error().message().find(path), std::string::npos);
  }
  EXPECT_TRUE(Labels::load(dir.write("most", lines(65'536)).c_str()));
}

TEST(Labels, RejectFifosAndDevices) {
  const test::TempDir dir;
  ASSERT_EQ(mkfifo((dir / "fifo").c_str(), 0600), 0);
  for (const std::string& path : {dir / "fifo", std::string("/dev/zero")}) {
    const auto labels = Labels::load(path.c_str());
    ASSERT_FALSE(labels) << path;
    EXPECT_NE(labels.error().message().find(path), std::string::npos);
  }
}

TEST(ClassLists, AcceptNamesAndNumbers) {
  const test::TempDir dir;
  const auto labels = Labels::load(dir.write("l", "person\ntraffic light\ncar\n").c_str());
  ASSERT_TRUE(labels);
  EXPECT_EQ(*labels->classes_of("car, 0,traffic light", "p"), (std::vector<uint32_t>{2, 0, 1}));
  EXPECT_TRUE(labels->classes_of(" ", "p")->empty());
  EXPECT_FALSE(labels->classes_of("bus", "p"));
  EXPECT_FALSE(labels->classes_of("1,", "p"));
  EXPECT_FALSE(labels->classes_of("5000", "p"));
  EXPECT_NE(labels->classes_of("bus", "include-classes").error().message().find("include-classes="),
            std::string::npos);
}

TEST(ClassLists, HaveAllClassesOfAName) {
  const Labels labels({"car", "person", "car", "", "1"});
  using Ids = std::vector<uint32_t>;
  EXPECT_EQ(*labels.classes_of("car,person", "p"), (Ids{0, 2, 1}));
  EXPECT_EQ(*labels.classes_of("1,3", "p"), (Ids{4, 3})) << "a name, and a number";
  using Limits = std::vector<std::pair<uint32_t, float>>;
  EXPECT_EQ(*labels.thresholds_of("car:0.5,1:0.25", "p"),
            (Limits{{0, 0.5f}, {2, 0.5f}, {4, .25f}}));
  EXPECT_FALSE(labels.classes_of(",", "p")) << "a class without a name has none";
}

TEST(ClassLists, SuggestSimilarNames) {
  const Labels labels({"person", "", "traffic light", "cat", "car"});
  const auto meant = [&](const char* text) { return labels.nearest(text); };
  for (const char* text : {"persn", "Person", "perrson", "persoon", "pesron", "PERSN"})
    EXPECT_EQ(meant(text), "person") << text;
  EXPECT_EQ(meant("trafic-light"), "traffic light");
  EXPECT_EQ(meant("cas"), "cat") << "the first of two";
  EXPECT_EQ(meant("caR"), "car") << "the nearest";
  for (const char* text : {"act", "cta", "aCt"})
    EXPECT_EQ(meant(text), "cat") << "two neighbours are swapped: " << text;
  EXPECT_EQ(meant("catr"), "cat");
  EXPECT_EQ(meant("tac"), "") << "two that are not neighbours";
  for (const char* text : {"nosuch", "", "c", "dog", "prsn x", "persons of all ages"})
    EXPECT_EQ(meant(text), "") << text;
  EXPECT_NE(labels.classes_called("persn", "p").error().hint.find("did you mean person?"),
            std::string::npos);
  EXPECT_EQ(labels.classes_called("nosuch", "p").error().hint.find("did you mean"),
            std::string::npos);
}

TEST(ClassLists, AcceptThresholds) {
  const Labels labels;
  using Limits = std::vector<std::pair<uint32_t, float>>;
  EXPECT_EQ(*labels.thresholds_of("3:0.5, 7:0.25", "p"), (Limits{{3, 0.5f}, {7, 0.25f}}));
  for (const char* text : {"3", "3:", ":0.5", "3:x", "3:nan", "3:inf", "dog:0.5"})
    EXPECT_FALSE(labels.thresholds_of(text, "p")) << text;
  for (const Labels& each : {labels, Labels({"person"})}) {
    const auto dog = each.thresholds_of("dog:0.5", "class-thresholds");
    ASSERT_FALSE(dog);
    EXPECT_NE(dog.error().hint.find("class-thresholds="), std::string::npos) << dog.error().hint;
  }
}

}  // namespace
}  // namespace keepbox
