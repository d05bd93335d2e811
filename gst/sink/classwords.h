// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of classes as names of files.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/result.h"

namespace keepbox {

/// Gives each name a word of its own that may be part of a file's name, the same to the end. Names
/// that come to the same word have -2, -3 ... behind it, in the order of their appearance.
class ClassWords {
 public:
  static constexpr size_t kMostBytes = 180;  // of a word: file systems take names of 255

  /// @param name valid UTF-8
  const std::string& of(const std::string& name);

  /// Warnings of words that are not as their names are, one of a kind.
  std::vector<Error> take_warnings() { return std::exchange(warnings_, {}); }

 private:
  std::string unlike_others(const std::string& name, const std::string& word);

  std::map<std::string, std::string> words_;  // by name
  std::set<std::string> taken_;
  bool told_shortened_ = false, told_alike_ = false;
  std::vector<Error> warnings_;
};

}  // namespace keepbox
