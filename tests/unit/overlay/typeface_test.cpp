// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of a typeface, with DejaVu Sans as the only font. Single characters are compared with those
// that cairo draws from its file.
#include "gst/overlay/typeface.h"

#include <cairo-ft.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/fonts.h"

namespace keepbox {
namespace {

constexpr int kWide = 4000;

/// Draws a character without Pango, in a font of that size in pixels, as in Typeface::lay_out().
cv::Mat drawn_by_cairo(const char* character, double pixels, cv::Rect ink) {
  const std::string file = test::font_file("DejaVu Sans");
  FcPattern* pattern = FcPatternCreate();
  FcPatternAddString(pattern, FC_FILE, reinterpret_cast<const FcChar8*>(file.c_str()));
  cairo_font_face_t* face = cairo_ft_font_face_create_for_pattern(pattern);
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_SLIGHT);
  cairo_surface_t* surface = cairo_image_surface_create(CAIRO_FORMAT_A8, ink.width, ink.height);
  cairo_t* cairo = cairo_create(surface);
  cairo_set_font_face(cairo, face);
  cairo_set_font_options(cairo, options);
  cairo_set_font_size(cairo, pixels);
  cairo_move_to(cairo, -ink.x, -ink.y);
  cairo_show_text(cairo, character);
  cairo_surface_flush(surface);
  const cv::Mat out = cv::Mat(ink.height, ink.width, CV_8U, cairo_image_surface_get_data(surface),
                              size_t(cairo_image_surface_get_stride(surface)))
                          .clone();
  cairo_destroy(cairo);
  cairo_surface_destroy(surface);
  cairo_font_options_destroy(options);
  cairo_font_face_destroy(face);
  FcPatternDestroy(pattern);
  return out;
}

bool same(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && cv::norm(a, b, cv::NORM_INF) == 0;
}

class TypefaceText : public testing::Test {
 protected:
  TypefaceText() { EXPECT_TRUE(typeface.resize(21, kWide)); }

  cv::Mat drawn(std::string_view text) {
    typeface.lay_out(text);
    return typeface.draw();
  }
  int width(std::string_view text) { return typeface.lay_out(text).width; }

