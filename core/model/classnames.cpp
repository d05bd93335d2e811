// SPDX-License-Identifier: LGPL-2.1-or-later
// Names of classes from files and models, and COCO's.
#include "core/model/classnames.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "core/formula/box.h"
#include "core/model/coco/coco80.h"

namespace keepbox {
namespace {

constexpr size_t kMaxLabelsBytes = size_t{1} << 24;
constexpr const char* kLabelsHint =
    "set label-file= to a UTF-8 text file with one class name per line";

/// A line such as "2  car".
struct NumberedName {
  uint32_t number = 0;
  std::string_view name;
  bool wide = false;  // two blanks or a tab are between them
};

std::optional<NumberedName> numbered_name(std::string_view line) {
  NumberedName out;
  const size_t end = line.find_first_of(" \t");
  if (end == line.npos || !parse(line.substr(0, end), out.number)) return std::nullopt;
  out.name = trimmed(line.substr(end));
  out.wide = line[end] == '\t' || line[end + 1] == ' ' || line[end + 1] == '\t';
  return out;
}

/// Returns the names by their numbers; nothing if not all lines are numbered.
std::optional<std::vector<std::string>> numbered_names(std::span<const std::string_view> lines) {
  std::vector<std::string> out;
  bool wide = true, from_zero = false;
  for (const std::string_view line : lines) {
    if (line.empty()) continue;
    const auto each = numbered_name(line);
    if (!each || each->number < out.size() || each->number >= kMaxLabels) return std::nullopt;
    from_zero |= each->number == 0;
    wide &= each->wide;
    out.resize(each->number);
    out.emplace_back(each->name);
  }
  if (!wide && !from_zero) return std::nullopt;
  return out;
}

}  // namespace

ClassNames::ClassNames(std::vector<std::string> names)
    : names_(std::move(names)), coco_(are_coco_classes(names_)) {}

Result<ClassNames> ClassNames::load(const char* path) {
  KB_ASSIGN(const auto file, read_text(path, kMaxLabelsBytes, kLabelsHint));
  std::string_view text(file);
  if (!is_utf8(text))
    return file_error("The label file " + std::string(path) + " is not UTF-8 text", kLabelsHint);
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (text.empty())
    return file_error("The label file " + std::string(path) + " is empty", kLabelsHint);
  const auto lines = static_cast<size_t>(std::ranges::count(text, '\n')) + 1;
  if (lines > kMaxLabels)
    return file_error(std::string("The label file ") + path + " has " + std::to_string(lines) +
                          " lines: the maximum is " + std::to_string(kMaxLabels),
                      kLabelsHint);
  const auto names = split(text, '\n');
  if (auto numbered = numbered_names(names)) return ClassNames(*std::move(numbered));
  return ClassNames(std::vector<std::string>(names.begin(), names.end()));
}

ClassNames ClassNames::unknown_names() {
  ClassNames labels;
  labels.unknown_names_ = true;
  return labels;
}

Result<std::vector<uint32_t>> ClassNames::classes_called(std::string_view text,
                                                         const char* property) const {
  std::vector<uint32_t> found;
  for (uint32_t i = 0; i < size(); ++i)
    if (!text.empty() && names_[i] == text) found.push_back(i);
  if (!found.empty()) return found;
  uint32_t id = 0;
  if ((parse(text, id) && id < kMaxClasses) || unknown_names_) return std::vector{id};
  const std::string what = std::string(property) + " names \"" + std::string(text) + "\", ";
  if (names_.empty())
    return reject(
        ErrorKind::kInvalid, what + "but there is no label file, and the model has no names",
        std::string("set ") + property + "= to class numbers, or set label-file= to use names");
  return reject(ErrorKind::kInvalid,
                what + "which is neither a class nor a number below " + std::to_string(kMaxClasses),
                set_or_ask(nearest(text)) + property + "= to names or numbers of classes");
}

ClassChoice class_choice(std::string_view text) {
  ClassChoice out;
  if (trimmed(text).empty()) return out;
  for (const std::string_view part : split(text, ','))
    if (part.starts_with('!')) out.dropped.push_back(trimmed(part.substr(1)));
    else out.kept.push_back(part);
  return out;
}

std::string_view ClassNames::nearest(std::string_view text) const {
  NearestName nearest(text);
  for (const std::string& name : names_) nearest.consider(name);
  return nearest.found();
}

Result<std::vector<uint32_t>> ClassNames::classes_of(std::string_view text,
                                                     const char* property) const {
  std::vector<uint32_t> classes;
  if (trimmed(text).empty()) return classes;
  for (const std::string_view part : split(text, ',')) {
    KB_ASSIGN(const auto called, classes_called(part, property));
    classes.insert(classes.end(), called.begin(), called.end());
  }
  return classes;
}

Result<std::vector<std::pair<uint32_t, float>>> ClassNames::thresholds_of(
    std::string_view text, const char* property) const {
  std::vector<std::pair<uint32_t, float>> thresholds;
  if (trimmed(text).empty()) return thresholds;
  for (const std::string_view part : split(text, ',')) {
    const size_t colon = part.rfind(':');
    float threshold = 0;
    const auto called = classes_called(trimmed(part.substr(0, colon)), property);
    if (colon == part.npos || !parse_finite(trimmed(part.substr(colon + 1)), threshold))
      return reject(ErrorKind::kInvalid,
                    std::string(property) + " has \"" + std::string(part) +
                        "\", which is not CLASS:THRESHOLD",
                    std::string("set ") + property + "= to a value such as person:0.5,2:0.3");
    KB_TRY(called);
    for (const uint32_t id : *called) thresholds.emplace_back(id, threshold);
  }
  return thresholds;
}

namespace {

std::vector<CocoClass> parse_table() {
  std::vector<CocoClass> out;
  for (const std::string_view line : lines_of(kCoco80)) {
    CocoClass& each = out.emplace_back();
    const size_t blank = line.find(' ');
    parse(line.substr(0, blank), each.id);
    each.name = trimmed(line.substr(blank));
  }
  return out;
}

/// Returns a name in lower case without blanks, hyphens and underscores.
std::string plain(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (c != ' ' && c != '_' && c != '-')
      out += 'A' <= c && c <= 'Z' ? static_cast<char>(c | 0x20) : c;
  return out;
}

/// Returns COCO's name for classes that darknet, and projects that use its list, call differently.
std::string coco_name(std::string_view label) {
  using Names = std::pair<std::string_view, std::string_view>;
  static constexpr Names kOthers[] = {{"motorbike", "motorcycle"},
                                      {"aeroplane", "airplane"},
                                      {"sofa", "couch"},
                                      {"tvmonitor", "tv"},
                                      {"hairdryer", "hairdrier"}};
  const std::string name = plain(label);
  const auto* found = std::ranges::find(kOthers, name, &Names::first);
  return found == std::end(kOthers) ? name : std::string(found->second);
}

}  // namespace

std::span<const CocoClass> coco_classes() {
  static const std::vector<CocoClass> table = parse_table();
  return table;
}

std::optional<size_t> coco_class_called(std::string_view name) {
  const auto table = coco_classes();
  const auto found = std::ranges::find(table, coco_name(name),
                                       [](const CocoClass& each) { return plain(each.name); });
  if (found == table.end()) return std::nullopt;
  return static_cast<size_t>(found - table.begin());
}

bool are_coco_classes(std::span<const std::string> names) {
  const size_t count = coco_classes().size();
  if (names.size() < count) return false;
  size_t same = 0;
  for (size_t i = 0; i < count; ++i) same += coco_class_called(names[i]) == i;
  return same >= count / 2;
}

}  // namespace keepbox
