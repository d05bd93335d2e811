// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines and zones at which objects are counted: their text form, and their geometry.
#include "core/count/shapes.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <utility>

#include "core/base/text.h"

namespace keepbox {
namespace {

constexpr const char* kLineForm = "write a line as NAME=X1,Y1,X2,Y2";
constexpr const char* kZoneForm =
    "write a zone as NAME=X1,Y1,X2,Y2,X3,Y3 with three or more corners";
constexpr size_t kMaxName = 128;       // bytes
constexpr double kFarthest = 1 << 24;  // pixels; floats have all integers up to here

struct Entry {
  std::string name;
  std::vector<std::string_view> values;
};

/// Splits "NAME=V,V,...;NAME=V,..." without empty entries. @param what "line" or "zone"
Result<std::vector<Entry>> entries_of(std::string_view text, const std::string& what,
                                      const char* form) {
  std::vector<Entry> out;
  for (const std::string_view each : split(text, ';')) {
    if (each.empty()) continue;
    const size_t at = each.find('=');
    if (at == each.npos)
      return reject(ErrorKind::kInvalid, "The " + what + " " + in_quotes(each) + " has no name",
                    form);
    out.push_back({std::string(trimmed(each.substr(0, at))), split(each.substr(at + 1), ',')});
  }
  return out;
}

/// Parses numbers as long as there are any. @return how many
size_t numbers_of(const Entry& entry, std::vector<double>& out) {
  for (const std::string_view word : entry.values) {
    double value = 0;
    if (!parse_finite(word, value)) break;
    out.push_back(value);
  }
  return out.size();
}

}  // namespace

Result<std::vector<CountLine>> parse_lines(std::string_view text) {
  KB_ASSIGN(const auto entries, entries_of(text, "line", kLineForm));
  std::vector<CountLine> out;
  for (const Entry& entry : entries) {
    std::vector<double> n;
    const size_t numbers = numbers_of(entry, n), words = entry.values.size() - numbers;
    if (numbers != 4)
      return reject(ErrorKind::kInvalid,
                    "The line " + in_quotes(entry.name) + " does not have four numbers", kLineForm);
    if (words != 0 && words != 2)
      return reject(ErrorKind::kInvalid,
                    "The line " + in_quotes(entry.name) +
                        " does not have two names of directions after its numbers",
                    "write names for in and out, or none");
    CountLine line{.name = entry.name, .points = {Corner{n[0], n[1]}, Corner{n[2], n[3]}}};
    if (words == 2) line.directions = {std::string(entry.values[4]), std::string(entry.values[5])};
    out.push_back(std::move(line));
  }
  KB_TRY(check_shapes({.lines = out, .zones = {}}));
  return out;
}

Result<std::vector<CountZone>> parse_zones(std::string_view text) {
  KB_ASSIGN(const auto entries, entries_of(text, "zone", kZoneForm));
  std::vector<CountZone> out;
  for (const Entry& entry : entries) {
    std::vector<double> n;
    if (numbers_of(entry, n) != entry.values.size() || n.size() % 2 != 0)
      return reject(ErrorKind::kInvalid,
                    "The zone " + in_quotes(entry.name) + " does not have two numbers per corner",
                    kZoneForm);
    CountZone& zone = out.emplace_back(CountZone{.name = entry.name, .corners = {}});
    for (size_t i = 0; i < n.size(); i += 2) zone.corners.push_back({n[i], n[i + 1]});
  }
  KB_TRY(check_shapes({.lines = {}, .zones = out}));
  return out;
}

namespace {

/// Checks what lines and zones have in common. @param what "line" or "zone"
class ShapeCheck {
 public:
  ShapeCheck(const char* what, const char* form) : what_(what), form_(form) {}

