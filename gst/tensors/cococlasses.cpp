// SPDX-License-Identifier: LGPL-2.1-or-later
// COCO's table, and other spellings of its names.
#include "gst/tensors/cococlasses.h"

#include <glib.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "gst/base/words.h"
#include "gst/tensors/coco/coco80.h"

namespace keepbox {
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
    if (c != ' ' && c != '_' && c != '-') out += g_ascii_tolower(c);
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
