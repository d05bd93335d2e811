// SPDX-License-Identifier: LGPL-2.1-or-later
// Events that wait for caps which must precede them.
#pragma once

#include <gst/gst.h>

#include <vector>

namespace keepbox {

/// Owns sticky events in their order.
class HeldEvents {
 public:
  HeldEvents() = default;
  HeldEvents(const HeldEvents&) = delete;
  HeldEvents& operator=(const HeldEvents&) = delete;
  ~HeldEvents() { clear(); }

  /// @param event transfer full.
  void add(GstEvent* event) { events_.push_back(event); }
  /// Pushes the events, which are then no longer held.
  void push_to(GstPad* pad);
  /// Drops segments on a flush and keeps the other sticky events, as pads do.
  void drop_segments();
  void clear();

 private:
  std::vector<GstEvent*> events_;
};

}  // namespace keepbox
