// SPDX-License-Identifier: LGPL-2.1-or-later
// Random paths, next to a reference that knows all of a path at once and computes in coordinates
// of the line and by angles.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>

#include "tests/unit/count/counted.h"

namespace keepbox::test::counting {
namespace {

constexpr int64_t kSecond = 1000 * kMs;

struct Sighting {
  int64_t time;
  Place at;  // nothing: a frame on which it was not found
};
using Way = std::vector<Sighting>;

/// Returns the parts of a way between which the object was lost.
std::vector<Way> parts_of(const Way& way, int64_t lost_after, int64_t interval) {
  std::vector<Way> out(1);
  const int64_t hole = std::max({lost_after, kSecond, interval * 3 / 2});
  int64_t before = way.front().time;
  for (const auto& [time, at] : way) {
    Way& part = out.back();
    const bool lost = !part.empty() && !at && time - part.back().time > lost_after;
    if (lost || time - before > hole) out.emplace_back();
    if (at) out.back().push_back({time, at});
    before = time;
  }
  std::erase_if(out, [](const Way& part) { return part.empty(); });
  return out;
}

/// A point in the coordinates of a line: along it from its first point, and to its left.
struct Along {
  double u, v;
};

struct Line {
  Corner a, b;
  double length() const { return std::hypot(b.x - a.x, b.y - a.y); }
  Along of(Corner p) const {
    const double c = (b.x - a.x) / length(), s = (b.y - a.y) / length();
    return {(p.x - a.x) * c + (p.y - a.y) * s, (p.x - a.x) * s - (p.y - a.y) * c};
  }
  double distance(Corner p) const {
    const auto [u, v] = of(p);
    return std::hypot(u - std::clamp(u, 0.0, length()), v);
  }
  /// Returns 1 for a crossing to the left, -1 for one to the right, else 0.
  int crossing(Corner from, Corner to) const {
    const Along p = of(from), q = of(to);
    if ((p.v > 0) == (q.v > 0)) return 0;
    const double at = p.u + (q.u - p.u) * p.v / (p.v - q.v);
    return at > 0 && at < length() ? (q.v > 0 ? 1 : -1) : 0;
  }
};

struct Crossings {
  uint64_t in = 0, out = 0;
  friend bool operator==(const Crossings&, const Crossings&) = default;
};

/// Counts between the places that are far from the line.
Crossings crossings(const Line& line, const Way& part, double band) {
  Crossings out;
  int net = 0;
  for (size_t i = 1; i < part.size(); ++i) {
    net += line.crossing(*part[i - 1].at, *part[i].at);
    if (line.distance(*part[i].at) <= band) continue;
    const bool left = line.of(*part[i].at).v > 0;
    if (net > 0 && left) ++out.in;
    if (net < 0 && !left) ++out.out;
    net = 0;
  }
  return out;
}

bool surrounds(const std::vector<Corner>& corners, Corner p) {
  double angle = 0;
  for (size_t i = 0; i < corners.size(); ++i) {
    const Corner a = corners[i], b = corners[(i + 1) % corners.size()];
    const double turn = std::atan2(b.y - p.y, b.x - p.x) - std::atan2(a.y - p.y, a.x - p.x);
    angle += std::remainder(turn, 2 * std::numbers::pi);
  }
  return std::lround(angle / (2 * std::numbers::pi)) % 2 != 0;
}

double edge_distance(const std::vector<Corner>& corners, Corner p) {
  double least = 1e9;
  for (size_t i = 0; i < corners.size(); ++i)
    least = std::min(least, Line{corners[i], corners[(i + 1) % corners.size()]}.distance(p));
  return least;
}

struct Visits {
  uint64_t count = 0;
  int64_t sum = 0, longest = 0;
  friend bool operator==(const Visits&, const Visits&) = default;
};

/// Visits are the runs in which the last place that was clear is inside.
Visits visits(const std::vector<Corner>& zone, const Way& part, double band) {
  std::vector<bool> inside, in;
  for (const auto& [time, at] : part) {
    inside.push_back(surrounds(zone, *at));
    const bool clear = in.empty() || edge_distance(zone, *at) > band;
    in.push_back(clear ? inside.back() : in.back());
  }
  Visits out;
  for (size_t i = 0; i < in.size(); ++i) {
    if (!in[i] || (i > 0 && in[i - 1])) continue;
    size_t first = i, last = i;
    while (first > 0 && inside[first - 1] && !in[first - 1]) --first;
    for (size_t k = i; k < in.size() && in[k]; ++k)
      if (inside[k]) last = k;
    const int64_t dwell = part[last].time - part[first].time;
    ++out.count;
    out.sum += dwell;
    out.longest = std::max(out.longest, dwell);
  }
  return out;
}

class Random {
 public:
  explicit Random(unsigned seed) : engine_(seed) {}
  double real(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(engine_);
  }
  int below(int n) { return std::uniform_int_distribution<int>(0, n - 1)(engine_); }
  bool chance(int percent) { return below(100) < percent; }
  Corner corner() { return {real(5, 640), real(5, 480)}; }

