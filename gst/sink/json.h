// SPDX-License-Identifier: LGPL-2.1-or-later
// Objects of JSON text, and masks as COCO's compressed run lengths.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gst/metas/masks.h"

namespace keepbox {

/// Appends a JSON object whose members are JSON text: those of nlohmann's objects with different
/// types of numbers, or of a user, have the digits that each of them wrote.
class JsonText {
 public:
  /// @param out borrowed
  explicit JsonText(std::string& out) : out_(out) {}

  /// @param key without characters that JSON escapes
  void add(std::string_view key, std::string_view value);
  /// Adds the members of an object.
  void add_all(std::string_view object);
  void end();

 private:
  std::string& out_;
  char next_ = '{';  // before the next member
};

/// Lengths of runs without and with the object in turn, in pycocotools' text form: each length
/// except the first three is stored as the difference from the one before the last, in digits of
/// five bits, lowest first.
class RunLengths {
 public:
  /// Adds the object's next pixels, [first, last). @pre first is not below the previous last.
  void add(uint64_t first, uint64_t last);

  /// Returns the text for a picture of that many pixels, and clears the lengths.
  std::string text(uint64_t pixels);

 private:
  std::vector<uint64_t> lengths_;
  uint64_t end_ = 0;  // end of the last run
};

/// Encodes the mask in frame pixels, column by column. @pre is_mask(mask)
std::string rle_of(const MaskView& mask, const Box& place, Size frame);

/// Encodes the mask in its own pixels, column by column. @pre is_mask(mask)
std::string rle_of(const MaskView& mask);

}  // namespace keepbox
