// SPDX-License-Identifier: LGPL-2.1-or-later
// Class names as parts of file names.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

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

}  // namespace keepbox