  /// Returns a walk with jumps, pauses, frames without the object and frames that are missing.
  Way way(int64_t interval) {
    Way out;
    Corner at = corner();
    int64_t time = 0;
    const double speed = real(0, 40);
    double heading = real(0, 6.3);
    for (int i = 0; i < 120; ++i) {
      heading += real(-0.6, 0.6);
      if (chance(3)) at = corner();
      at = {std::clamp(at.x + speed * std::cos(heading), 1.0, 690.0),
            std::clamp(at.y + speed * std::sin(heading), 1.0, 530.0)};
      time += interval;
      if (chance(2)) time += interval * below(80);
      if (chance(90)) out.push_back({time, chance(85) ? Place(at) : Place()});
    }
    if (chance(20))
      for (size_t i = 30; i < out.size() && i < 90; ++i) out[i].at = {};
    return out;
  }

 private:
  std::mt19937 engine_;
};

Counted counted_on(const Way& way, CountShapes shapes, const CountSettings& settings) {
  Counted out(std::move(shapes), settings);
  out.size = {100'000, 100'000};
  for (const auto& [time, at] : way)
    out.see(at ? std::map<uint64_t, Corner>{{1, *at}} : std::map<uint64_t, Corner>{}, time);
  return out;
}

Crossings of_counter(const Counted& counted, size_t line = 0) {
  const LineTotals& totals = counted.counter.lines()[line];
  return {totals.crossed[kIn], totals.crossed[kOut]};
}

CountSettings draw_settings(Random& random) {
  CountSettings out{.band = random.chance(20) ? 0 : random.real(1, 20),
                    .lost_after = random.below(3000) * kMs,
                    .interval = kSecond / (1 + random.below(60))};
  return out;
}

TEST(RandomPaths, CrossLinesAsInTheReference) {
  uint64_t all = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const CountSettings settings = draw_settings(random);
    const Line line{random.corner(), random.corner()};
    const Way way = random.way(settings.interval);
    Crossings wanted;
    for (const Way& part : parts_of(way, settings.lost_after, settings.interval)) {
      const auto [in, out] = crossings(line, part, settings.band);
      wanted.in += in, wanted.out += out;
    }
    const Counted counted = counted_on(
        way, {.lines = {{.name = "line", .points = {line.a, line.b}}}, .zones = {}}, settings);
    EXPECT_EQ(of_counter(counted), wanted) << seed;
    all += wanted.in + wanted.out;
  }
  EXPECT_GT(all, 3000u);
}

TEST(RandomPaths, VisitZonesAsInTheReference) {
  uint64_t all = 0;
  for (unsigned seed = 0; seed < 3000; ++seed) {
    Random random(seed);
    const CountSettings settings = draw_settings(random);
    std::vector<Corner> zone;
    for (int left = 3 + random.below(6); left > 0; --left) zone.push_back(random.corner());
    const Way way = random.way(settings.interval);
    Visits wanted;
    for (const Way& part : parts_of(way, settings.lost_after, settings.interval)) {
      const Visits more = visits(zone, part, settings.band);
      wanted = {wanted.count + more.count, wanted.sum + more.sum,
                std::max(wanted.longest, more.longest)};
    }
    const Counted counted =
        counted_on(way, {.lines = {}, .zones = {{.name = "zone", .corners = zone}}}, settings);
    const ZoneTotals& totals = counted.zone();
    EXPECT_EQ((Visits{totals.visits, totals.sum, totals.longest}), wanted) << seed;
    all += wanted.count;
  }
  EXPECT_GT(all, 3000u);
}

/// Turns and scales a picture about the origin; `mirror` exchanges left and right first.
struct Change {
  double angle, scale;
  bool mirror;
  Corner operator()(Corner p) const {
    const double x = (mirror ? -p.x : p.x) * scale, y = p.y * scale;
    constexpr double kOffset = 1e4;  // so that all coordinates stay pixels
    return {kOffset + x * std::cos(angle) - y * std::sin(angle),
            kOffset + x * std::sin(angle) + y * std::cos(angle)};
  }
};

TEST(RandomPaths, CountTheSameInATurnedPicture) {
  uint64_t all = 0;
  for (unsigned seed = 0; seed < 1000; ++seed) {
    Random random(seed);
    CountSettings settings = draw_settings(random);
    const Line line{random.corner(), random.corner()};
    std::vector<Corner> zone;
    for (int i = 0; i < 5; ++i) zone.push_back(random.corner());
    Way way = random.way(settings.interval);
    const auto shapes = [&] {
      return CountShapes{.lines = {{.name = "line", .points = {line.a, line.b}}},
                         .zones = {{.name = "zone", .corners = zone}}};
    };
    CountShapes changed = shapes();
    const Counted before = counted_on(way, shapes(), settings);
    const Change change{random.real(0, 6.3), random.real(2, 5), random.chance(50)};
    for (Corner& p : changed.lines[0].points) p = change(p);
    for (Corner& p : changed.zones[0].corners) p = change(p);
    for (Sighting& each : way)
      if (each.at) each.at = change(*each.at);
    settings.band *= settings.band < 1 ? 1 : change.scale;
    const Counted after = counted_on(way, changed, settings);
    const Crossings was = of_counter(before), is = of_counter(after);
    EXPECT_EQ(is, change.mirror ? (Crossings{was.out, was.in}) : was) << seed;
    EXPECT_EQ(after.zone().visits, before.zone().visits) << seed;
    EXPECT_EQ(after.zone().sum, before.zone().sum) << seed;
    all += was.in + was.out;
  }
  EXPECT_GT(all, 1000u);
}

/// A way along a straight line from second to second.
Corner at_time(const std::vector<Corner>& corners, double seconds) {
  const auto i = std::min(static_cast<size_t>(seconds), corners.size() - 2);
  const double t = seconds - static_cast<double>(i);
  return {corners[i].x + t * (corners[i + 1].x - corners[i].x),
          corners[i].y + t * (corners[i + 1].y - corners[i].y)};
}

/// True if up to `noise` pixels on both ends of a step cannot change whether it crosses the line.
bool is_clear(const Line& line, Corner from, Corner to, double noise) {
  const Along p = line.of(from), q = line.of(to);
  if (line.distance(from) < noise || line.distance(to) < noise) return false;
  if (std::abs(p.v - q.v) < 1e-6) return true;
  const double at = p.u + (q.u - p.u) * p.v / (p.v - q.v);
  const double steep = std::hypot(q.u - p.u, q.v - p.v) / std::abs(q.v - p.v);
  const double margin = 2 * noise * steep;
  if ((p.v > 0) == (q.v > 0) && std::min(std::abs(p.v), std::abs(q.v)) > noise) return true;
  return at < -margin || at > line.length() + margin ||
         (at > margin && at < line.length() - margin);
}

TEST(RandomPaths, CrossLinesAtAnyFrameRateAndWithNoise) {
  constexpr double kBand = 5, kNoise = 2;
  int used = 0;
  for (unsigned seed = 0; seed < 2000; ++seed) {
    Random random(seed);
    const Line line{random.corner(), random.corner()};
    std::vector<Corner> corners;
    for (int i = 0; i < 8; ++i) corners.push_back(random.corner());
    const double clearance = kBand + kNoise * std::numbers::sqrt2;
    Way exact;
    bool clear = line.length() > 100;
    for (size_t i = 0; i < corners.size(); ++i) {
      exact.push_back({static_cast<int64_t>(i + 1) * kSecond, corners[i]});
      if (i > 0) clear &= is_clear(line, corners[i - 1], corners[i], clearance);
    }
    if (!clear) continue;
    ++used;
    const Crossings truth = crossings(line, exact, 0);
    for (const int rate : {1, 2, 5, 10, 25, 30, 60}) {
      Way way;
      for (int i = 0; i <= rate * 7; ++i) {
        Corner at = at_time(corners, static_cast<double>(i) / rate);
        // Within the band, noise may cross the line; beyond it counts once.
        at.x += random.real(-kNoise, kNoise), at.y += random.real(-kNoise, kNoise);
        way.push_back({(i + rate) * kSecond / rate, at});
      }
      const Counted counted =
          counted_on(way, {.lines = {{.name = "line", .points = {line.a, line.b}}}, .zones = {}},
                     {.band = kBand, .interval = kSecond / rate});
      EXPECT_EQ(of_counter(counted), truth) << seed << " at " << rate;
    }
  }
  EXPECT_GT(used, 300);
}

}  // namespace
}  // namespace keepbox::test::counting
