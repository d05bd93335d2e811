// SPDX-License-Identifier: LGPL-2.1-or-later
// Follows the boxes of a text file by core's trackers, for compare.py.
//
// usage: trackfile METHOD STEP INTERVAL [KEY=VALUE]... < BOXES > IDS
//
// STEP and INTERVAL are those of TrackSettings, those of TrackParams and by-time. A line of BOXES
// is a frame: its time in ns, then x1 y1 x2 y2 score class of each box. Classes separate boxes with
// per-class=true. A line of IDS has the ids of these boxes, 0 for none.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "core/track/tracker.h"

using namespace keepbox;

namespace {

bool set(TrackSettings& settings, bool& per_class, const std::string& word) {
  TrackParams& params = settings.params;
  const size_t at = word.find('=');
  if (at == word.npos) return false;
  const std::string key = word.substr(0, at), value = word.substr(at + 1);
  const std::map<std::string, float TrackParams::*> floats{
      {"high-threshold", &TrackParams::high_threshold},
      {"low-threshold", &TrackParams::low_threshold},
      {"new-threshold", &TrackParams::new_threshold},
      {"match-iou", &TrackParams::match_iou}};
  if (const auto found = floats.find(key); found != floats.end())
    params.*found->second = std::strtof(value.c_str(), nullptr);
  else if (key == "confirm-after")
    params.confirm_after = static_cast<uint32_t>(std::strtoul(value.c_str(), nullptr, 10));
  else if (key == "recover-lost") params.recover_lost = value == "true";
  else if (key == "by-time") settings.by_time = value == "true";
  else if (key == "per-class") per_class = value == "true";
  else if (key == "lost-after") params.lost_after = std::strtoll(value.c_str(), nullptr, 10);
  else return false;
  return true;
}

const TrackMethodRow* method_of(const std::string& name) {
  for (const TrackMethodRow& row : track_methods())
    if (row.name == name) return &row;
  return nullptr;
}

}  // namespace

int main(int argc, char** argv) {
  const TrackMethodRow* row = argc > 3 ? method_of(argv[1]) : nullptr;
  if (row == nullptr) return 2;
  TrackSettings settings{.method = row->method,
                         .params = row->published,
                         .step = std::atoll(argv[2]),
                         .interval = std::atoll(argv[3])};
  bool per_class = false;
  for (int i = 4; i < argc; ++i)
    if (!set(settings, per_class, argv[i])) return 2;
  TrackIds ids;
  Tracker tracker(settings, ids);
  std::chrono::steady_clock::duration spent{};
  std::string line;
  size_t frames = 0;
  while (std::getline(std::cin, line)) {
    std::istringstream words(line);
    int64_t time = 0;
    words >> time;
    std::vector<Observation> boxes;
    for (Observation box;
         words >> box.box.x1 >> box.box.y1 >> box.box.x2 >> box.box.y2 >> box.score;) {
      uint64_t kind = 0;
      words >> kind;
      if (per_class) box.kind = kind;
      boxes.push_back(box);
    }
    const auto begun = std::chrono::steady_clock::now();
    const auto tracks = tracker.update(boxes, time);
    spent += std::chrono::steady_clock::now() - begun;
    ++frames;
    for (const BoxTrack& track : tracks) std::cout << track.id << ' ';
    std::cout << '\n';
  }
  const double us = std::chrono::duration<double, std::micro>(spent).count();
  std::fprintf(stderr, "%.1f\n", us / static_cast<double>(std::max<size_t>(frames, 1)));
  return 0;
}
