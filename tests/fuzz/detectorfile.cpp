// SPDX-License-Identifier: LGPL-2.1-or-later
// Files of model families: any content is either rejected with its position, or is a family that
// can be printed, read again and used to decode tensors.
#include <algorithm>
#include <string>
#include <vector>

#include "core/model/detector_fields.h"
#include "core/model/detector_text.h"
#include "tests/fuzz/frames/runs.h"
#include "tests/fuzz/frames/settings.h"
#include "tests/fuzz/fuzz.h"

namespace keepbox::fuzz {

const char* const kSurface = "detectorfile";

void set_up() { make_crew(); }

namespace {

constexpr const char* kPath = "box.detector";

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> out;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    out.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return out;
}

const DetectorSpec& any_family(Input& input) { return input.pick(detectors()); }

std::string any_value(Input& input) {
  static constexpr const char* kValues[] = {
      "0",       "1",        "2",     "3",       "4",     "5",       "6",      "8",
      "16",      "40",       "255",   "65536",   "-1",    "1e39",    "nan",    "-0",
      "0.5",     "none",     "true",  "false",   "8,16",  "8,16,32", "1,2,3",  "1x1,2x2,3x3",
      "outputs", "ready",    "split", "",        "dense", "boxes",   "scores", "all",
      "corners", "grid-exp", "angle", "softmax", "last",  "sigmoid"};
  if (input.chance(70)) return input.pick(kValues);
  return input.chance(50) ? std::to_string(input.number()) : input.text(40);
}

/// Returns a line with any key of the table.
std::string any_line(Input& input) {
  const auto families = detector_fields();
  const auto tensors = tensor_fields();
  const bool of_family = input.chance(70);
  const std::string key(of_family ? input.pick(families).key : input.pick(tensors).key);
  return (input.chance(90) ? key : input.text(12)) + "=" + any_value(input);
}

std::string any_group(Input& input) {
  static constexpr const char* kGroups[] = {
      "[tensor all]",       "[tensor boxes]",      "[tensor scores]", "[tensor classes]",
      "[tensor count]",     "[tensor sizes]",      "[tensor unread]", "[tensor unread 2]",
      "[tensor keypoints]", "[tensor objectness]", "[detector]"};
  return input.chance(90) ? input.pick(kGroups) : "[" + input.text(12) + "]";
}

void change(Input& input, std::vector<std::string>& lines) {
  const size_t at = input.below(static_cast<uint32_t>(lines.size()) + 1);
  const auto place = lines.begin() + static_cast<ptrdiff_t>(at);
  switch (input.below(8)) {
    case 0: lines.insert(place, any_line(input)); break;
    case 1: lines.insert(place, any_group(input)); break;
    case 2: lines.insert(place, input.text(40)); break;
    case 3: {
      const auto others = lines_of(print_detector(any_family(input)));
      lines.insert(place, others[input.below(static_cast<uint32_t>(others.size()))]);
      break;
    }
    case 4:
      if (place != lines.end()) lines.erase(place);
      break;
    default: {
      if (place == lines.end()) break;
      const size_t equals = place->find('=');
      if (equals != std::string::npos) *place = place->substr(0, equals + 1) + any_value(input);
    }
  }
}

/// Returns a family's file with some changes, one with a base, or random bytes.
std::string any_text(Input& input) {
  if (input.chance(10)) {
    const auto bytes = input.bytes(1024);
    return {bytes.begin(), bytes.end()};
  }
  auto lines = lines_of(print_detector(any_family(input)));
  if (input.chance(20)) lines = {"[detector]", "base=" + std::string(any_family(input).name)};
  const uint32_t most = input.chance(50) ? 3 : 8;
  for (uint32_t left = input.below(most); left > 0; --left) change(input, lines);
  std::string out;
  for (const std::string& line : lines) out += line + "\n";
  return out;
}

/// Checks that an error names file and line, with expected and found texts.
void check_error(const Error& error, const std::string& text) {
  const std::string message = error.message(), start = std::string(kPath) + ":";
  const bool placed = message.starts_with(start) && message.size() > start.size() &&
                      message[start.size()] >= '1' && message[start.size()] <= '9';
  if (!placed || (error.what.empty() && (error.expected.empty() || error.found.empty())))
    violated("an error without its place or its words: " + message + "\nof the file\n" + text);
  const std::string key = error.place.substr(error.place.rfind(' ') + 1);
  const bool known = find_field(detector_fields(), key) || find_field(tensor_fields(), key);
  count(known ? "refused:" + key : "refused");
}

}  // namespace

void run_one(Input& input) {
  const std::string text = any_text(input);
  const auto file = read_detector(text, kPath);
  if (!file) return check_error(file.error(), text);
  count("read");
  for (const TextField<DetectorSpec>& field : detector_fields())
    if (field.print(*file->family) != field.print(DetectorSpec()))
      count("keys:" + std::string(field.key));
  const std::string printed = print_detector(*file->family);
  const auto again = read_detector(printed, kPath);
  if (!again) violated("its own print is refused: " + again.error().message() + "\n" + printed);
  const std::string twice = print_detector(*again->family);
  if (twice != printed) violated("read again it is another one\n" + printed + "\n" + twice);
  // Running takes many times as long.
  if (!input.chance(30)) return;
  Frame frame = draw_frame(input, *file->family);
  fill(input, frame);
  const Settings settings = draw_settings(input, *file->family, frame, file->family);
  run_everywhere(input, settings, frame, "of a file");
}

}  // namespace keepbox::fuzz
