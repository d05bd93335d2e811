// SPDX-License-Identifier: LGPL-2.1-or-later
// Chooses topics, and what is published of a frame.
#include "gst/publish/messages.h"

#include <gst/gst.h>

#include <map>
#include <utility>

namespace keepbox {

Messages::Messages(PublishSettings settings, const PublishProps& props)
    : settings_(std::move(settings)),
      qos_(static_cast<int>(props.qos)),
      writer_(BoxFormat::kJsonl, settings_.writer),
      pace_(props.rate),
      tracks_(static_cast<uint64_t>(props.track_timeout * GST_SECOND), props.rate, settings_.source,
              !props.source.empty()) {}

Message Messages::message(std::string topic, std::string payload, bool retain) const {
  return {.topic = std::move(topic), .payload = std::move(payload), .qos = qos_, .retain = retain};
}

Messages::Content Messages::content_of(const FrameInfo& frame, std::span<const FrameBox> boxes) {
  Content out;
  std::map<Object, uint64_t> turns;
  for (const FrameBox& box : boxes) {
    Object object{box.model, box.class_id, box.label, box.tracking_id.has_value(), 0};
    std::get<4>(object) = box.tracking_id ? *box.tracking_id : turns[object]++;
    out.objects.insert(object);
  }
  for (const BoxLabel& label : frame.labels)
    out.labels.emplace(label.model, label.attribute, label.text);
  return out;
}

/// True if the frame has another content than the last one that was published.
bool Messages::is_changed(const FrameInfo& frame, std::span<const FrameBox> boxes) {
  Content content = content_of(frame, boxes);
  if (published_ == content) return false;
  published_ = std::move(content);
  return true;
}

Status Messages::add_boxes(FrameInfo& frame, std::span<const FrameBox> boxes,
                           std::vector<Message>& out, const Complete& complete) {
  if (settings_.on_change.boxes && !is_changed(frame, boxes)) return {};
  const Status completed = complete && !boxes.empty() ? complete(frame) : Status{};
  std::string text;
  KB_TRY(writer_.write(frame, boxes, text));
  if (text.empty()) return completed;
  text.pop_back();  // the end of the line
  out.push_back(message(settings_.boxes.of({.source = settings_.source, .label = "all"}),
                        std::move(text), settings_.retain.boxes));
  return completed;
}

void Messages::add_events(const std::vector<TrackEvent>& events, std::vector<Message>& out) {
  for (const TrackEvent& event : events)
    out.push_back(message(settings_.tracks.of(event.topic), event.text, settings_.retain.tracks));
}

void Messages::add_counts(bool changed, std::vector<Message>& out) {
  for (const auto& [topic, count] : counts_.take(changed))
    out.push_back(message(topic, std::to_string(count), settings_.retain.counts));
}

Status Messages::add(FrameInfo frame, std::span<const FrameBox> boxes, uint64_t time,
                     std::vector<Message>& out, const Complete& complete) {
  if (settings_.what.tracks) add_events(tracks_.add(frame, boxes, time), out);
  if (settings_.what.counts) counts_.set(boxes, settings_.counts, settings_.source);
  if (!pace_.passes(time)) return {};
  const Status added = settings_.what.boxes ? add_boxes(frame, boxes, out, complete) : Status{};
  if (settings_.what.counts) add_counts(settings_.on_change.counts, out);
  return added;
}

void Messages::finish(std::vector<Message>& out) {
  if (settings_.what.tracks) add_events(tracks_.finish(), out);
  if (settings_.what.counts) add_counts(true, out);
}

}  // namespace keepbox
