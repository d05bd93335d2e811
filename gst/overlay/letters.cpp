// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps texts by their bytes. A label takes Pango 20 to 80 us, and captions of most frames consist
// of the same classes, ids and scores.
#include "gst/overlay/letters.h"

#include <algorithm>

namespace keepbox {
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

}  // namespace keepbox