  Status check(const std::string& name, std::span<const Corner> points) {
    if (name.empty())
      return reject(ErrorKind::kInvalid, std::string("A ") + what_ + " has no name", form_);
    if (!is_utf8(name) || name.size() > kMaxName)
      return wrong(name,
                   "has a name that is not UTF-8 of up to " + std::to_string(kMaxName) + " bytes",
                   "give it another name");
    if (!names_.insert(name).second)
      return wrong(name, "is there twice", "give each a name of its own");
    for (const auto [x, y] : points)
      if (!(std::abs(x) <= kFarthest && std::abs(y) <= kFarthest))
        return wrong(name, "has a coordinate beyond 16,777,216 pixels",
                     "set pixels of the frame, or fractions of it");
    return {};
  }
  std::unexpected<Error> wrong(const std::string& name, const std::string& is, std::string hint) {
    return reject(ErrorKind::kInvalid,
                  std::string("The ") + what_ + " " + in_quotes(name) + " " + is, std::move(hint));
  }
  std::unexpected<Error> wrong(const std::string& name, const std::string& is) {
    return wrong(name, is, form_);
  }
  Status check_number(size_t count) {
    if (count <= CountShapes::kMax) return {};
    return reject(ErrorKind::kInvalid,
                  "There are " + std::to_string(count) + " " + what_ + "s: the maximum is " +
                      std::to_string(CountShapes::kMax),
                  "set fewer");
  }

