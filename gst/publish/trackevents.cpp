// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the best box of each track.
#include "gst/publish/trackevents.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "gst/publish/counts.h"
#include "gst/sink/formats.h"
#include "gst/sink/text.h"

namespace keepbox {
namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

TrackEvents::TrackEvents(uint64_t timeout, double rate, std::string source, bool named)
    : timeout_(timeout), rate_(rate), source_(std::move(source)), named_(named) {}

TrackEvent TrackEvents::event(const char* type, const Key& key, const Track& track) const {
  Json json = {{"type", type}};
  if (named_) json["source"] = source_;
  json["id"] = key.second;
  if (!track.topic.label.empty()) json["label"] = track.topic.label;
  if (track.first) json["first"] = *track.first;
  if (track.last) json["last"] = *track.last;
  json["frames"] = track.frames;
  std::string text = dump(json);
  // Inserted as text, because boxes are written with the digits of floats.
  text.pop_back();
  text += ",\"object\":" + track.now;
  if (!track.best.empty()) text += ",\"best\":" + track.best;
  return {track.topic, text + '}'};
}

void TrackEvents::follow(const FrameInfo& frame, const FrameBox& box, uint64_t time,
                         std::vector<TrackEvent>& out) {
  const Key key{box.model, *box.tracking_id};
  auto found = tracks_.find(key);
  const bool begins = found == tracks_.end();
  if (begins) {
    if (tracks_.size() >= kMaxTracks) {
      full_ = true;
      return;
    }
    found = tracks_.emplace(key, Track{.first = frame.timestamp, .pace = Pace(rate_)}).first;
  }
  Track& track = found->second;
  track.present = true;
  track.seen = time;
  track.last = frame.timestamp;
  ++track.frames;
  track.now.clear();
  write_object(box, frame.size, track.now);
  const bool measured = !box.held && !box.predicted;
  if (begins || (measured && !(track.score && box.score <= *track.score))) {
    track.topic = topic_values(box, source_);
    if (measured) track.score = box.score;
    track.best = measured ? track.now : std::string();
    track.improved = true;
  }
  if (!track.improved || !track.pace.passes(time)) return;
  track.improved = false;
  out.push_back(event(begins ? "new" : "update", key, track));
}

/// Lets tracks go on at an earlier time, as after the clock of a camera was set.
void TrackEvents::go_back(uint64_t time, std::vector<TrackEvent>& out) {
  if (time_ - time > timeout_ + GST_SECOND) out = finish();
  for (auto& [key, track] : tracks_) {
    track.seen = std::min(track.seen, time);
    if (track.missed) track.missed = std::min(*track.missed, time);
  }
  time_ = time;
}

/// The time that passes before the first miss does not count, because its frames may have been
/// skipped.
bool TrackEvents::is_over(Track& track, bool looked, uint64_t time) const {
  if (std::exchange(track.present, false)) {
    track.missed.reset();
    return false;
  }
  if (!looked) return false;
  if (!track.missed) track.missed = std::max(track.seen, time_);
  return *track.missed + timeout_ < time;
}

std::vector<TrackEvent> TrackEvents::add(const FrameInfo& frame, std::span<const FrameBox> boxes,
                                         const SkippedModels& skipped, uint64_t time) {
  std::vector<TrackEvent> out;
  if (time < time_) go_back(time, out);
  for (const FrameBox& box : boxes)
    if (box.tracking_id) follow(frame, box, time, out);
  std::erase_if(tracks_, [&](auto& each) {
    const bool over = is_over(each.second, !skipped.has(each.first.first), time);
    if (over) out.push_back(event("end", each.first, each.second));
    return over;
  });
  time_ = time;
  return out;
}

std::vector<TrackEvent> TrackEvents::finish() {
  std::vector<TrackEvent> out;
  for (const auto& [key, track] : tracks_) out.push_back(event("end", key, track));
  tracks_.clear();
  return out;
}

}  // namespace keepbox
