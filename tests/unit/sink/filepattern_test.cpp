// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of files by time, number and class.
#include "gst/sink/names.h"

#include <gtest/gtest.h>

#include "gst/sink/files.h"
#include "tests/tempdir.h"

namespace keepbox {
namespace {

std::string name_of(std::string_view pattern, int64_t number = 42) {
  g_autoptr(GDateTime) time = g_date_time_new_utc(2026, 3, 9, 17, 5, 8);
  const auto parsed = FilePattern::parse(pattern, FileSet::kSeries);
  return parsed ? parsed->name(time, number).before : parsed.error().message();
}

TEST(FilePattern, HasTimesAndOneNumber) {
  EXPECT_EQ(name_of("boxes.jsonl"), "boxes.jsonl");
  EXPECT_EQ(name_of("a-%05d.jsonl"), "a-00042.jsonl");
  EXPECT_EQ(name_of("a-%02d", 12345), "a-12345");
  EXPECT_EQ(name_of("%Y/%m/%H%M%S.csv"), "2026/03/170508.csv");
  EXPECT_EQ(name_of("%F-%03d%%"), "2026-03-09-042%");
  EXPECT_EQ(name_of("%s"), "1773075908");
}

TEST(FilePattern, TakesADayOnlyNextToATime) {
  EXPECT_EQ(name_of("a-%d.jsonl"), "a-42.jsonl");
  EXPECT_EQ(name_of("%Y-%m-%d.jsonl"), "2026-03-09.jsonl");
  EXPECT_EQ(name_of("%Y-%m-%d-%05d.jsonl"), "2026-03-09-00042.jsonl");
  EXPECT_FALSE(FilePattern::parse("a", FileSet::kSeries)->varies());
  EXPECT_TRUE(FilePattern::parse("a%d", FileSet::kSeries)->numbered());
  EXPECT_FALSE(FilePattern::parse("%Y%d", FileSet::kSeries)->numbered());
}

TEST(FilePattern, RefusesOthers) {
  EXPECT_EQ(name_of("90%"),
            "location=90% may only have conversions of a time, such as %Y, and at most one number, "
            "such as %05d. Write %% for a percent sign.");
  for (const char* bad :
       {"%", "%05d-%06d", "%d%d", "%05d-%d", "%_", "%Q", "%0999d", "100%.csv", "a%\xff"})
    EXPECT_FALSE(FilePattern::parse(bad, FileSet::kSeries)) << bad;
  for (const char* bad : {"a.txt", "%d.txt", "%s-%s", "%%s"})
    EXPECT_FALSE(FilePattern::parse(bad, FileSet::kPerClass)) << bad;
}

TEST(FilePattern, LeavesThePlaceOfAClass) {
  g_autoptr(GDateTime) time = g_date_time_new_utc(2026, 3, 9, 17, 5, 8);
  const FileName name =
      FilePattern::parse("%Y/Task1_%s-%03d.txt", FileSet::kPerClass)->name(time, 7);
  EXPECT_EQ(name.before, "2026/Task1_");
  EXPECT_EQ(name.after, "-007.txt");
}

std::string next_name(const std::string& location, BoxFormat format = BoxFormat::kCsv) {
  const SinkProps props{.format = static_cast<int>(format), .location = location};
  const FileName name = FileSeries::of(props)->next();
  return name.before + name.after;
}

TEST(FileSeries, ReplacesNoFileByAnother) {
  const test::TempDir folder;
  for (const char* name : {"a-00.csv", "a-01.csv", "x-car-0.txt"}) folder.write(name, "");
  EXPECT_EQ(next_name(folder / "a-%02d.csv"), folder / "a-02.csv");
  EXPECT_EQ(next_name(folder / "x-%s-%d.txt", BoxFormat::kDota), folder / "x--1.txt");
  const std::string year = next_name(folder / "%Y.csv");
  folder.write(year.substr(folder.path().string().size() + 1), "");
  EXPECT_EQ(next_name(folder / "%Y.csv"), year.substr(0, year.size() - 4) + "-1.csv");
}

TEST(FileSeries, ReplacesAFileWithoutNumberOrTime) {
  const test::TempDir folder;
  folder.write("a.csv", "");
  EXPECT_EQ(next_name(folder / "a.csv"), folder / "a.csv");
}

TEST(FileSeries, BeginsAgainAfterTheTimeOrTheSize) {
  const SinkProps props{.location = "%d", .max_file_time = 100, .max_file_size = 50};
  auto series = *FileSeries::of(props);
  const auto takes = [&](std::optional<uint64_t> time, uint64_t bytes) {
    const bool next = series.starts_next_file(time, bytes);
    series.note_text();
    return next;
  };
  EXPECT_FALSE(takes(1000, 60)) << "the first frame of a file fits always";
  EXPECT_FALSE(takes(1099, 50));
  EXPECT_TRUE(takes(1100, 10));
  EXPECT_FALSE(takes(1199, 10)) << "a file's time begins with its first frame";
  EXPECT_TRUE(takes(1199, 51));
  EXPECT_FALSE(takes({}, 10)) << "without a time";
  EXPECT_FALSE(takes(5, 10)) << "a flush starts the time again";
  EXPECT_FALSE(takes(104, 10));
  EXPECT_TRUE(takes(105, 10));
}

}  // namespace
}  // namespace keepbox
