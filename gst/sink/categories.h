// SPDX-License-Identifier: LGPL-2.1-or-later
// Numbers of categories, images and objects in files.
#pragma once

#include <gst/gst.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/metas/boxes.h"

namespace keepbox {

// Maps a box's class to a COCO category id.

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
/// user, classes of a model with COCO's classes (FrameBox::coco) have COCO's own numbers, 1 to 90,
/// and those of other models the class number. If only labels are known, those that are names of
/// COCO's classes have COCO's numbers, and others 1001, 1002 ... in order of appearance. A number
/// that is already used, or that COCO may need, is raised by thousands.
class CategoryIds {
 public:
  /// @param given the user's list, which then is the only source: line N for class N, or the line
  ///        with the label; empty for none.
  explicit CategoryIds(std::vector<CocoId> given = {}) : given_(std::move(given)) {}

  /// Fails if the given list has no entry for the box.
  Result<int64_t> of(const FrameBox& box);

  /// Returns the news since the last call.
  CategoryMessages take_messages() { return std::exchange(messages_, {}); }

 private:
  /// Labels of a model's boxes without class numbers.
  struct LabelsSeen {
    bool coco = false;  // one of COCO's classes
    std::string other;  // another one
    bool reported = false;
  };
  using Class = std::tuple<GQuark, std::optional<uint32_t>, GQuark>;  // model, class, label

  Result<int64_t> given_id(const FrameBox& box);
  void report(const FrameBox& box, bool coco);
  int64_t number_of(const FrameBox& box, std::optional<size_t> row);
  bool is_free(int64_t id, std::optional<size_t> row) const;

  std::vector<CocoId> given_;
  std::map<GQuark, LabelsSeen> models_;
  std::optional<GQuark> first_model_;
  std::map<Class, int64_t> known_;
  std::map<int64_t, std::optional<size_t>> taken_;  // with the row of COCO that it is for
  bool coco_chosen_ = false;
  int64_t labels_ = 0;  // numbered so far
  CategoryMessages messages_;
};

// The numbers of objects in MOTChallenge files, which have no column for the model.

/// Gives the objects of a stream different numbers: their ids, as long as these differ. Ids of a
/// model that has those of another one, as from a tracker of its own, are raised by kStep or a
/// multiple of it. Trackers are expected to count upwards.
class MotIds {
 public:
  static constexpr guint64 kStep = 1'000'000;

  /// Begins the next frame.
  void start_frame();
  /// Returns the number of an object on the frame.
  guint64 of(const ObjectKey& object);
  /// Returns a warning that ids were raised, once per model.
  std::optional<Error> take_warning() { return std::exchange(warning_, std::nullopt); }

 private:
  struct Model {
    GQuark name = 0;
    std::optional<guint64> newest{}, newest_before{};  // highest id so far, and before this frame
    std::optional<guint64> raised_from{};              // ids from there on are raised
    guint64 raise = 0;
  };
  Model& model_of(GQuark name);
  bool is_of_another(const Model& model, guint64 id) const;
  void raise(Model& model, guint64 from);

  std::vector<Model> models_;                // in order of appearance
  std::map<guint64, GQuark> on_this_frame_;  // models of ids
  guint64 raised_ = 0;                       // number of models
  std::optional<Error> warning_;
};

}  // namespace keepbox
