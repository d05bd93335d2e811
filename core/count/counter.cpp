// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts objects that cross lines, and follows how long they are in zones.
#include "core/count/counter.h"

#include <algorithm>
#include <cmath>

namespace keepbox {
namespace {

constexpr int64_t kSecond = 1'000'000'000;
constexpr double kFarthest = 1 << 24;  // pixels
constexpr double kSlack = 1e-3;        // pixels; above the rounding errors of distances
constexpr double kUnknown = -1;        // distance that is to be measured
constexpr size_t kMaxStates = 100 * Counter::kMaxObjects;
constexpr double kReach = 2;           // in heights: as far as a new object may be from a lost one
constexpr size_t kMaxPairs = 100'000;  // of these that are compared on a frame

bool is_place(Corner p) { return std::abs(p.x) <= kFarthest && std::abs(p.y) <= kFarthest; }

double between(Corner a, Corner b) { return std::hypot(b.x - a.x, b.y - a.y); }

/// Returns for each old shape the number of the new one at the same place; `none` for others.
template <class Shape>
std::vector<size_t> moves_of(const std::vector<Shape>& from, const std::vector<Shape>& to,
                             auto points) {
  std::vector<size_t> out;
  for (const Shape& old : from) {
    const auto found = std::ranges::find(to, old.name, &Shape::name);
    const bool same = found != to.end() && (*found).*points == old.*points;
    out.push_back(same ? static_cast<size_t>(found - to.begin()) : to.size());
  }
  return out;
}

/// Returns the totals of the new shapes, which are those of their names before.
template <class Shape, class Totals>
std::vector<Totals> moved_totals(const std::vector<Shape>& from, const std::vector<Shape>& to,
                                 const std::vector<Totals>& totals) {
  std::vector<Totals> out(to.size());
  for (size_t i = 0; i < from.size(); ++i)
    if (const auto found = std::ranges::find(to, from[i].name, &Shape::name); found != to.end())
      out[static_cast<size_t>(found - to.begin())] = totals[i];
  return out;
}

}  // namespace

size_t Counter::Hash::operator()(const CountObject& key) const {
  constexpr uint64_t kOdd = 0x9e3779b97f4a7c15;
  uint64_t mixed = (key.id ^ (key.model << 32)) * kOdd;
  mixed ^= mixed >> 29;
  return static_cast<size_t>(mixed * kOdd);
}

size_t Counter::max_objects() const {
  const size_t shapes = std::max<size_t>(1, segments_.size() + areas_.size());
  return std::min(kMaxObjects, kMaxStates / shapes);
}

// Changes of lines and zones.

/// Gives visits the new numbers of their zones. Those of other zones end.
void Counter::move_visits(const CountShapes& old, std::span<const size_t> to) {
  for (const auto& [key, slot] : slots_) {
    Object& object = objects_[slot];
    std::erase_if(object.visits, [&](Visit& visit) {
      const size_t zone = visit.zone;
      visit.zone = static_cast<uint32_t>(to[zone]);
      const bool ends = to[zone] == shapes_.zones.size();
      if (ends && visit.counted) {
        --zone_totals_[zone].now;
        visit.zone = static_cast<uint32_t>(zone);
        leave(object, visit, old.zones[zone].name);
      }
      return ends;
    });
  }
}

void Counter::set(CountShapes shapes) {
  const CountShapes old = std::exchange(shapes_, std::move(shapes));
  const auto lines = moves_of(old.lines, shapes_.lines, &CountLine::points);
  const auto zones = moves_of(old.zones, shapes_.zones, &CountZone::corners);
  move_visits(old, zones);
  line_totals_ = moved_totals(old.lines, shapes_.lines, line_totals_);
  zone_totals_ = moved_totals(old.zones, shapes_.zones, zone_totals_);
  const std::vector<Path> paths = std::exchange(paths_, {});
  const size_t count = shapes_.lines.size();
  paths_.resize(objects_.size() * count);
  for (size_t slot = 0; slot < objects_.size(); ++slot)
    for (size_t i = 0; i < lines.size(); ++i)
      if (lines[i] < count) paths_[slot * count + lines[i]] = paths[slot * lines.size() + i];
  clear_.assign(objects_.size() * (count + shapes_.zones.size()), kUnknown);
  place(frame_);
}

void Counter::place(Size frame) {
  frame_ = frame;
  segments_.clear();
  areas_.clear();
  for (const CountLine& line : shapes_.lines) segments_.push_back(placed(line, frame));
  for (const CountZone& zone : shapes_.zones) areas_.push_back(placed(zone, frame));
}

// Objects.

/// Returns the object of a point, which is new if it has not begun; nullptr if there are too many.
Counter::Object* Counter::object_of(const CountPoint& point, size_t& slot) {
  const auto [at, added] = slots_.try_emplace(point.object, 0);
  if (!added) return &objects_[slot = at->second];
  if (slots_.size() > max_objects()) {
    slots_.erase(at);
    full_ = true;
    return nullptr;
  }
  const size_t lines = segments_.size(), all = lines + areas_.size();
  if (free_.empty()) {
    free_.push_back(objects_.size());
    objects_.emplace_back();
    paths_.resize(objects_.size() * lines);
    clear_.resize(objects_.size() * all);
  }
  slot = at->second = free_.back();
  free_.pop_back();
  objects_[slot] = {};
  objects_[slot].key = point.object;
  std::fill_n(paths_.begin() + static_cast<ptrdiff_t>(slot * lines), lines, Path{});
  std::fill_n(clear_.begin() + static_cast<ptrdiff_t>(slot * all), all, kUnknown);
  return &objects_[slot];
}

void Counter::end_object(size_t slot) {
  Object& object = objects_[slot];
  for (const Visit& visit : object.visits) {
    if (!visit.counted) continue;
    --zone_totals_[visit.zone].now;
    leave(object, visit, shapes_.zones[visit.zone].name);
  }
  object.visits.clear();
  free_.push_back(slot);
}

void Counter::end() {
  for (const auto& [key, slot] : slots_) end_object(slot);
  slots_.clear();
  clock_ = {};
  frame_number_ = 0;
}

void Counter::restart() {
  end();
  line_totals_.assign(line_totals_.size(), {});
  zone_totals_.assign(zone_totals_.size(), {});
  objects_.clear(), free_.clear(), paths_.clear(), clear_.clear();
  full_ = false;
}

CountEvent& Counter::add(CountEventKind kind, const std::string& name, const Object& object,
                         int64_t time) {
  return events_.emplace_back(CountEvent{.kind = kind,
                                         .name = name,
                                         .direction = {},
                                         .object = object.key,
                                         .label = object.label,
                                         .ago = std::max<int64_t>(0, clock_.now() - time)});
}

// A frame.

/// False if objects before a frame are not those after it.
bool Counter::continues(int64_t before) const {
  const int64_t hole = clock_.now() - before;
  const int64_t frames = settings_.interval + settings_.interval / 2;
  return hole <= std::max({settings_.lost_after, kSecond, frames});
}

void Counter::see(const CountFrame& frame) {
  const int64_t before = clock_.now();
  const TimeStep step = clock_.take(frame.time, settings_.interval, settings_.lost_after);
  const bool goes_on = step != TimeStep::kRestart && continues(before) && frame.size == frame_;
  if (frame_number_++ != 0 && !goes_on) {
    for (const auto& [key, slot] : slots_) end_object(slot);
    slots_.clear();
  }
  if (frame.size != frame_) place(frame.size);
  pairs_left_ = segments_.empty() ? 0 : kMaxPairs;
  // New objects follow those that are there, which they cannot continue.
  for (const bool known : {true, false})
    for (CountPoint point : frame.points) {
      if (!is_place(point.at) || slots_.contains(point.object) != known) continue;
      point.at = inside(point.at, frame.size);
      see_point(point);
    }
  end_lost(frame);
  see_crowds();
}

void Counter::end_lost(const CountFrame& frame) {
  if (frame.all_skipped) return;
  const auto skipped = [&](uint64_t model) { return std::ranges::contains(frame.skipped, model); };
  std::erase_if(slots_, [&](const auto& each) {
    const auto [key, slot] = each;
    const int64_t gone = clock_.now() - objects_[slot].seen;
    if (gone <= settings_.lost_after || gone == 0 || skipped(key.model)) return false;
    count_uncertain(slot);
    end_object(slot);
    return true;
  });
}

/// Takes the first point of an object on the frame.
void Counter::see_point(const CountPoint& point) {
  size_t slot = 0;
  Object* object = object_of(point, slot);
  if (object == nullptr || object->frame == frame_number_) return;
  if (object->frame == 0) find_lost_before(point), object->at = point.at;
  const double band = settings_.band < 1 ? settings_.band * point.height : settings_.band;
  const double way = between(object->at, point.at);
  object->seen = clock_.now();
  object->label = point.label;
  object->followed = false;
  const size_t lines = segments_.size(), all = lines + areas_.size();
  double* clear = clear_.data() + slot * all;
  for (size_t i = 0; i < all; ++i) {
    clear[i] -= way;
    if (clear[i] > band + kSlack) continue;
    clear[i] =
        i < lines ? see_line(slot, i, point, band) : see_zone(*object, i - lines, point, band);
  }
  object->at = point.at;
  object->height = point.height;
  object->frame = frame_number_;
  see_visits(*object);
}

// Lines.

/// Follows an object to a point. @return how far it is from the line; kUnknown while a crossing is
/// within the band.
double Counter::see_line(size_t slot, size_t line, const CountPoint& point, double band) {
  const Object& object = objects_[slot];
  const LineSegment& segment = segments_[line];
  Path& path = paths_[slot * segments_.size() + line];
  const double distance = segment.distance(point.at);
  if (!path.began) {
    path.began = distance > 0;
    return distance;
  }
  const CrossingWay side = segment.side(point.at);
  if (segment.is_crossed(object.at, point.at)) {
    path.net += side == kIn ? 1 : -1;
    path.passed = clock_.now();
  }
  if (path.net == 0) return distance;
  if (distance <= band) return kUnknown;
  if ((path.net > 0) == (side == kIn)) {
    ++line_totals_[line].crossed[side];
    add(CountEventKind::kCrossed, shapes_.lines[line].name, object, path.passed).direction =
        shapes_.lines[line].directions[side];
  }
  path.net = 0;
  return distance;
}

/// Notes with the nearest object that is not on the frame that a new one may continue it.
void Counter::find_lost_before(const CountPoint& point) {
  Object* nearest = nullptr;
  double least = 0;
  for (const auto& [key, slot] : slots_) {
    if (pairs_left_-- == 0) {
      pairs_left_ = 0;
      break;
    }
    Object& lost = objects_[slot];
    const bool here = lost.frame == frame_number_ || lost.frame == 0;
    if (here || lost.followed || key.model != point.object.model) continue;
    const double way = between(lost.at, point.at);
    if (way > kReach * std::max(lost.height, point.height)) continue;
    if (nearest == nullptr || way < least) nearest = &lost, least = way;
  }
  if (nearest == nullptr) return;
  nearest->followed = true;
  nearest->successor = point.at;
}

void Counter::count_uncertain(size_t slot) {
  const Object& object = objects_[slot];
  if (!object.followed) return;
  for (size_t line = 0; line < segments_.size(); ++line) {
    const Path& path = paths_[slot * segments_.size() + line];
    const LineSegment& segment = segments_[line];
    if (!path.began || segment.has(object.successor)) continue;
    const CrossingWay side = segment.side(object.successor);
    int net = path.net;
    if (segment.is_crossed(object.at, object.successor)) net += side == kIn ? 1 : -1;
    if (net == 0 || (net > 0) != (side == kIn)) continue;
    ++line_totals_[line].uncertain[side];
    add(CountEventKind::kUncertain, shapes_.lines[line].name, object, object.seen).direction =
        shapes_.lines[line].directions[side];
  }
}

// Zones.

/// Counts a visit from its first sighting inside on.
void Counter::enter(const Object& object, Visit& visit) {
  visit.counted = true;
  ZoneTotals& totals = zone_totals_[visit.zone];
  ++totals.visits;
  ++totals.now;
  add(CountEventKind::kEntered, shapes_.zones[visit.zone].name, object, visit.since).now =
      totals.now;
}

/// Reports the end of a visit. @pre it is not among `now` any more.
void Counter::leave(const Object& object, const Visit& visit, const std::string& zone) {
  CountEvent& event = add(CountEventKind::kLeft, zone, object, visit.last);
  event.dwell = visit.last - visit.since;
  event.now = zone_totals_[visit.zone].now;
}

/// Follows an object to a point. @return how far it is from the edge; kUnknown while it is on one
/// side of the edge and counted on the other.
double Counter::see_zone(Object& object, size_t zone, const CountPoint& point, double band) {
  const ZoneArea& area = areas_[zone];
  const auto visit = std::ranges::find(object.visits, zone, &Visit::zone);
  const bool visits = visit != object.visits.end();
  const double beside = area.distance_from_bounds(point.at);
  const bool far = beside > band + kSlack;
  const double distance = far ? beside : area.distance(point.at);
  const bool inside = !far && area.contains(point.at);
  if (!visits) {
    if (!inside) return distance;
    const int64_t now = clock_.now();
    object.visits.push_back({.zone = static_cast<uint32_t>(zone), .since = now, .last = now});
    const bool begins = object.frame == 0;
    if (begins || distance > band) enter(object, object.visits.back());
    return object.visits.back().counted ? distance : kUnknown;
  }
  if (!inside && (!visit->counted || distance > band)) {
    const Visit ended = *visit;
    object.visits.erase(visit);
    if (ended.counted) --zone_totals_[zone].now, leave(object, ended, shapes_.zones[zone].name);
    return distance;
  }
  visit->inside = inside;
  if (inside) visit->last = clock_.now();
  if (inside && !visit->counted && distance > band) enter(object, *visit);
  return visit->counted == inside ? distance : kUnknown;
}

/// Brings the visits of an object up to this sighting.
void Counter::see_visits(Object& object) {
  for (Visit& visit : object.visits) {
    if (visit.inside) visit.last = clock_.now();
    if (!visit.counted) continue;
    const int64_t dwell = visit.last - visit.since;
    ZoneTotals& totals = zone_totals_[visit.zone];
    totals.sum += dwell - std::exchange(visit.summed, dwell);
    totals.longest = std::max(totals.longest, dwell);
    const CountZone& zone = shapes_.zones[visit.zone];
    const int64_t alarm = zone.dwell_alarm.value_or(settings_.dwell_alarm);
    if (alarm < 0 || dwell < alarm || std::exchange(visit.alarmed, true)) continue;
    CountEvent& event = add(CountEventKind::kDwelt, zone.name, object, clock_.now());
    event.dwell = dwell;
    event.now = totals.now;
  }
}

void Counter::see_crowds() {
  for (size_t i = 0; i < zone_totals_.size(); ++i) {
    ZoneTotals& totals = zone_totals_[i];
    const int64_t most = shapes_.zones[i].crowd_alarm.value_or(settings_.crowd_alarm);
    const bool crowded = most >= 0 && totals.now > most;
    if (crowded && !totals.crowded)
      add(CountEventKind::kCrowded, shapes_.zones[i].name, {}, clock_.now()).now = totals.now;
    totals.crowded = crowded;
  }
}

std::vector<std::vector<Presence>> Counter::present() const {
  std::vector<std::vector<Presence>> out(zone_totals_.size());
  for (const auto& [key, slot] : slots_)
    for (const Visit& visit : objects_[slot].visits)
      if (visit.counted)
        out[visit.zone].push_back({.object = key,
                                   .label = objects_[slot].label,
                                   .ago = clock_.now() - visit.since,
                                   .dwell = visit.last - visit.since,
                                   .alarmed = visit.alarmed});
  for (auto& zone : out)
    std::ranges::sort(zone, [](const Presence& a, const Presence& b) {
      return a.ago != b.ago ? a.ago > b.ago : a.object < b.object;
    });
  return out;
}

}  // namespace keepbox
