// SPDX-License-Identifier: LGPL-2.1-or-later
// Threads that somebody lends, for work that falls into parts.
#pragma once

#include <cstdint>

namespace keepbox {

class Crew {
 public:
  virtual ~Crew() = default;

  /// Threads that work at once, the caller's among them; at least 1.
  virtual uint32_t size() const = 0;

  /// Calls part(context, i) for i = 0 .. parts - 1, each once, on any thread and in any order, and
  /// returns when all have returned. Never fails: the caller's thread does what no other takes.
  /// @pre parts <= size(). For one thread at a time.
  virtual void run(uint32_t parts, void (*part)(void* context, uint32_t i), void* context) = 0;
};

inline constexpr uint32_t kMaxCrew = 64;

}  // namespace keepbox
