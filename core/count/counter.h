// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts objects that cross lines, and follows how long they are in zones.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/count/shapes.h"
#include "core/formula/box.h"
#include "core/formula/letterbox.h"
#include "core/track/streamclock.h"

namespace keepbox {

// Input: points of objects, frame by frame.

struct CountSettings {
  double band = 0.05;                     // pixels; below 1 a share of the height of the box
  int64_t lost_after = 2'000'000'000;     // ns
  int64_t interval = 1'000'000'000 / 30;  // ns; usual interval of the stream's frames
  int64_t dwell_alarm = -1;               // ns in a zone; -1: none
  int32_t crowd_alarm = -1;  // number of objects above which a zone is crowded; -1: none
};

/// An object: an id of a model's tracker.
struct CountObject {
  uint64_t model = 0, id = 0;
  friend auto operator<=>(const CountObject&, const CountObject&) = default;
};

/// An object that its model found on a frame.
struct CountPoint {
  CountObject object;
  Corner at;
  double height = 0;   // of its box
  uint32_t label = 0;  // its class, for events
};

struct CountFrame {
  int64_t time = 0;  // ns
  Size size;
  std::span<const CountPoint> points{};
  std::span<const uint64_t> skipped{};  // models that did not look at the frame
  bool all_skipped = false;             // no model looked
};

// Output: events and totals.

enum class CountEventKind : uint8_t {
  kCrossed,    // an object crossed a line
  kUncertain,  // a new object began beyond a line before which another one was lost
  kEntered,    // a visit of a zone began
  kLeft,       // it ended
  kDwelt,      // it has lasted for dwell-alarm
  kCrowded,    // there are more objects in a zone than crowd-alarm; of no object
};

struct CountEvent {
  CountEventKind kind;
  std::string name;       // of the line or zone
  std::string direction;  // of kCrossed and kUncertain: its name
  CountObject object{};
  uint32_t label = 0;
  int64_t ago = 0;    // ns between what it tells and the last frame
  int64_t dwell = 0;  // ns of the visit so far
  uint32_t now = 0;   // number of objects in the zone after it
};

struct LineTotals {
  uint64_t crossed[2]{}, uncertain[2]{};  // by CrossingWay
};

struct ZoneTotals {
  uint64_t visits = 0;  // with those of present objects
  int64_t sum = 0;      // ns of all visits
  int64_t longest = 0;  // ns
  uint32_t now = 0;
  bool crowded = false;  // now is above crowd-alarm

  /// Returns the mean time of a visit so far in ns.
  int64_t mean() const { return visits == 0 ? 0 : sum / static_cast<int64_t>(visits); }
};

/// A visit of an object that is in a zone.
struct Presence {
  CountObject object;
  uint32_t label = 0;
  int64_t ago = 0;       // ns since it began
  int64_t dwell = 0;     // ns from its first sighting in the zone to the last
  bool alarmed = false;  // dwell reached dwell-alarm
};

/// Counts crossings of lines by the paths of objects, and visits of zones by time.
///
/// A path is straight between two sightings, however far apart. A crossing counts when the object
/// is more than the band beyond the line. One that begins on a line did not cross it. A visit
/// begins and ends when the object is more than the band inside and outside of the zone, and lasts
/// from its first sighting inside to the last. An object that begins inside of a zone visits it.
/// Points beyond the border of the frame are on it, as those of objects that are cut off.
///
/// Objects end after lost_after without a sighting, on a frame that their model looked at; all of
/// them if there is no frame for that time (at least a second, and one and a half intervals), or if
/// time goes back by more than StreamClock bridges. Memory is bounded.
class Counter {
 public:
  /// The maximum number of objects at a time; it is lower for more than 100 lines and zones.
  static constexpr size_t kMaxObjects = 65'536;

  /// Takes lines and zones. Those of a name that was there keep their totals; if they are also at
  /// the same place, paths and visits go on. @pre check_shapes().
  void set(CountShapes shapes);
  void set(const CountSettings& settings) { settings_ = settings; }

  /// Follows objects to a frame.
  void see(const CountFrame& frame);

  /// Ends all objects: visits end, and paths begin again.
  void end();
  /// Begins another stream: end(), and all totals are 0.
  void restart();

  /// Returns the events since the last call, in the order in which they became known.
  std::vector<CountEvent> take_events() { return std::exchange(events_, {}); }

  const CountShapes& shapes() const { return shapes_; }
  std::span<const LineSegment> segments() const { return segments_; }
  std::span<const ZoneArea> areas() const { return areas_; }
  std::span<const LineTotals> lines() const { return line_totals_; }
  std::span<const ZoneTotals> zones() const { return zone_totals_; }
  /// Returns the present objects of each zone, in the order of their entries.
  std::vector<std::vector<Presence>> present() const;

  size_t objects() const { return slots_.size(); }
  /// True if an object was not counted because there were too many.
  bool is_full() const { return full_; }

 private:
  struct Visit {
    uint32_t zone = 0;
    int64_t since = 0, last = 0;  // first and last sighting inside
    bool inside = true;           // at the last sighting
    bool counted = false;         // the object was far enough inside, or began inside
    bool alarmed = false;
    int64_t summed = 0;  // part of it that is in the totals
  };
  struct Path {          // of an object at a line
    int net = 0;         // crossings to the left minus those to the right, within the band
    bool began = false;  // it was not on the line once
    int64_t passed = 0;  // time of the last crossing
  };
  struct Object {
    CountObject key;
    uint32_t label = 0;
    Corner at;
    double height = 0;
    int64_t seen = 0;
    uint64_t frame = 0;     // number of the last one with it; 0: none yet
    bool followed = false;  // another object may be its continuation
    Corner successor{};     // where that one began
    std::vector<Visit> visits{};
  };
  struct Hash {
    size_t operator()(const CountObject& key) const;
  };

  // An object's slot: its paths are at slot * number of lines, its distances at slot * number of
  // lines and zones.
  Object* object_of(const CountPoint& point, size_t& slot);
  size_t max_objects() const;
  void place(Size frame);
  void move_visits(const CountShapes& old, std::span<const size_t> to);
  bool continues(int64_t before) const;

  void see_point(const CountPoint& point);
  double see_line(size_t slot, size_t line, const CountPoint& point, double band);
  double see_zone(Object& object, size_t zone, const CountPoint& point, double band);
  void see_visits(Object& object);
  void see_crowds();
  void enter(const Object& object, Visit& visit);
  void leave(const Object& object, const Visit& visit, const std::string& zone);

  void find_lost_before(const CountPoint& point);
  void count_uncertain(size_t slot);
  void end_lost(const CountFrame& frame);
  void end_object(size_t slot);
  CountEvent& add(CountEventKind kind, const std::string& name, const Object& object, int64_t time);

  CountSettings settings_;
  CountShapes shapes_;
  Size frame_;
  std::vector<LineSegment> segments_;
  std::vector<ZoneArea> areas_;
  std::vector<LineTotals> line_totals_;
  std::vector<ZoneTotals> zone_totals_;

  StreamClock clock_;
  uint64_t frame_number_ = 0;  // since end()
  bool full_ = false;
  size_t pairs_left_ = 0;  // of new and other objects that may be compared on this frame

  std::unordered_map<CountObject, size_t, Hash> slots_;
  std::vector<Object> objects_;  // by slot
  std::vector<size_t> free_;
  std::vector<Path> paths_;
  std::vector<double> clear_;  // how far an object can move without reaching a line or an edge
  std::vector<CountEvent> events_;
};

}  // namespace keepbox