 private:
  const char *what_, *form_;
  std::set<std::string> names_;
};

double cross(Corner a, Corner b, Corner p) {
  return (b.x - a.x) * (p.y - a.y) - (b.y - a.y) * (p.x - a.x);
}

/// True if all corners are on one line.
bool is_flat(std::span<const Corner> corners) {
  const auto other = std::ranges::find_if(corners, [&](Corner p) { return p != corners[0]; });
  return other == corners.end() ||
         std::ranges::all_of(corners, [&](Corner p) { return cross(corners[0], *other, p) == 0; });
}

Status check_line(ShapeCheck& all, const CountLine& line) {
  KB_TRY(all.check(line.name, line.points));
  if (line.points[0] == line.points[1])
    return all.wrong(line.name, "has no length", "set two different points");
  for (const std::string& way : line.directions)
    if (way.empty() || !is_utf8(way) || way.size() > kMaxName)
      return all.wrong(line.name, "has a direction without a name", "name both directions");
  if (line.directions[0] == line.directions[1] ||
      std::ranges::contains(line.directions, "uncertain"))
    return all.wrong(line.name, "has directions with the same name, or with the name uncertain",
                     "name both directions differently");
  return {};
}

Status check_zone(ShapeCheck& all, const CountZone& zone) {
  KB_TRY(all.check(zone.name, zone.corners));
  if (zone.corners.size() < 3) return all.wrong(zone.name, "has less than three corners");
  if (zone.corners.size() > CountShapes::kMaxCorners)
    return all.wrong(zone.name, "has more than 10,000 corners", "leave corners out");
  if (is_flat(zone.corners)) return all.wrong(zone.name, "has no area");
  return {};
}

}  // namespace

Status check_shapes(const CountShapes& shapes) {
  ShapeCheck lines("line", kLineForm), zones("zone", kZoneForm);
  KB_TRY(lines.check_number(shapes.lines.size()));
  KB_TRY(zones.check_number(shapes.zones.size()));
  for (const CountLine& line : shapes.lines) KB_TRY(check_line(lines, line));
  for (const CountZone& zone : shapes.zones) KB_TRY(check_zone(zones, zone));
  return {};
}

namespace {

/// Returns the distance between a point and a segment.
double distance_to(Corner a, Corner b, Corner p) {
  const double x = b.x - a.x, y = b.y - a.y, length = x * x + y * y;
  const double along = length > 0 ? ((p.x - a.x) * x + (p.y - a.y) * y) / length : 0;
  if (along <= 0) return std::hypot(p.x - a.x, p.y - a.y);
  if (along >= 1) return std::hypot(p.x - b.x, p.y - b.y);
  return std::abs(cross(a, b, p)) / std::sqrt(length);
}

}  // namespace

CrossingWay LineSegment::side(Corner p) const {
  double v = cross(a_, b_, p);
  if (v == 0) v = a_.y - b_.y;
  if (v == 0) v = b_.x - a_.x;
  return v < 0 ? kIn : kOut;
}

bool LineSegment::is_crossed(Corner from, Corner to) const {
  if (side(from) == side(to)) return false;
  const auto is_right = [&](Corner end) {
    double v = cross(from, to, end);
    if (v == 0) v = to.y - from.y;
    if (v == 0) v = from.x - to.x;
    return v > 0;
  };
  return is_right(a_) != is_right(b_);
}

double LineSegment::distance(Corner p) const { return distance_to(a_, b_, p); }

namespace {

/// True if both are on the same side of the frame's border. @param side of the frame; 0 if unknown
bool on_border(double a, double b, uint32_t side) {
  return (a <= 0 && b <= 0) || (side != 0 && a >= side && b >= side);
}

}  // namespace

ZoneArea::ZoneArea(std::vector<Corner> corners, Size frame) : corners_(std::move(corners)) {
  const auto [left, right] = std::ranges::minmax(corners_, {}, &Corner::x);
  const auto [top, bottom] = std::ranges::minmax(corners_, {}, &Corner::y);
  low_ = {left.x, top.y};
  high_ = {right.x, bottom.y};
  Corner a = corners_.back();
  for (const Corner b : corners_) {
    border_.push_back(frame.width != 0 &&
                      (on_border(a.x, b.x, frame.width) || on_border(a.y, b.y, frame.height)));
    a = b;
  }
}

/// Edges are compared from their upper end, so that polygons on both sides of one agree.
bool ZoneArea::contains(Corner p) const {
  bool inside = false;
  Corner a = corners_.back();
  for (const Corner b : corners_) {
    if ((a.y > p.y) != (b.y > p.y)) {
      const bool down = a.y < b.y;
      inside ^= down ? cross(a, b, p) > 0 : cross(b, a, p) > 0;
    }
    a = b;
  }
  return inside;
}

double ZoneArea::distance(Corner p) const {
  double least = std::numeric_limits<double>::infinity();
  Corner a = corners_.back();
  for (size_t i = 0; i < corners_.size(); ++i) {
    const Corner b = corners_[i];
    if (!border_[i]) least = std::min(least, distance_to(a, b, p));
    a = b;
  }
  return least;
}

double ZoneArea::distance_from_bounds(Corner p) const {
  const double x = std::max({low_.x - p.x, p.x - high_.x, 0.0});
  const double y = std::max({low_.y - p.y, p.y - high_.y, 0.0});
  return x == 0 || y == 0 ? x + y : std::hypot(x, y);
}

namespace {

/// Moves a coordinate to the border of the frame if it is nearer than a pixel.
void snap(double& at, uint32_t side) {
  if (std::abs(at) <= 1) at = 0;
  else if (std::abs(at - side) <= 1) at = side;
}

std::vector<Corner> in_pixels(std::span<const Corner> points, Size frame) {
  std::vector<Corner> out(points.begin(), points.end());
  const bool pixels = std::ranges::any_of(out, [](Corner p) { return p.x > 1 || p.y > 1; });
  for (Corner& p : out) {
    if (!pixels) p.x *= frame.width, p.y *= frame.height;
    if (frame.width != 0) snap(p.x, frame.width), snap(p.y, frame.height);
  }
  return out;
}

}  // namespace

LineSegment placed(const CountLine& line, Size frame) {
  const std::vector<Corner> points = in_pixels(line.points, frame);
  return {points[0], points[1]};
}

ZoneArea placed(const CountZone& zone, Size frame) {
  return ZoneArea(in_pixels(zone.corners, frame), frame);
}

Corner inside(Corner p, Size frame) {
  const auto within = [](double at, double side) {
    return side < 1 ? at : std::clamp(at, 0.5, side - 0.5);
  };
  return {within(p.x, frame.width), within(p.y, frame.height)};
}

}  // namespace keepbox
