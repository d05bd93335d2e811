// SPDX-License-Identifier: LGPL-2.1-or-later
// A counter that is fed with the paths of objects.
#pragma once

#include <cstdint>
#include <format>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/count/counter.h"

namespace keepbox::test::counting {

inline constexpr int64_t kMs = 1'000'000;

/// A point of an object with an id; nothing where it was not found.
using Place = std::optional<Corner>;

/// Returns places below each other.
inline std::vector<Place> down(const std::vector<double>& ys, double x = 320) {
  std::vector<Place> out;
  for (const double y : ys) out.push_back(y < 0 ? Place() : Corner{x, y});
  return out;
}

/// A counter with frames of 1280x960 at 25 per second, and boxes of 40x80.
struct Counted {
  explicit Counted(CountShapes shapes, const CountSettings& settings = {.interval = 40 * kMs})
      : step(settings.interval) {
    counter.set(settings);
    counter.set(std::move(shapes));
  }
  static Counted at_line(Corner a, Corner b, double band) {
    return Counted({.lines = {{.name = "gate", .points = {a, b}}}, .zones = {}},
                   {.band = band, .interval = 40 * kMs});
  }
  static Counted in_zone(std::vector<Corner> corners, const CountSettings& settings) {
    return Counted({.lines = {}, .zones = {{.name = "queue", .corners = std::move(corners)}}},
                   settings);
  }

  void see(const std::map<uint64_t, Corner>& points, std::optional<int64_t> at = {}) {
    std::vector<CountPoint> list;
    for (const auto& [id, place] : points)
      list.push_back({.object = {0, id}, .at = place, .height = 80});
    time = at ? *at : time + step;
    counter.see({.time = time, .size = size, .points = list});
    note_events();
  }
  Counted& walk(const std::vector<Place>& path, uint64_t id = 1) {
    for (const Place& place : path)
      see(place ? std::map<uint64_t, Corner>{{id, *place}} : std::map<uint64_t, Corner>{});
    return *this;
  }
  /// Returns the counts of a line as "in/out".
  std::string of_line(size_t line = 0) const {
    const LineTotals& totals = counter.lines()[line];
    return std::format("{}/{}", totals.crossed[kIn], totals.crossed[kOut]);
  }
  const ZoneTotals& zone(size_t number = 0) const { return counter.zones()[number]; }

  /// Returns the events since the last call, such as "crossed gate in 1 at 80": the time in ms.
  std::vector<std::string> events() { return std::exchange(events_, {}); }

  Counter counter;
  Size size{1280, 960};
  int64_t step, time = 0;

 private:
  void note_events() {
    for (const CountEvent& event : counter.take_events()) {
      static constexpr const char* kNames[] = {"crossed", "uncertain", "entered",
                                               "left",    "dwelt",     "crowded"};
      std::string text = kNames[static_cast<int>(event.kind)] + (' ' + event.name);
      if (!event.direction.empty()) text += ' ' + event.direction;
      if (event.object.id != 0) text += std::format(" {}", event.object.id);
      events_.push_back(text + std::format(" at {}", (time - event.ago) / kMs));
    }
  }
  std::vector<std::string> events_;
};

}  // namespace keepbox::test::counting
