// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts in messages, lists of words, and numbers.
#include "core/base/text.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace keepbox {
namespace {

using Views = std::vector<std::string_view>;

TEST(Words, AreQuotedOnOneLine) {
  EXPECT_EQ(in_quotes({}), "\"\"");
  EXPECT_EQ(in_quotes("a\nb c"), "\"a b c\"");
  EXPECT_EQ(in_quotes("\xff"), "\"\uFFFD\"");
  EXPECT_EQ(in_quotes(std::string(60, 'x')), '"' + std::string(60, 'x') + '"');
  EXPECT_EQ(in_quotes(std::string(61, 'x')), '"' + std::string(60, 'x') + "...\"");
}

TEST(Words, AreUtf8) {
  EXPECT_EQ(utf8_length("a\xff"), 1u);
  EXPECT_EQ(utf8_length("\u00df"), 2u);
  EXPECT_EQ(utf8_length("\u4eba"), 3u);
  EXPECT_EQ(utf8_length("\U0001f600"), 4u);
  EXPECT_EQ(utf8_length("\ud7ff"), 3u);
  EXPECT_EQ(utf8_length("\U0010ffff"), 4u);
  using namespace std::string_view_literals;
  for (const std::string_view wrong :
       {""sv, "\0"sv, "\x80"sv, "\xc3"sv, "\xc3("sv, "\xe4\xba"sv, "\xc0\x80"sv, "\xc1\xbf"sv,
        "\xe0\x9f\xbf"sv, "\xed\xa0\x80"sv, "\xf0\x8f\xbf\xbf"sv, "\xf4\x90\x80\x80"sv,
        "\xf5\x80\x80\x80"sv})
    EXPECT_EQ(utf8_length(wrong), 0u) << in_quotes(wrong);
}

TEST(Words, AreJoinedAndSplit) {
  const std::vector<std::string> parts{"a", "b", "c"};
  EXPECT_EQ(joined(parts), "a; b; c");
  EXPECT_EQ(joined({}), "");
  EXPECT_EQ(trimmed(" \t a b\r\n"), "a b");
  EXPECT_EQ(trimmed(" \n"), "");
  EXPECT_EQ(split("a, b ,,c", ','), (Views{"a", "b", "", "c"}));
  EXPECT_EQ(split("", ','), Views{""});
  EXPECT_EQ(split("a,", ','), (Views{"a", ""}));
}

TEST(Words, AreOnLines) {
  EXPECT_EQ(lines_of("a\r\n b \n\nc"), (Views{"a", " b ", "", "c"}));
  EXPECT_EQ(lines_of("a\n"), Views{"a"});
  EXPECT_EQ(lines_of(""), Views{});
}

TEST(Words, AreNumbersAndNothingElse) {
  int number = 7;
  EXPECT_TRUE(parse("-12", number));
  EXPECT_EQ(number, -12);
  for (const char* wrong : {"", " 1", "1 ", "12x", "x", "99999999999"})
    EXPECT_FALSE(parse(wrong, number)) << wrong;
  float value = 0;
  EXPECT_TRUE(parse_finite("1e3", value));
  EXPECT_EQ(value, 1000);
  for (const char* wrong : {"", "inf", "nan", "1e99", "1,5"})
    EXPECT_FALSE(parse_finite(wrong, value)) << wrong;
}

}  // namespace
}  // namespace keepbox