  test::OnlyFonts fonts{test::font_file("DejaVu Sans")};
  Typeface typeface;
};

TEST_F(TypefaceText, CapitalsHaveTheirHeight) {
  for (const int height : {9, 21, 60}) {
    ASSERT_TRUE(typeface.resize(height, kWide));
    const cv::Mat letter = drawn("H");
    cv::Mat rows;
    cv::reduce(letter, rows, 1, cv::REDUCE_MAX);
    EXPECT_NEAR(cv::countNonZero(rows > 127), height, 1);
  }
}

TEST_F(TypefaceText, CharactersAreThoseOfTheFont) {
  constexpr double kPixels = 21 / 0.729;  // of DejaVu Sans
  for (const char* character : {"S", "ß", "é", "Ж", "П", "я", "λ", "א", "س"}) {
    SCOPED_TRACE(character);
    const TextExtent extent = typeface.lay_out(character);
    const cv::Mat ours = typeface.draw();
    EXPECT_GT(cv::countNonZero(ours), 20);
    // The size of the font differs by less than a thousandth.
    EXPECT_LT(cv::norm(ours, drawn_by_cairo(character, kPixels, extent.ink), cv::NORM_INF), 16);
  }
}

TEST_F(TypefaceText, TextOfOneScriptHasDifferentLetters) {
  EXPECT_FALSE(same(drawn("Привет"), drawn("Приказ")));
  EXPECT_FALSE(same(drawn("Straße"), drawn("Strasse")));
  EXPECT_GT(width("Straße"), width("Strae"));
}

TEST_F(TypefaceText, LettersAreJoinedAndCombined) {
  EXPECT_LT(width("سيارة"), width("س") + width("ي") + width("ا") + width("ر") + width("ة"));
  EXPECT_TRUE(same(drawn("e\u0301"), drawn("é")));
}

TEST_F(TypefaceText, HebrewGoesFromRightToLeft) {
  const cv::Mat both = drawn("אב"), first = drawn("א");
  const cv::Mat right = both.colRange(both.cols - first.cols + 1, both.cols - 1);
  EXPECT_EQ(both.rows, first.rows);
  EXPECT_TRUE(same(right, first.colRange(1, first.cols - 1)));
}

TEST_F(TypefaceText, BytesThatAreNoTextAreReplaced) {
  const cv::Mat replaced = drawn("a\uFFFDb");
  for (const std::string_view text : {"a\xff"
                                      "b",
                                      "a\nb", "a\tb",
                                      "a\x7f"
                                      "b",
                                      "a\u2028b",
                                      "a\x1b"
                                      "b"})
    EXPECT_TRUE(same(drawn(text), replaced)) << text;
  EXPECT_TRUE(same(drawn(std::string_view("a\0b", 3)), replaced));
}

TEST_F(TypefaceText, LongTextIsCut) {
  const std::string text = "a rather long name of a class";
  ASSERT_TRUE(typeface.resize(21, 200));
  const TextExtent cut = typeface.lay_out(text);
  EXPECT_LE(cut.width, 200);
  EXPECT_GT(cut.width, 150);
  EXPECT_TRUE(same(typeface.draw(), drawn(text + ", which is longer")));
  EXPECT_LE(width(std::string(1 << 20, 'W')), 200);
  ASSERT_TRUE(typeface.resize(1, 1 << 20));
  EXPECT_EQ(width(std::string(1 << 20, 'i')), width(std::string(256, 'i') + "…"));
  EXPECT_EQ(width(std::string(1 << 20, '\xe4')), width(std::string(2000, '\xff')));
}

TEST_F(TypefaceText, RightToLeftTextIsCutAtItsEnd) {
  std::string text;
  for (int i = 0; i < 100; ++i) text += "שלום ";
  ASSERT_TRUE(typeface.resize(21, 300));
  const TextExtent cut = typeface.lay_out(text);
  EXPECT_LE(cut.width, 300);
  EXPECT_GE(cut.ink.x, -2) << "it starts where it is put";
  EXPECT_LE(cut.ink.br().x, 302);
}

TEST_F(TypefaceText, HeightIsBounded) {
  std::string text = "a";
  for (int i = 0; i < 200; ++i) text += "\u0301";
  const TextExtent extent = typeface.lay_out(text);
  EXPECT_LE(extent.ink.height, 5 * 21);
  EXPECT_EQ(typeface.draw().size(), extent.ink.size());
}

TEST_F(TypefaceText, BlankTextHasNoInk) {
  EXPECT_GT(width(" "), 0);
  EXPECT_TRUE(drawn(" ").empty());
  EXPECT_TRUE(drawn("").empty());
}

TEST(Typeface, UsesOtherFontsForMissingLetters) {
  const std::string chinese = test::font_file("Droid Sans Fallback");
  if (!chinese.contains("Droid")) GTEST_SKIP() << "Droid Sans Fallback is not installed";
  const test::OnlyFonts fonts{test::font_file("DejaVu Sans"), chinese};
  Typeface typeface;
  ASSERT_TRUE(typeface.resize(21, kWide));
  typeface.lay_out("人");
  const cv::Mat person = typeface.draw();
  typeface.lay_out("车");
  EXPECT_FALSE(same(person, typeface.draw()));
  cv::Mat columns;
  cv::reduce(person, columns, 0, cv::REDUCE_MAX);
  EXPECT_GT(columns.at<uint8_t>(0, person.cols / 2), 200) << "both strokes meet above";
}

/// Each element draws in a thread of its own.
TEST_F(TypefaceText, ThreadsDrawTheSame) {
  const auto text = [](int i) { return "Straße سيارة Привет " + std::to_string(i); };
  std::vector<cv::Mat> expected;
  for (int i = 0; i < 50; ++i) expected.push_back(drawn(text(i)));
  std::atomic<int> equal{0};
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&] {
      Typeface own;
      if (!own.resize(21, kWide)) return;
      for (int i = 0; i < 50; ++i) {
        own.lay_out(text(i));
        equal += same(own.draw(), expected[size_t(i)]);
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(equal, 4 * 50);
}

TEST(Typeface, ReportsThatThereIsNoFont) {
  const test::OnlyFonts none({});
  Typeface typeface;
  for (int i = 0; i < 2; ++i) {
    const Status status = typeface.resize(21, kWide);
    ASSERT_FALSE(status);
    EXPECT_EQ(status.error().kind, ErrorKind::kNoResource);
    EXPECT_TRUE(status.error().message().contains("fonts-dejavu-core"));
  }
}

class KeptLetters : public testing::Test {
 protected:
  static cv::Mat written(Letters& letters, std::string_view text) {
    cv::Mat out = cv::Mat::zeros(80, 600, CV_8U);
    letters.write(out, letters.of(text), {3, 60});
    return out;
  }

  test::OnlyFonts fonts{test::font_file("DejaVu Sans")};
  Letters letters;
};

TEST_F(KeptLetters, AreThoseOfTheTypeface) {
  ASSERT_TRUE(letters.start(1, kWide));
  EXPECT_EQ(letters.capitals(), 21);
  Typeface typeface;
  ASSERT_TRUE(typeface.resize(21, kWide));
  const TextExtent extent = typeface.lay_out("Жук");
  const cv::Mat found = written(letters, "Жук");
  EXPECT_TRUE(same(found(extent.ink + cv::Point(3, 60)), typeface.draw()));
  EXPECT_EQ(cv::countNonZero(found), cv::countNonZero(typeface.draw()));
}

TEST_F(KeptLetters, AreDrawnAgainInAnotherSize) {
  ASSERT_TRUE(letters.start(1, kWide));
  const int large = letters.of("text").extent.width;
  ASSERT_TRUE(letters.start(0.5, kWide));
  EXPECT_NEAR(letters.of("text").extent.width, large / 2, 2);
  ASSERT_TRUE(letters.start(0.5, 15));
  EXPECT_LE(letters.of("text").extent.width, 15);
}

TEST_F(KeptLetters, AreClippedToTheMask) {
  ASSERT_TRUE(letters.start(1, kWide));
  for (const cv::Point at : {cv::Point(-20, 5), {30, 30}, {-500, 10}, {10, 500}}) {
    cv::Mat whole = cv::Mat::zeros(200, 900, CV_8U), mask = cv::Mat::zeros(24, 40, CV_8U);
    const Lettering& text = letters.of("clipped");
    letters.write(whole, text, at + cv::Point(100, 100));
    letters.write(mask, text, at);
    if (at.x < 100 && at.x > -100 && at.y < 100) {
      EXPECT_TRUE(same(mask, whole({100, 100, 40, 24})));
    } else {
      EXPECT_EQ(cv::countNonZero(mask), 0);
    }
  }
}

TEST_F(KeptLetters, AreForgottenOnceThereAreTooMany) {
  const auto name = [](int i) { return std::string(60, 'W') + std::to_string(i); };
  ASSERT_TRUE(letters.start(1, kWide));
  Letters other;
  ASSERT_TRUE(other.start(1, kWide));
  const size_t each = [&] { return (void)other.of(name(0)), other.bytes(); }();
  const int many = static_cast<int>(2 * Letters::kMost / each);
  for (int i = 0; i < many; ++i) (void)letters.of(name(i));
  EXPECT_LT(letters.bytes(), Letters::kMost + 2 * each + size_t(many) * 300) << "in one frame";
  EXPECT_TRUE(letters.of(name(many - 1)).cover.empty());
  EXPECT_TRUE(same(written(letters, name(many - 1)), written(other, name(many - 1))));
  // The frame shows other texts, the next one forgets those before.
  ASSERT_TRUE(letters.start(1, kWide));
  (void)letters.of("only this");
  EXPECT_EQ(letters.count(), size_t(many) + 1);
  ASSERT_TRUE(letters.start(1, kWide));
  EXPECT_EQ(letters.count(), 1u);
  EXPECT_LT(letters.bytes(), each);
  EXPECT_FALSE(letters.of("only this").cover.empty());
}

}  // namespace
}  // namespace keepbox
