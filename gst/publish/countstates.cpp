// SPDX-License-Identifier: LGPL-2.1-or-later
// States and events of lines and zones as messages.
#include "gst/publish/countstates.h"

#include <algorithm>
#include <cstdint>
#include <format>
#include <utility>

#include "gst/sink/classes.h"

namespace keepbox {
namespace {

TopicValues values_of(const std::string& source, const std::string& name) {
  TopicValues out{.source = source, .label = "all"};
  out.name = name;
  return out;
}

/// Returns what is a change of a zone.
std::string content_of(const ZoneCount& zone) {
  std::string out = std::format("{} {}", zone.visits, zone.crowded);
  for (const PresentObject& each : zone.present)
    out += std::format(" {}/{}/{}", each.object.model, each.object.id, each.alarmed);
  return out;
}

bool is_of_line(const CountNote& note) {
  return note.kind == CountNote::Kind::kCrossed || note.kind == CountNote::Kind::kUncertain;
}

}  // namespace

void CountStates::put(const std::string& topic, State state) {
  const auto found = states_.find(topic);
  if (found == states_.end()) {
    if (states_.size() < kMaxTopics) states_.emplace(topic, std::move(state));
    else full_ = true;
    return;
  }
  State& there = found->second;
  if (there.present) return;  // of an earlier name
  state.pending = there.pending || there.content != state.content;
  there = std::move(state);
}

void CountStates::put_line(const LineCount& line) {
  State state{.payload = {}, .content = {}, .of_line = true, .present = true};
  write_line(line, state.payload);
  state.content = state.payload;
  put(settings_.lines.of(values_of(settings_.source, line.name)), std::move(state));
}

void CountStates::put_zone(const ZoneCount& zone, const FrameCounts& all) {
  State state{.payload = {}, .content = content_of(zone), .present = true};
  write_zone(zone, all, state.payload);
  put(settings_.zones.of(values_of(settings_.source, zone.name)), std::move(state));
  put_numbers(zone);
}

/// Classes that were there before have 0 objects.
void CountStates::put_numbers(const ZoneCount& zone) {
  std::map<std::string, uint32_t> numbers;
  TopicValues values = values_of(settings_.source, zone.name);
  numbers[settings_.zone_counts.of(values)] = zone.now();
  for (const PresentObject& each : zone.present) {
    values.label = name_of(each.label);
    values.model = name_of(each.object.model);
    const std::string topic = settings_.zone_counts.of(values);
    values.label = "all";
    if (topic != settings_.zone_counts.of(values)) ++numbers[topic];
  }
  for (const auto& [topic, number] : numbers) {
    const std::string text = std::to_string(number);
    put(topic, {.payload = text, .content = text, .is_number = true, .present = true});
  }
}

void CountStates::set(const FrameCounts* counts) {
  if (counts == nullptr) return;
  last_ = {.lines = counts->lines, .zones = counts->zones, .notes = {}};
  for (auto& [topic, state] : states_) state.present = false;
  if (settings_.what.lines)
    for (const LineCount& line : last_.lines) put_line(line);
  if (settings_.what.zones)
    for (const ZoneCount& zone : last_.zones) put_zone(zone, last_);
  for (auto& [topic, state] : states_)
    if (state.is_number && !state.present)
      state.pending |= std::exchange(state.content, "0") != "0", state.payload = "0";
}

void CountStates::clear() {
  FrameCounts left = last_;
  for (ZoneCount& zone : left.zones) zone.present.clear(), zone.crowded = false;
  set(&left);
}

std::vector<CountText> CountStates::take(const Kinds& changed) {
  std::vector<CountText> out;
  for (auto& [topic, state] : states_) {
    const bool only_changed = state.of_line ? changed.lines : changed.zones;
    if (!std::exchange(state.pending, false) && (only_changed || !state.present)) continue;
    out.push_back({topic, state.payload, state.of_line});
  }
  return out;
}

std::vector<CountText> CountStates::events(const FrameCounts& counts,
                                           const FrameInfo& frame) const {
  std::vector<CountText> out;
  for (const CountNote& note : counts.notes) {
    const bool of_line = is_of_line(note);
    if (of_line ? !settings_.what.lines : !settings_.what.zones) continue;
    TopicValues values = values_of(settings_.source, note.name);
    values.label = name_of(note.label);
    values.model = name_of(note.object.model);
    values.id = std::to_string(note.object.id);
    CountText text{settings_.events.of(values), {}, of_line};
    write_event(note, frame, settings_.writer, text.payload);
    text.payload.pop_back();  // the end of the line
    out.push_back(std::move(text));
  }
  return out;
}

}  // namespace keepbox
