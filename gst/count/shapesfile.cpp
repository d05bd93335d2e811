// SPDX-License-Identifier: LGPL-2.1-or-later
// Lines and zones of the properties, and of their JSON file.
#include <nlohmann/json.hpp>

#include <utility>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "gst/count/properties.h"

namespace keepbox {
namespace {

using Json = nlohmann::json;

constexpr size_t kMaxFile = 16 << 20;  // bytes
constexpr const char* kFileHint =
    R"(write {"lines": [{"name": "gate", "points": [[0.1, 0.5], [0.9, 0.5]]}], )"
    R"("zones": [{"name": "queue", "points": [[0.1, 0.1], [0.5, 0.1], [0.5, 0.5]]}]})";

/// One line or zone of a file, for messages that name it.
struct FileEntry {
  const Json& json;
  std::string what;  // "line" or "zone"

  std::string name() const {
    const auto found = json.is_object() ? json.find("name") : json.end();
    return json.is_object() && found != json.end() && found->is_string() ? found->get<std::string>()
                                                                         : "";
  }
  std::unexpected<Error> wrong(const std::string& is) const {
    return reject(ErrorKind::kInvalid, "The " + what + ' ' + in_quotes(name()) + ' ' + is,
                  kFileHint);
  }
};

/// Fails for a member that is not among these.
Status check_keys(const FileEntry& entry, std::initializer_list<std::string_view> known) {
  if (!entry.json.is_object() || entry.name().empty()) return entry.wrong("has no name");
  for (const auto& [key, value] : entry.json.items())
    if (!std::ranges::contains(known, key))
      return entry.wrong("has " + in_quotes(key) + ", which is not known");
  return {};
}

Result<std::vector<Corner>> points_of(const FileEntry& entry) {
  std::vector<Corner> out;
  const auto points = entry.json.find("points");
  if (points == entry.json.end() || !points->is_array())
    return entry.wrong("has no array of points");
  for (const Json& each : *points) {
    const bool pair = each.is_array() && each.size() == 2;
    if (!pair || !each[0].is_number() || !each[1].is_number())
      return entry.wrong("has a point that is not [x, y]");
    out.push_back({each[0].get<double>(), each[1].get<double>()});
  }
  return out;
}

Result<CountLine> line_of(const FileEntry& entry) {
  KB_TRY(check_keys(entry, {"name", "points", "directions"}));
  KB_ASSIGN(const auto points, points_of(entry));
  if (points.size() != 2) return entry.wrong("does not have two points");
  CountLine line{.name = entry.name(), .points = {points[0], points[1]}};
  const auto names = entry.json.find("directions");
  if (names == entry.json.end()) return line;
  if (!names->is_array() || names->size() != 2 || !(*names)[0].is_string() ||
      !(*names)[1].is_string())
    return entry.wrong("has directions that are not two names");
  line.directions = {(*names)[0].get<std::string>(), (*names)[1].get<std::string>()};
  return line;
}

/// Reads a number from 0 on, if there is one.
template <class T>
Status read_alarm(const FileEntry& entry, const char* key, std::optional<T>& out) {
  const auto found = entry.json.find(key);
  if (found == entry.json.end()) return {};
  constexpr uint64_t kMost =
      std::min<uint64_t>(86400 * uint64_t{GST_SECOND}, std::numeric_limits<T>::max());
  if (!found->is_number_unsigned() || found->template get<uint64_t>() > kMost)
    return entry.wrong("has " + std::string(key) + " that is not a whole number in its range");
  out = static_cast<T>(found->template get<uint64_t>());
  return {};
}

Result<CountZone> zone_of(const FileEntry& entry) {
  KB_TRY(check_keys(entry, {"name", "points", "dwell-alarm", "crowd-alarm"}));
  CountZone zone{.name = entry.name(), .corners = {}};
  KB_ASSIGN(zone.corners, points_of(entry));
  KB_TRY(read_alarm(entry, "dwell-alarm", zone.dwell_alarm));
  KB_TRY(read_alarm(entry, "crowd-alarm", zone.crowd_alarm));
  return zone;
}

/// Adds what a file's list has. @param read makes a line or zone of an entry.
template <class Shape>
Status add_list(const Json& file, const char* key, const char* what, std::vector<Shape>& to,
                Result<Shape> (*read)(const FileEntry&)) {
  const auto list = file.find(key);
  if (list == file.end()) return {};
  if (!list->is_array())
    return reject(ErrorKind::kInvalid, in_quotes(key) + " is not an array", kFileHint);
  for (const Json& each : *list) {
    KB_ASSIGN(Shape shape, read({each, what}));
    to.push_back(std::move(shape));
  }
  return {};
}

Status add_file(const std::string& path, CountShapes& to) {
  KB_ASSIGN(const std::string text,
            read_text(path, kMaxFile, "set file= to a JSON file of lines and zones"));
  const Json file = Json::parse(text, nullptr, false);
  if (!file.is_object()) return reject(ErrorKind::kInvalid, "It is not a JSON object", kFileHint);
  for (const auto& [key, value] : file.items())
    if (key != "lines" && key != "zones")
      return reject(ErrorKind::kInvalid, in_quotes(key) + " is not known", kFileHint);
  KB_TRY(add_list(file, "lines", "line", to.lines, line_of));
  return add_list(file, "zones", "zone", to.zones, zone_of);
}

}  // namespace

Result<CountShapes> read_shapes(const CountProps& props) {
  CountShapes out;
  KB_ASSIGN(out.lines, parse_lines(props.lines));
  KB_ASSIGN(out.zones, parse_zones(props.zones));
  if (!props.file.empty())
    if (Status read = add_file(props.file, out); !read) {
      if (read.error().kind == ErrorKind::kInvalid) read.error().put_in(props.file);
      return std::unexpected(read.error());
    }
  KB_TRY(check_shapes(out));
  return out;
}

}  // namespace keepbox
