// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts of a box in files: names of classes, and words.
#pragma once

#include <glib.h>

#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "core/formula/box.h"
#include "gst/metas/boxes.h"

namespace keepbox {

// Class names as parts of file names.

/// Gives each name a unique word that may be part of a file name. Names with the same word get -2,
/// -3 ... appended in order of appearance.
class ClassWords {
 public:
  static constexpr size_t kMaxBytes = 180;  // per word; file systems allow names of 255

  /// @param name valid UTF-8
  const std::string& of(const std::string& name);

  /// Returns warnings about words that differ from their names, one per kind.
  std::vector<Error> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  std::string unique_word(const std::string& name, const std::string& word);

  std::map<std::string, std::string> words_;  // by name
  std::set<std::string> taken_;
  bool warned_shortened_ = false, warned_duplicate_ = false;
  std::vector<Error> warnings_;
};

// Names and numbers as all formats write them.

/// Returns valid UTF-8; invalid bytes become U+FFFD.
std::string utf8(std::string_view text);

/// Returns a quark's name as valid UTF-8; empty for 0.
std::string name_of(GQuark name);

/// Returns a single word, because columns are separated by blanks. @param text is valid UTF-8.
std::string as_word(const std::string& text);

/// Returns the name of a box's model if it was set; a decoder's own name counts only with several
/// models.
inline std::string shown_model(const FrameBox& box) {
  return box.unnamed ? "" : name_of(box.model);
}

inline float width_of(const Box& b) { return b.x2 - b.x1; }
inline float height_of(const Box& b) { return b.y2 - b.y1; }

}  // namespace keepbox
