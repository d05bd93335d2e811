// SPDX-License-Identifier: LGPL-2.1-or-later
// Counters: any lines, zones, points and times, also with changes in between. Totals are what
// events tell, times are never negative, and the same frames give the same events.
#include <array>
#include <map>
#include <string>
#include <vector>

#include "core/count/counter.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {
namespace {

constexpr int64_t kStep = 1'000'000'000 / 30;

/// Returns coordinates on a grid, so that many points are on lines, edges and corners.
Corner draw_corner(Input& input) {
  if (input.chance(3)) return {double{input.number()}, double{input.number()}};
  return {static_cast<double>(input.below(9)) * 10, static_cast<double>(input.below(9)) * 10};
}

CountShapes draw_shapes(Input& input) {
  CountShapes out;
  for (uint32_t left = input.below(4); left > 0; --left)
    out.lines.push_back({.name = std::string(1, static_cast<char>('a' + input.below(5))),
                         .points = {draw_corner(input), draw_corner(input)}});
  for (uint32_t left = input.below(4); left > 0; --left) {
    CountZone zone{.name = std::string(1, static_cast<char>('a' + input.below(5))), .corners = {}};
    for (uint32_t corners = input.below(7); corners > 0; --corners)
      zone.corners.push_back(draw_corner(input));
    if (input.chance(20)) zone.crowd_alarm = static_cast<int32_t>(input.below(3));
    out.zones.push_back(std::move(zone));
  }
  return out;
}

CountSettings draw_settings(Input& input) {
  return {.band = input.chance(30) ? 0.05 : input.below(15),
          .lost_after = static_cast<int64_t>(input.below(60)) * kStep,
          .interval = 1 + static_cast<int64_t>(input.below(3)) * kStep,
          .dwell_alarm = static_cast<int64_t>(input.below(9)) * kStep - 1,
          .crowd_alarm = static_cast<int32_t>(input.below(4)) - 1};
}

struct DrawnFrame {
  int64_t time = 0;
  Size size{100, 100};
  std::vector<CountPoint> points;
  std::vector<uint64_t> skipped;
  bool all_skipped = false;

  CountFrame frame() const { return {time, size, points, skipped, all_skipped}; }
};

DrawnFrame draw_frame(Input& input, int64_t time) {
  DrawnFrame out{.time = time};
  if (input.chance(2)) out.size = {50, 200};
  for (uint32_t left = input.below(7); left > 0; --left)
    out.points.push_back({.object = {input.below(2), 1 + input.below(5)},
                          .at = draw_corner(input),
                          .height = input.chance(5) ? double{input.number()} : 20});
  if (input.chance(15)) out.skipped.push_back(input.below(2));
  out.all_skipped = input.chance(5);
  return out;
}

/// Totals by the events of a name.
struct Told {
  std::array<uint64_t, 6> events{};  // by kind
};

void check_event(const CountEvent& event) {
  if (event.ago < 0 || event.dwell < 0) violated("times are not negative");
  const bool line =
      event.kind == CountEventKind::kCrossed || event.kind == CountEventKind::kUncertain;
  if (line == event.direction.empty()) violated("lines are crossed in a direction");
}

/// Checks zones whose visits were all told. @param told by their names
void check_zones(const Counter& counter, std::map<std::string, Told>& told) {
  const auto present = counter.present();
  for (size_t i = 0; i < counter.zones().size(); ++i) {
    const ZoneTotals& zone = counter.zones()[i];
    const auto& events = told["zone " + counter.shapes().zones[i].name].events;
    const uint64_t entered = events[static_cast<size_t>(CountEventKind::kEntered)];
    const uint64_t left = events[static_cast<size_t>(CountEventKind::kLeft)];
    if (zone.visits != entered) violated("each visit is told");
    if (zone.now != entered - left || present[i].size() != zone.now)
      violated("who entered and did not leave is there");
    if (zone.sum < 0 || zone.longest > zone.sum) violated("visits add up");
  }
  for (size_t i = 0; i < counter.lines().size(); ++i) {
    const auto& events = told["line " + counter.shapes().lines[i].name].events;
    const LineTotals& line = counter.lines()[i];
    if (line.crossed[kIn] + line.crossed[kOut] !=
        events[static_cast<size_t>(CountEventKind::kCrossed)])
      violated("each crossing is told");
  }
}

void note(const std::vector<CountEvent>& events, std::map<std::string, Told>& told) {
  for (const CountEvent& event : events) {
    check_event(event);
    const std::string what = event.direction.empty() ? "zone " : "line ";
    ++told[what + event.name].events[static_cast<size_t>(event.kind)];
    count("events");
  }
}

bool same(const std::vector<CountEvent>& a, const std::vector<CountEvent>& b) {
  return std::ranges::equal(a, b, [](const CountEvent& x, const CountEvent& y) {
    return x.kind == y.kind && x.name == y.name && x.object == y.object && x.ago == y.ago;
  });
}

}  // namespace

const char* const kSurface = "counts";

void set_up() {}

void run_one(Input& input) {
  const CountShapes shapes = draw_shapes(input);
  if (!check_shapes(shapes)) return count("refused");
  Counter one, again;
  for (Counter* each : {&one, &again}) each->set(shapes);
  std::map<std::string, Told> told;
  int64_t time = 0;
  for (uint32_t left = input.between(1, 40); left > 0; --left) {
    if (input.chance(10)) {
      const CountSettings settings = draw_settings(input);
      one.set(settings), again.set(settings);
    }
    time += input.chance(90) ? kStep : kStep * (static_cast<int64_t>(input.below(200)) - 60);
    const DrawnFrame frame = draw_frame(input, time);
    one.see(frame.frame()), again.see(frame.frame());
    const auto events = one.take_events();
    if (!same(events, again.take_events())) violated("the same frames give the same events");
    note(events, told);
    check_zones(one, told);
    count("frames");
  }
  one.end();
  note(one.take_events(), told);
  check_zones(one, told);
  // Other lines and zones: those of the same names keep their totals.
  if (const CountShapes others = draw_shapes(input); check_shapes(others)) one.set(others);
  one.see(draw_frame(input, time + kStep).frame());
}

}  // namespace keepbox::fuzz
