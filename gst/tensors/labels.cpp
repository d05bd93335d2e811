// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads label files and lists of classes.
#include "gst/tensors/labels.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/formula/box.h"
#include "gst/base/error.h"
#include "gst/base/plainfile.h"
#include "gst/base/words.h"

namespace keepbox {
namespace {

constexpr size_t kMaxLabelsBytes = size_t{1} << 24;
constexpr const char* kLabelsHint =
    "set label-file= to a UTF-8 text file with one class name per line";

/// Returns the case-insensitive edit distance of two texts, in which two swapped neighbours are one
/// edit (optimal string alignment), or more than `max_edits` if their lengths differ by more.
size_t edits(std::string_view a, std::string_view b, size_t max_edits) {
  if (std::max(a.size(), b.size()) - std::min(a.size(), b.size()) > max_edits) return max_edits + 1;
  const size_t columns = b.size() + 1;
  std::vector<size_t> table((a.size() + 1) * columns);
  const auto at = [&](size_t i, size_t j) -> size_t& { return table[i * columns + j]; };
  const auto same = [&](size_t i, size_t j) {
    return g_ascii_tolower(a[i - 1]) == g_ascii_tolower(b[j - 1]);
  };
  for (size_t i = 0; i <= a.size(); ++i) at(i, 0) = i;
  for (size_t j = 0; j <= b.size(); ++j) at(0, j) = j;
  for (size_t i = 1; i <= a.size(); ++i)
    for (size_t j = 1; j <= b.size(); ++j) {
      at(i, j) = std::min({at(i - 1, j) + 1, at(i, j - 1) + 1, at(i - 1, j - 1) + !same(i, j)});
      if (i > 1 && j > 1 && same(i, j - 1) && same(i - 1, j))
        at(i, j) = std::min(at(i, j), at(i - 2, j - 2) + 1);
    }
  return at(a.size(), b.size());
}

}  // namespace

Result<Labels> Labels::load(const char* path) {
  KB_ASSIGN(const auto file, read_text(path, kMaxLabelsBytes, kLabelsHint));
  std::string_view text(file);
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);
  if (!g_utf8_validate(text.data(), static_cast<gssize>(text.size()), nullptr))
    return file_error("The label file " + std::string(path) + " is not UTF-8 text", kLabelsHint);
  text = text.substr(0, text.find_last_not_of(" \t\r\n") + 1);
  if (text.empty())
    return file_error("The label file " + std::string(path) + " is empty", kLabelsHint);
  const auto lines = static_cast<size_t>(std::ranges::count(text, '\n')) + 1;
  if (lines > kMaxLabels)
    return file_error(std::string("The label file ") + path + " has " + std::to_string(lines) +
                          " lines: the maximum is " + std::to_string(kMaxLabels),
                      kLabelsHint);
  Labels labels;
  for (const std::string_view line : split(text, '\n')) labels.names_.emplace_back(line);
  return labels;
}

Labels Labels::unknown_names() {
  Labels labels;
  labels.unknown_names_ = true;
  return labels;
}

GQuark Labels::quark(uint32_t class_id) const {
  if (class_id >= quarks_.size()) quarks_.resize(std::max<size_t>(class_id + 1, names_.size()));
  GQuark& quark = quarks_[class_id];
  if (quark == 0) {
    const bool named = class_id < names_.size() && !names_[class_id].empty();
    quark = g_quark_from_string(
        (named ? names_[class_id] : "class-" + std::to_string(class_id)).c_str());
  }
  return quark;
}

Result<uint32_t> Labels::class_of(std::string_view text, const char* property) const {
  const auto found = std::ranges::find(names_, text);
  if (found != names_.end()) return static_cast<uint32_t>(found - names_.begin());
  uint32_t id = 0;
  if (parse(text, id) && id < kMaxClasses) return id;
  if (unknown_names_) return 0;
  const std::string what = std::string(property) + " names \"" + std::string(text) + "\", ";
  if (names_.empty())
    return reject(
        ErrorKind::kInvalid, what + "but there is no label file, and the model has no names",
        std::string("set ") + property + "= to class numbers, or set label-file= to use names");
  const std::string* meant = nearest(text);
  return reject(ErrorKind::kInvalid,
                what + "which is neither a class nor a number below " + std::to_string(kMaxClasses),
                (meant != nullptr ? "did you mean " + *meant + "? Set " : std::string("set ")) +
                    property + "= to names or numbers of classes");
}

const std::string* Labels::nearest(std::string_view text) const {
  const std::string* best = nullptr;
  size_t max_edits = text.size() / 3;
  for (const std::string& name : names_) {
    const size_t away = edits(text, name, max_edits);
    if (name.empty() || away > max_edits || (best != nullptr && away == max_edits)) continue;
    best = &name;
    max_edits = away;
  }
  return best;
}

Result<std::vector<uint32_t>> Labels::classes_of(std::string_view text,
                                                 const char* property) const {
  std::vector<uint32_t> classes;
  if (trimmed(text).empty()) return classes;
  for (const std::string_view part : split(text, ',')) {
    KB_ASSIGN(const auto id, class_of(part, property));
    classes.push_back(id);
  }
  return classes;
}

Result<std::vector<std::pair<uint32_t, float>>> Labels::thresholds_of(std::string_view text,
                                                                      const char* property) const {
  std::vector<std::pair<uint32_t, float>> thresholds;
  if (trimmed(text).empty()) return thresholds;
  for (const std::string_view part : split(text, ',')) {
    const size_t colon = part.rfind(':');
    float threshold = 0;
    auto id = class_of(trimmed(part.substr(0, colon)), property);
    if (colon == part.npos || !parse_finite(trimmed(part.substr(colon + 1)), threshold))
      return reject(ErrorKind::kInvalid,
                    std::string(property) + " has \"" + std::string(part) +
                        "\", which is not CLASS:THRESHOLD",
                    std::string("set ") + property + "= to a value such as person:0.5,2:0.3");
    KB_TRY(id);
    thresholds.emplace_back(*id, threshold);
  }
  return thresholds;
}

}  // namespace keepbox
