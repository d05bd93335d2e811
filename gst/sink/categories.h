// SPDX-License-Identifier: LGPL-2.1-or-later
// Which number of COCO stands for a box's class.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "core/result.h"
#include "gst/metas/analytics.h"

namespace keepbox {

/// One line of a file of COCO ids: a number, and the name after it if there is one.
struct CocoId {
  int64_t id = 0;
  std::string name;
};

/// Reads one id a line. @param property that named the file, for the error.
Result<std::vector<CocoId>> load_coco_ids(const char* path, const char* property);

/// Reads one word a line. @param property that named the file, for the error.
Result<std::vector<std::string>> load_names(const char* path, const char* property);

/// What users want to know about the numbers, each once.
struct CategoryNews {
  std::vector<std::string> chosen;  // the numbering of a model
  std::vector<std::string> odd;     // numbers that nobody would guess
  std::vector<Error> wrong;         // numbers that are no good for an evaluation
};

/// Gives each class of each model a number that stays the same to the end and that no other class
/// has. Without a list of the user's, a model is COCO's when its first box has a name of the 80
/// (and its row, where the class is known); darknet's spellings count. Its classes then have
/// COCO's own numbers, 1 to 90. Others have the class, or 1, 2 ... where only labels are known. A
/// number that is another's, or may become COCO's, is raised by thousands.
class CategoryIds {
 public:
  /// @param given is the user's list, which then is all that counts: line N for class N, or the
  ///        line that has the label; empty for none.
  explicit CategoryIds(std::vector<CocoId> given = {});

  /// Fails for what the given list lacks.
  Result<int64_t> of(const FrameBox& box);

  /// What is new since the last call.
  CategoryNews take_news() { return std::exchange(news_, {}); }

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
  std::map<int64_t, std::optional<size_t>> taken_;  // with the row of COCO that it stands for
  bool coco_chosen_ = false;
  int64_t labels_ = 0;  // numbered so far
  CategoryNews news_;
};

}  // namespace keepbox
