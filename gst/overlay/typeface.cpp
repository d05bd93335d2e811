// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of captions: laid out, drawn once, and placed.
#include "gst/overlay/typeface.h"

#include <fontconfig/fontconfig.h>
#include <pango/pangofc-fontmap.h>
#include <opencv2/imgproc.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <numeric>

#include "gst/base/props.h"

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

namespace {

constexpr double kCapitals = 21;  // pixels at a scale of 1

size_t size_of(const cv::Mat& cover) { return cover.empty() ? 0 : cover.step * size_t(cover.rows); }

size_t size_of(const Lettering& lettering) {
  return sizeof(Lettering) + lettering.text.size() + size_of(lettering.cover);
}

/// Raises values to those of a row. A call of cv::max() takes longer than drawing a letter.
void raise(uint8_t* values, const uint8_t* to, int count) {
  for (int i = 0; i < count; ++i) values[i] = std::max(values[i], to[i]);
}

}  // namespace

Status Letters::start(double scale, int widest) {
  if (scale == scale_ && widest == widest_) {
    if (bytes_ > kMost) forget();
    ++frame_;
    return {};
  }
  texts_.clear();
  bytes_ = 0;
  KB_TRY(typeface_.resize(kCapitals * scale, widest));
  scale_ = scale;
  widest_ = widest;
  capitals_ = std::max(1, cvRound(kCapitals * scale));
  return {};
}

/// Forgets texts that the last frame did not show.
void Letters::forget() {
  std::erase_if(texts_, [&](const auto& each) {
    const bool old = each.second.frame != frame_;
    if (old) bytes_ -= size_of(each.second);
    return old;
  });
}

const Lettering& Letters::of(std::string_view text) {
  text = text.substr(0, Typeface::kLongest + 1);  // a byte more, because the typeface cuts it
  auto found = texts_.find(text);
  const bool is_new = found == texts_.end();
  if (is_new) {
    found = texts_.emplace(text, Lettering{}).first;
    Lettering& made = found->second;
    made.text = found->first;
    made.extent = typeface_.lay_out(text);
    bytes_ += size_of(made);
  }
  Lettering& out = found->second;
  out.frame = frame_;
  if (!out.extent.ink.empty() && out.cover.empty() && bytes_ < kMost) {
    if (!is_new) typeface_.lay_out(text);
    out.cover = typeface_.draw();
    bytes_ += size_of(out.cover);
  }
  return out;
}

void Letters::write(cv::Mat& mask, const Lettering& lettering, cv::Point at) {
  const cv::Rect whole = lettering.extent.ink + at;
  const cv::Rect part = whole & cv::Rect({0, 0}, mask.size());
  if (part.empty()) return;
  cv::Mat cover = lettering.cover;
  if (cover.empty()) {
    typeface_.lay_out(lettering.text);
    cover = typeface_.draw();
  }
  const cv::Point from = part.tl() - whole.tl();
  for (int row = 0; row < part.height; ++row)
    raise(mask.ptr(part.y + row, part.x), cover.ptr(from.y + row, from.x), part.width);
}

namespace {

constexpr size_t kPlaces = 18;

struct Span {
  int first, last;
};

/// The sides of a box at which captions attach.
struct AttachSides {
  Span top, bottom, left, right;
};

AttachSides attach_sides_of(const Outline& box, const cv::Rect& seen) {
  const Span across{seen.x, seen.x + seen.width}, down{seen.y, seen.y + seen.height};
  if (box.upright()) return {across, across, down, down};
  // Each side of an oriented box's extent touches the box at a corner only.
  const auto corners = box.corners(0);
  const auto [west, east] = std::ranges::minmax_element(corners, {}, &cv::Point2d::x);
  const auto [north, south] = std::ranges::minmax_element(corners, {}, &cv::Point2d::y);
  const auto point = [](double at) { return Span{cvRound(at), cvRound(at)}; };
  return {point(north->x), point(south->x), point(west->y), point(east->y)};
}

/// The places around a box, best first.
class CaptionPlaces {
 public:
  CaptionPlaces(const Outline& box, const cv::Rect& frame, cv::Size caption)
      : frame_(frame), size_(caption), oriented_(!box.upright()) {
    const cv::Rect seen = box.extent & frame;
    const int high = seen.y, low = seen.y + seen.height;
    const auto [top, bottom, left, right] = attach_sides_of(box, seen);
    // A caption that fills its box would hide the object.
    const bool roomy = !oriented_ && size_.width <= seen.width && 2 * size_.height <= seen.height;
    // If a few pixels are missing, it overlaps the box slightly instead of moving elsewhere.
    const auto nudged = [&](int y) {
      const int inside = std::clamp(y, 0, frame_.height - size_.height);
      return !roomy && 2 * std::abs(inside - y) <= size_.height ? inside : y;
    };
    rows(top, nudged(high - size_.height));
    if (roomy) rows(top, high);
    rows(bottom, nudged(low));
    if (roomy) rows(bottom, low - size_.height);
    columns(right, seen.x + seen.width);
    columns(left, seen.x - size_.width);
    if (roomy) return;
    rows(top, high);
    rows(bottom, low - size_.height);
  }

