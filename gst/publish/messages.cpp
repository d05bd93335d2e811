// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses topics, and what is published of a frame.
#include "gst/publish/messages.h"

#include <gst/gst.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <utility>

#include "gst/sink/classes.h"
#include "gst/sink/json.h"

namespace keepbox {

Messages::Messages(PublishSettings settings, const PublishProps& props)
    : settings_(std::move(settings)),
      qos_(static_cast<int>(props.qos)),
      writer_(BoxFormat::kJsonl, settings_.writer),
      pace_(props.rate),
      states_(settings_),
      tracks_(static_cast<int64_t>(props.track_timeout * GST_SECOND), props.rate, settings_.source,
              !props.source.empty()) {}

Message Messages::message(std::string topic, std::string payload, bool retain) const {
  return {.topic = std::move(topic), .payload = std::move(payload), .qos = qos_, .retain = retain};
}

/// Returns the content of a frame, with what was published last of models that did not look at it.
Messages::Content Messages::content_of(const PublishedFrame& frame) const {
  Content out;
  std::map<Object, uint64_t> turns;
  for (const FrameBox& box : frame.boxes) {
    if (frame.skipped.has(box.model)) continue;
    Object object{box.model, box.class_id, box.label, box.tracking_id.has_value(), 0};
    std::get<4>(object) = box.tracking_id ? *box.tracking_id : turns[object]++;
    out.objects.insert(object);
  }
  for (const BoxLabel& label : frame.info.labels)
    if (!frame.skipped.has(label.model))
      out.labels.emplace(label.model, label.attribute, label.text);
  if (!published_) return out;
  for (const Object& object : published_->objects)
    if (frame.skipped.has(std::get<0>(object))) out.objects.insert(object);
  for (const FrameLabel& label : published_->labels)
    if (frame.skipped.has(std::get<0>(label))) out.labels.insert(label);
  return out;
}

/// True if the frame has another content than the last one that was published.
bool Messages::is_changed(const PublishedFrame& frame) {
  Content content = content_of(frame);
  const bool completes = incomplete_ && !frame.skipped.any();
  if (published_ == content && !completes) return false;
  if (!published_ && frame.skipped.any() && content == Content{}) return false;
  incomplete_ = frame.skipped.any();
  published_ = std::move(content);
  return true;
}

/// True if the rate allows to publish a frame. A turn that falls on a frame that a model skipped
/// stays for the next one that was looked at, until there is another turn: all turns may fall on
/// skipped frames.
bool Messages::has_turn(const PublishedFrame& frame, bool passes) {
  const bool waited = std::exchange(due_, due_ || passes);
  if (settings_.on_change.boxes || !frame.skipped.any() || !pace_.is_limited()) return due_;
  return passes && waited;
}

/// Retains no frame that a model skipped, because its objects may be others than those of the
/// message.
Status Messages::add_boxes(PublishedFrame& frame, bool passes, std::vector<Message>& out,
                           const Complete& complete) {
  if (!has_turn(frame, passes) || (settings_.on_change.boxes && !is_changed(frame))) return {};
  const Status completed = complete && !frame.boxes.empty() ? complete(frame.info) : Status{};
  std::string text;
  KB_TRY(writer_.write(frame.info, frame.boxes, text));
  if (text.empty()) return completed;
  due_ = !settings_.on_change.boxes && frame.skipped.any();
  text.pop_back();  // the end of the line
  out.push_back(message(settings_.boxes.of({.source = settings_.source, .label = "all"}),
                        std::move(text), settings_.retain.boxes && !frame.skipped.any()));
  return completed;
}

void Messages::add_events(const std::vector<TrackEvent>& events, std::vector<Message>& out) {
  for (const TrackEvent& event : events)
    out.push_back(message(settings_.tracks.of(event.topic), event.text, settings_.retain.tracks));
}

void Messages::add_counts(bool changed, std::vector<Message>& out) {
  for (const auto& [topic, count] : counts_.take(changed)) {
    out.push_back(message(topic, std::to_string(count), settings_.retain.counts));
    out.back().state = settings_.retain.counts;
  }
}

void Messages::add_states(const Kinds& changed, std::vector<Message>& out) {
  for (auto& [topic, payload, of_line] : states_.take(changed)) {
    const bool retain = of_line ? settings_.retain.lines : settings_.retain.zones;
    out.push_back(message(std::move(topic), std::move(payload), retain));
    out.back().state = retain;
  }
}

void Messages::add_events(const FrameCounts& counts, const FrameInfo& frame,
                          std::vector<Message>& out) {
  for (auto& [topic, payload, of_line] : states_.events(counts, frame))
    out.push_back(message(std::move(topic), std::move(payload), false));
}

void Messages::add_events(const FrameCounts& counts, std::vector<Message>& out) {
  add_events(counts, last_, out);
}

Status Messages::add(PublishedFrame frame, std::vector<Message>& out, const Complete& complete) {
  frame.skipped = looks_.take(std::move(frame.skipped), frame.boxes);
  const auto& [info, boxes, skipped, time] = frame;
  if (settings_.what.tracks) add_events(tracks_.add(info, boxes, skipped, time), out);
  if (info.counts != nullptr) add_events(*info.counts, info, out);
  states_.set(info.counts);
  last_ = {.number = info.number, .timestamp = info.timestamp, .size = info.size};
  last_.source = info.source, last_.wall_time = info.wall_time;
  if (settings_.what.counts) counts_.set(boxes, skipped, settings_.counts, settings_.source);
  const bool passes = pace_.passes(time);
  const Status added = settings_.what.boxes ? add_boxes(frame, passes, out, complete) : Status{};
  if (settings_.what.counts && passes) add_counts(settings_.on_change.counts, out);
  if (passes) add_states(settings_.on_change, out);
  return added;
}

void Messages::restart(std::vector<Message>& out) {
  if (settings_.what.tracks) add_events(tracks_.finish(), out);
  published_.reset();
  looks_ = {};
}

void Messages::finish(std::vector<Message>& out) {
  restart(out);
  constexpr Kinds kChanged{.lines = true, .zones = true};
  add_states(kChanged, out);
  states_.clear();
  add_states(kChanged, out);
  if (!settings_.what.counts) return;
  add_counts(true, out);
  counts_.clear();
  add_counts(true, out);
}

std::optional<Error> Messages::take_warning() {
  if (warned_ || !(tracks_.is_full() || counts_.is_full() || states_.is_full()))
    return std::nullopt;
  warned_ = true;
  if (tracks_.is_full())
    return problem(ErrorKind::kNoResource,
                   "Objects are left out: there are " + std::to_string(TrackEvents::kMaxTracks) +
                       " tracks at a time already",
                   "lower track-timeout=, or give ids by a tracker that keeps them");
  if (states_.is_full())
    return problem(ErrorKind::kNoResource,
                   "Counts of lines and zones are left out: they have " +
                       std::to_string(CountStates::kMaxTopics) + " topics already",
                   "set topic-zone-counts= to one without {class} and {model}, or fewer zones");
  return problem(ErrorKind::kNoResource,
                 "Objects are not counted: their numbers have " +
                     std::to_string(Counts::kMaxTopics) + " topics already",
                 "set topic-counts= to one with fewer topics, without {id}");
}

namespace {

using Json = nlohmann::ordered_json;

std::string dump(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

TrackEvents::TrackEvents(int64_t timeout, double rate, std::string source, bool named)
    : timeout_(timeout), rate_(rate), source_(std::move(source)), named_(named) {}

TrackEvent TrackEvents::event(const char* type, const ObjectKey& key, const Track& track) const {
  Json json = {{"type", type}};
  if (named_) json["source"] = source_;
  json["id"] = key.id;
  if (!track.topic.label.empty()) json["label"] = track.topic.label;
  if (track.first) json["first"] = *track.first;
  if (track.last) json["last"] = *track.last;
  json["frames"] = track.frames;
  std::string out;
  JsonText text(out);
  text.add_all(dump(json));
  text.add("object", track.now);
  if (!track.best.empty()) text.add("best", track.best);
  text.end();
  return {track.topic, std::move(out)};
}

void TrackEvents::follow(const FrameInfo& frame, const FrameBox& box, uint64_t time,
                         std::vector<TrackEvent>& out) {
  const ObjectKey key = *key_of(box);
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
  track.seen = clock_.now();
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

/// The time that passes before the first miss does not count, because its frames may have been
/// skipped.
bool TrackEvents::is_over(Track& track, bool looked, int64_t now) const {
  if (std::exchange(track.present, false)) {
    track.missed.reset();
    return false;
  }
  if (!looked) return false;
  if (!track.missed) track.missed = std::max(track.seen, before_);
  return *track.missed + timeout_ < now;
}

std::vector<TrackEvent> TrackEvents::add(const FrameInfo& frame, std::span<const FrameBox> boxes,
                                         const SkippedModels& skipped, uint64_t time) {
  std::vector<TrackEvent> out;
  const TimeStep step = clock_.take(static_cast<int64_t>(time), 0, timeout_);
  const int64_t now = clock_.now();
  if (step == TimeStep::kRestart) {
    out = finish();
    before_ = now;
  }
  for (const FrameBox& box : boxes)
    if (box.tracking_id) follow(frame, box, time, out);
  std::erase_if(tracks_, [&](auto& each) {
    const bool over = is_over(each.second, !skipped.has(each.first.model), now);
    if (over) out.push_back(event("end", each.first, each.second));
    return over;
  });
  before_ = now;
  return out;
}

std::vector<TrackEvent> TrackEvents::finish() {
  std::vector<TrackEvent> out;
  for (const auto& [key, track] : tracks_) out.push_back(event("end", key, track));
  tracks_.clear();
  return out;
}

}  // namespace keepbox
