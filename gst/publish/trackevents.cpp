// SPDX-License-Identifier: LGPL-2.1-or-later
// Keeps the best box of each track.
#include "gst/publish/trackevents.h"

#include <nlohmann/json.hpp>

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
    if (tracks_.size() >= kMaxTracks) return;
    found = tracks_.emplace(key, Track{.first = frame.timestamp, .pace = Pace(rate_)}).first;
  }
  Track& track = found->second;
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

void TrackEvents::end_older_than(uint64_t time, std::vector<TrackEvent>& out) {
  std::erase_if(tracks_, [&](const auto& each) {
    const bool ended = each.second.seen + timeout_ < time;
    if (ended) out.push_back(event("end", each.first, each.second));
    return ended;
  });
}

std::vector<TrackEvent> TrackEvents::add(const FrameInfo& frame, std::span<const FrameBox> boxes,
                                         uint64_t time) {
  std::vector<TrackEvent> out;
  if (time < time_) out = finish();
  time_ = time;
  for (const FrameBox& box : boxes)
    if (box.tracking_id) follow(frame, box, time, out);
  end_older_than(time, out);
  return out;
}

std::vector<TrackEvent> TrackEvents::finish() {
  std::vector<TrackEvent> out;
  for (const auto& [key, track] : tracks_) out.push_back(event("end", key, track));
  tracks_.clear();
  return out;
}

}  // namespace keepbox