  const cv::Rect* begin() const { return at_.data(); }
  const cv::Rect* end() const { return at_.data() + count_; }

 private:
  /// Returns positions at a side's start, end and middle, moved into the frame.
  std::array<int, 3> along(Span side, int length, int limit) const {
    std::array at{side.first, side.last - length, (side.first + side.last - length) / 2};
    if (oriented_) std::ranges::rotate(at, at.begin() + 2);
    for (int& v : at) v = std::clamp(v, 0, limit - length);
    return at;
  }
  void rows(Span side, int y) {
    for (const int x : along(side, size_.width, frame_.width)) add({x, y});
  }
  void columns(Span side, int x) {
    for (const int y : along(side, size_.height, frame_.height)) add({x, y});
  }
  void add(cv::Point corner) {
    const cv::Rect tab(corner, size_);
    if ((tab & frame_) == tab) at_[count_++] = tab;
  }

  cv::Rect frame_;
  cv::Size size_;
  bool oriented_;
  std::array<cv::Rect, kPlaces> at_;
  size_t count_ = 0;
};

/// Returns the approximate number of pixels of an outline under a tab.
double overlap(const Outline& outline, int thickness, const cv::Rect& tab) {
  double pixels = 0;
  if (outline.upright()) {
    for (const cv::Rect& edge : outline.edges(thickness)) pixels += (edge & tab).area();
    return pixels;
  }
  const auto corners = outline.corners(thickness / 2.0);
  for (size_t i = 0; i < corners.size(); ++i) {
    cv::Point a = corners[i], b = corners[(i + 1) % corners.size()];
    if (cv::clipLine(tab, a, b)) pixels += (cv::norm(b - a) + 1) * thickness;
  }
  return pixels;
}

/// Returns a rectangle with a pixel more at each side.
cv::Rect widened(const cv::Rect& r) { return {r.x - 1, r.y - 1, r.width + 2, r.height + 2}; }

}  // namespace

GType label_placement_type() {
  static const GType type = register_enum(
      "KeepboxLabelPlacement",
      {{static_cast<int>(LabelPlacement::kApart), "apart",
        "Above, in, below or next to the box, where the label covers no label and little of "
        "the outline of a better box; omitted if there is no such place"},
       {static_cast<int>(LabelPlacement::kAbove), "above",
        "Above the box if the frame has room there, even if it covers other boxes"}});
  return type;
}

void CaptionPlacer::start(cv::Size frame, int thickness, LabelPlacement placement) {
  frame_ = {{0, 0}, frame};
  thickness_ = thickness;
  placement_ = placement;
  tabs_.clear();
  outlines_.clear();
}

/// Collects the captions and outlines that any of the places may touch.
void CaptionPlacer::look_around(const cv::Rect& reach) {
  near_tabs_.clear();
  near_outlines_.clear();
  for (const cv::Rect& tab : tabs_)
    if (!(tab & reach).empty()) near_tabs_.push_back(tab);
  for (const Outline& outline : outlines_)
    if (!(outline.extent & reach).empty()) near_outlines_.push_back(&outline);
}

/// True if a caption is there, or so near that two of one colour would look like one.
bool CaptionPlacer::taken(const cv::Rect& tab) const {
  const cv::Rect near = widened(tab);
  return std::ranges::any_of(near_tabs_, [&](const cv::Rect& t) { return !(t & near).empty(); });
}

/// Returns the pixels of outlines that a tab covers; any value of at least the limit once it is
/// reached.
double CaptionPlacer::covered(const cv::Rect& tab, double limit) const {
  double pixels = 0;
  for (const Outline* outline : near_outlines_) {
    if ((outline->extent & tab).empty()) continue;
    pixels += overlap(*outline, thickness_, tab);
    if (pixels >= limit) break;
  }
  return pixels;
}

std::optional<cv::Rect> CaptionPlacer::place(const Outline& box, cv::Size caption) {
  caption = {std::min(caption.width, frame_.width), std::min(caption.height, frame_.height)};
  const CaptionPlaces places(box, frame_, caption);
  look_around(widened(std::accumulate(places.begin(), places.end(), cv::Rect(), std::bit_or<>())));
  std::optional<cv::Rect> best;
  double min_pixels = std::numeric_limits<double>::infinity();
  for (const cv::Rect& tab : places) {
    if (tab.empty() || taken(tab)) continue;
    const double pixels = covered(tab, min_pixels);
    if (pixels < min_pixels) best = tab, min_pixels = pixels;
    if (min_pixels == 0) break;
  }
  if (placement_ == LabelPlacement::kAbove) return best;  // captions may overlap
  if (best) tabs_.push_back(*best);
  outlines_.push_back(box);
  return best;
}

bool CaptionPlacer::keep(const cv::Rect& tab) {
  look_around(widened(tab));
  if (taken(tab)) return false;
  tabs_.push_back(tab);
  return true;
}

}  // namespace keepbox
