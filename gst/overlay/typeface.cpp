// SPDX-License-Identifier: LGPL-2.1-or-later
// Fonts are found by fontconfig. Each object has its own font map, because Pango's default one
// belongs to a thread, and streaming threads come and go.
#include "gst/overlay/typeface.h"

#include <fontconfig/fontconfig.h>
#include <pango/pangofc-fontmap.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace keepbox {
namespace {

constexpr const char* kFonts = "DejaVu Sans,Sans";
constexpr double kMeasured = 1000;  // pixels of the font whose capitals are measured
constexpr int kMargin = 1;          // smoothed edges around the ink
constexpr long kCharacters = 256;   // of a text that is not cut

/// True if a font consists of outlines. Pango draws no others.
bool has_outlines(FcConfig* config, FcSetName set) {
  const FcFontSet* fonts = FcConfigGetFonts(config, set);
  for (int i = 0; fonts != nullptr && i < fonts->nfont; ++i) {
    FcBool outline = FcFalse;
    FcPatternGetBool(fonts->fonts[i], FC_OUTLINE, 0, &outline);
    if (outline != FcFalse) return true;
  }
  return false;
}

/// Makes a font map for the current configuration, or returns nullptr if it has no font. Pango
/// itself returns sizes of any value in that case.
PangoFontMap* make_font_map() {
  FcConfig* config = FcConfigReference(nullptr);
  if (config == nullptr) return nullptr;
  PangoFontMap* map = nullptr;
  if (has_outlines(config, FcSetSystem) || has_outlines(config, FcSetApplication))
    map = pango_cairo_font_map_new_for_font_type(CAIRO_FONT_TYPE_FT);
  if (map != nullptr) pango_fc_font_map_set_config(PANGO_FC_FONT_MAP(map), config);
  FcConfigDestroy(config);
  return map;
}

PangoContext* make_context(PangoFontMap* map) {
  PangoContext* context = pango_font_map_create_context(map);
  cairo_font_options_t* options = cairo_font_options_create();
  cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
  cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_SLIGHT);
  cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_ON);
  pango_cairo_context_set_font_options(context, options);
  cairo_font_options_destroy(options);
  return context;
}

/// True for characters that would start a line, or have an effect instead of a shape.
bool is_control(gunichar c) { return g_unichar_iscntrl(c) || c == 0x2028 || c == 0x2029; }

/// Returns UTF-8 of printable characters.
std::string printable(std::string_view text) {
  const std::string_view part = text.substr(0, Typeface::kLongest);
  g_autofree gchar* valid = g_utf8_make_valid(part.data(), static_cast<gssize>(part.size()));
  std::string out;
  long count = 0;
  const char* at = valid;
  for (; *at != 0 && count < kCharacters; at = g_utf8_next_char(at), ++count) {
    if (is_control(g_utf8_get_char(at))) out += "\uFFFD";
    else out.append(at, g_utf8_next_char(at));
  }
  if (*at != 0 || part.size() < text.size()) out += "…";
  return out;
}

}  // namespace

Status Typeface::open() {
  PangoFontMap* map = make_font_map();
  if (map == nullptr)
    return reject(ErrorKind::kNoResource, "Boxes are drawn without labels: there is no font",
                  "install fonts-dejavu-core, or any other font");
  PangoContext* context = make_context(map);
  layout_.reset(pango_layout_new(context));
  g_object_unref(context);
  g_object_unref(map);
  pango_layout_set_single_paragraph_mode(layout_.get(), TRUE);
  pango_layout_set_ellipsize(layout_.get(), PANGO_ELLIPSIZE_END);
  set_size(kMeasured);
  pango_layout_set_text(layout_.get(), "H", -1);
  PangoRectangle ink;
  pango_layout_get_pixel_extents(layout_.get(), &ink, nullptr);
  capital_ = std::clamp(ink.height / kMeasured, 0.3, 1.0);
  return {};
}

void Typeface::set_size(double pixels) {
  PangoFontDescription* font = pango_font_description_from_string(kFonts);
  pango_font_description_set_absolute_size(font, pixels * PANGO_SCALE);
  pango_layout_set_font_description(layout_.get(), font);
  pango_font_description_free(font);
}

Status Typeface::resize(double capitals, int widest) {
  if (!layout_ && opened_) opened_ = open();
  KB_TRY(opened_);
  height_ = std::max(1, cvRound(capitals));
  widest_ = widest;
  set_size(std::max(1.0, capitals / capital_));
  return {};
}

TextExtent Typeface::lay_out(std::string_view text) {
  PangoLayout* layout = layout_.get();
  pango_layout_set_width(layout, -1);
  const std::string shown = printable(text);
  pango_layout_set_text(layout, shown.data(), static_cast<int>(shown.size()));
  PangoRectangle ink, logical;
  const auto measure = [&] {
    pango_layout_line_get_pixel_extents(pango_layout_get_line_readonly(layout, 0), &ink, &logical);
  };
  measure();
  if (logical.width > widest_) {
    pango_layout_set_width(layout, widest_ * PANGO_SCALE);
    measure();
  }
  // Marks that are put on each other can be as high as there are bytes.
  const cv::Rect limit(-height_, -3 * height_, logical.width + 2 * height_, 5 * height_);
  ink_ = {};
  if (ink.width > 0 && ink.height > 0)
    ink_ = limit & cv::Rect(ink.x - kMargin, ink.y - kMargin, ink.width + 2 * kMargin,
                            ink.height + 2 * kMargin);
  return {.width = logical.width, .ink = ink_};
}

cv::Mat Typeface::draw() const {
  if (ink_.empty()) return {};
  const int stride = cairo_format_stride_for_width(CAIRO_FORMAT_A8, ink_.width);
  cv::Mat rows = cv::Mat::zeros(ink_.height, stride, CV_8U);
  cairo_surface_t* surface = cairo_image_surface_create_for_data(rows.ptr(), CAIRO_FORMAT_A8,
                                                                 ink_.width, ink_.height, stride);
  cairo_t* cairo = cairo_create(surface);
  cairo_move_to(cairo, -ink_.x, -ink_.y);
  pango_cairo_show_layout_line(cairo, pango_layout_get_line_readonly(layout_.get(), 0));
  cairo_destroy(cairo);
  cairo_surface_flush(surface);
  cairo_surface_destroy(surface);
  return rows.colRange(0, ink_.width);
}

}  // namespace keepbox
