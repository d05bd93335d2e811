// SPDX-License-Identifier: LGPL-2.1-or-later
// Maps a box's class to a COCO category id.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/metas/framebox.h"

namespace keepbox {

/// A line of a file of COCO ids: a number, and an optional name.
struct CocoId {
  int64_t id = 0;
  std::string name;
};

/// Reads one id per line. @param property that named the file, for errors.
Result<std::vector<CocoId>> load_coco_ids(const char* path, const char* property);

/// Reads one word per line. @param property that named the file, for errors.
Result<std::vector<std::string>> load_names(const char* path, const char* property);

/// Messages about the numbers, each reported once.
struct CategoryMessages {
  std::vector<std::string> chosen;  // the numbering chosen for a model
  std::vector<std::string> odd;     // unexpected numbers
  std::vector<Error> wrong;         // numbers that are useless for an evaluation
};

/// Gives each class of each model a unique number that stays the same. Without a list from the
/// user, a model is taken for a COCO model if its first box has one of the 80 names (darknet's
/// spellings included) and, if the class is known, the matching row. Its classes then have COCO's
/// own numbers, 1 to 90. Other models use the class number, or 1, 2 ... if only labels are known. A
/// number that is already used, or that COCO may need, is raised by thousands.
class CategoryIds {
 public:
  /// @param given the user's list, which then is the only source: line N for class N, or the line
  ///        with the label; empty for none.
  explicit CategoryIds(std::vector<CocoId> given = {});

  /// Fails if the given list has no entry for the box.
  Result<int64_t> of(const FrameBox& box);

  /// Returns the news since the last call.
  CategoryMessages take_messages() { return std::exchange(messages_, {}); }

 private:
  enum class Numbering { kUnknown, kCoco, kOwn };
  using Class = std::tuple<GQuark, std::optional<uint32_t>, GQuark>;  // model, class, label

  Result<int64_t> given_id(const FrameBox& box);
  Numbering& settle(const FrameBox& box, bool fits);
  int64_t number_of(const FrameBox& box, std::optional<size_t> row);
  bool is_free(int64_t id, std::optional<size_t> row) const;

  std::vector<CocoId> given_, coco_;
  std::map<GQuark, Numbering> models_;
  std::optional<GQuark> first_model_;
  std::map<Class, int64_t> known_;
  std::map<int64_t, std::optional<size_t>> taken_;  // with the row of COCO that it is for
  bool coco_chosen_ = false;
  int64_t labels_ = 0;  // numbered so far
  CategoryMessages messages_;
};

}  // namespace keepbox
