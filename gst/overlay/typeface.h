// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of captions: laid out, drawn once, and placed.
#pragma once

#include <gst/gst.h>
#include <pango/pangocairo.h>
#include <opencv2/core.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "core/base/result.h"
#include "gst/overlay/canvas.h"

namespace keepbox {

// Text of any script, laid out and drawn by Pango.

/// Pixels of a text, from the point at which it starts on the base line.
struct TextExtent {
  int width = 0;  // to where the next text starts
  cv::Rect ink;   // what is drawn on
};

/// DejaVu Sans in one size, with the host's other fonts for characters that it lacks. Shares
/// nothing with other objects of this class.
class Typeface {
 public:
  /// Texts of more bytes are cut.
  static constexpr size_t kLongest = 1024;

  /// Sets the height of capitals, and the width from which on texts end in an ellipsis. Finds the
  /// host's fonts on the first call. Returns kNoResource, then and later, if there are none.
  Status resize(double capitals, int widest);

  /// Lays out a text, right-to-left scripts included. Bytes that are not UTF-8 and control
  /// characters are replaced by U+FFFD. @pre resize()
  TextExtent lay_out(std::string_view text);
  /// Returns the coverage (8 bits) of the text that was laid out last, of the size of its ink.
  cv::Mat draw() const;

 private:
  struct Unref {
    void operator()(gpointer object) const { g_object_unref(object); }
  };

  Status open();
  void set_size(double pixels);

  std::unique_ptr<PangoLayout, Unref> layout_;
  Status opened_;
  double capital_ = 0.73;  // height of a capital in a font of one pixel
  int height_ = 1;         // of a capital
  int widest_ = 0;
  cv::Rect ink_;  // of the text that was laid out
};

// Texts that were drawn on earlier frames.

/// A text of a caption.
struct Lettering {
  std::string_view text;
  TextExtent extent;
  cv::Mat cover;       // of the ink; empty if there was no memory left for it
  uint64_t frame = 0;  // that showed it last
};

/// Lays out and draws each text once, as long as there is memory for it.
class Letters {
 public:
  /// Memory of texts, in bytes. More is in use only for texts of one frame that are not drawn.
  static constexpr size_t kMost = size_t{8} << 20;

  /// Starts a frame, for which texts that the frame before did not show may be forgotten.
  /// @param scale 1 makes capitals 21 pixels high. @param widest texts get an ellipsis there.
  /// @return kNoResource if there is no font.
  Status start(double scale, int widest);

  /// Returns a text; valid until the next start().
  const Lettering& of(std::string_view text);

  /// Writes a text on a mask (8 bits), starting at that point of the base line; clipped to the
  /// mask. Where texts overlap, the larger value remains.
  void write(cv::Mat& mask, const Lettering& lettering, cv::Point at);

  /// Returns the height of capitals in pixels.
  int capitals() const { return capitals_; }

  /// Returns the memory in use, and the number of texts.
  size_t bytes() const { return bytes_; }
  size_t count() const { return texts_.size(); }

 private:
  struct Hash : std::hash<std::string_view> {
    using is_transparent = void;
  };

  void forget();

  Typeface typeface_;
  double scale_ = 0;
  int widest_ = 0, capitals_ = 1;
  std::unordered_map<std::string, Lettering, Hash, std::equal_to<>> texts_;
  size_t bytes_ = 0;
  uint64_t frame_ = 0;
};

// Placement of captions.

enum class LabelPlacement { kApart, kAbove };
GType label_placement_type();

/// Finds places for the captions of a frame, box by box, best box first.
class CaptionPlacer {
 public:
  /// Starts a new frame.
  void start(cv::Size frame, int thickness, LabelPlacement placement);

  /// Returns a place inside the frame for the next box's caption: above the box, in it, below it or
  /// next to it. With kApart, it covers no caption placed earlier and as little as possible of
  /// their outlines; std::nullopt if there is no such place. A caption larger than the frame is
  /// cropped, an empty one takes no place. @pre the box is visible in the frame
  std::optional<cv::Rect> place(const Outline& box, cv::Size caption);

  /// Keeps a place for another caption, which captions of boxes do not cover with kApart. False if
  /// there is one already.
  bool keep(const cv::Rect& tab);

 private:
  void look_around(const cv::Rect& reach);
  bool taken(const cv::Rect& tab) const;
  double covered(const cv::Rect& tab, double limit) const;

  cv::Rect frame_;
  int thickness_ = 1;
  LabelPlacement placement_ = LabelPlacement::kApart;
  std::vector<cv::Rect> tabs_;  // of earlier boxes
  std::vector<Outline> outlines_;
  std::vector<cv::Rect> near_tabs_;  // of the box to place, as below
  std::vector<const Outline*> near_outlines_;
};

}  // namespace keepbox
