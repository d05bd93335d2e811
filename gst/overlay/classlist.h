// SPDX-License-Identifier: LGPL-2.1-or-later
// Lists of classes as users write them, for boxes of any decoder.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "gst/metas/framebox.h"

namespace keepbox {

/// A list such as "person,plates/*": classes by name or number, of any model or of one. Names need
/// not be known before boxes have them.
class ClassList {
 public:
  /// Takes another list. @return false without a change, which does nothing.
  bool set(const std::string& text);

  /// True if the list has the box's class; notes that its entry is in use.
  bool has(const FrameBox& box);

  bool empty() const { return entries_.empty(); }
  /// Returns the entries that no box had yet.
  std::vector<std::string> unused() const;

 private:
  struct Entry {
    std::string text;
    bool used = false;
  };
  std::string text_;
  std::vector<Entry> entries_;
};

}  // namespace keepbox
