// SPDX-License-Identifier: LGPL-2.1-or-later
// Compares boxes with the entries of a list.
#include "gst/overlay/classlist.h"

#include "gst/base/words.h"

namespace keepbox {
namespace {

std::string_view text_of(GQuark name) {
  const gchar* text = g_quark_to_string(name);
  return text != nullptr ? text : std::string_view();
}

bool is_class(std::string_view entry, const FrameBox& box) {
  if (entry == "*" || (box.label != 0 && entry == text_of(box.label))) return true;
  return box.class_id && entry == std::to_string(*box.class_id);
}

/// True for the class, or for MODEL/CLASS. A name may contain a slash itself.
bool is_named(std::string_view entry, const FrameBox& box) {
  if (is_class(entry, box)) return true;
  const std::string_view model = text_of(box.model);
  return !model.empty() && entry.starts_with(model) &&
         entry.substr(model.size()).starts_with('/') &&
         is_class(entry.substr(model.size() + 1), box);
}

}  // namespace

bool ClassList::set(const std::string& text) {
  if (text == text_) return false;
  text_ = text;
  entries_.clear();
  for (const std::string_view entry : split(text, ','))
    if (!entry.empty()) entries_.push_back({std::string(entry)});
  return true;
}

bool ClassList::has(const FrameBox& box) {
  bool found = false;
  for (Entry& entry : entries_) {
    if (!is_named(entry.text, box)) continue;
    entry.used = true;
    found = true;
  }
  return found;
}

std::vector<std::string> ClassList::unused() const {
  std::vector<std::string> out;
  for (const Entry& entry : entries_)
    if (!entry.used) out.push_back(entry.text);
  return out;
}

}  // namespace keepbox
