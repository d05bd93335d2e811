// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of classes from files and models, and COCO's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

/// Maximum number of classes that a file or a model names.
inline constexpr size_t kMaxLabels = size_t{1} << 16;

/// The names of a model's classes; several classes may have the same name. A label file has one
/// name per line in UTF-8, the first for class 0, or a number and a name on each line.
class ClassNames {
 public:
  /// Creates labels without names: every class is "class-N".
  ClassNames() = default;

  /// Creates labels from names in the order of classes.
  explicit ClassNames(std::vector<std::string> names);

  /// Creates labels whose names are not known yet: any name is accepted, as class 0.
  static ClassNames unknown_names();

  /// Reads a label file. Lines are numbered if all that are not empty begin with a number, which
  /// ascend, and either the first of these is 0 or two blanks or a tab follow each: "2  car" is
  /// class 2, but "2 euro" is a name. Errors name the file and the cause: missing, not a regular
  /// file, empty, not UTF-8, more than 16 MiB or kMaxLabels lines.
  static Result<ClassNames> load(const char* path);

  /// Returns all classes of that name, or else the class of that number, or kInvalid.
  /// @param property for the error's hint
  Result<std::vector<uint32_t>> classes_called(std::string_view text, const char* property) const;

  /// Parses "person,2,car" to class ids.
  Result<std::vector<uint32_t>> classes_of(std::string_view text, const char* property) const;

  /// Parses "person:0.5,2:0.3" to class ids with thresholds.
  Result<std::vector<std::pair<uint32_t, float>>> thresholds_of(std::string_view text,
                                                                const char* property) const;

  /// Returns the name that a text is most like, for suggestions; empty if none is near.
  std::string_view nearest(std::string_view text) const;

  uint32_t size() const { return static_cast<uint32_t>(names_.size()); }
  const std::vector<std::string>& names() const { return names_; }
  /// True if the classes are COCO's; see are_coco_classes().
  bool are_of_coco() const { return coco_; }

 private:
  std::vector<std::string> names_;
  bool coco_ = false;
  bool unknown_names_ = false;
};

/// The words of a list such as "car,2", or "!dog": classes that are kept, and those with ! before
/// them, which are dropped. Without any of the first, all others are kept.
struct ClassChoice {
  std::vector<std::string_view> kept, dropped;
};

/// Splits a list of classes; the words are parts of the text.
ClassChoice class_choice(std::string_view text);

// The classes of the COCO data set.

/// A class by its number in the data set, 1 to 90 with gaps.
struct CocoClass {
  int64_t id = 0;
  std::string name;
};

/// Returns the 80 classes in the order in which models number them.
std::span<const CocoClass> coco_classes();

/// Returns the index of a class by its name: as COCO or darknet spells it, in lower or upper case,
/// with or without blanks, hyphens and underscores.
std::optional<size_t> coco_class_called(std::string_view name);

/// True if a model's first 80 classes are COCO's. Up to half of the names may differ, as if they
/// are misspelt or of another language.
bool are_coco_classes(std::span<const std::string> names);

}  // namespace keepbox
