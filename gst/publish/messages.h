// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes messages of frames.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "gst/publish/counts.h"
#include "gst/publish/message.h"
#include "gst/publish/pace.h"
#include "gst/publish/publishprops.h"
#include "gst/publish/trackevents.h"
#include "gst/sink/boxwriter.h"

namespace keepbox {

/// The messages of a stream.
class Messages {
 public:
  Messages(PublishSettings settings, const PublishProps& props);

  /// Adds to a frame what is only read if its boxes are published.
  using Complete = std::function<Status(FrameInfo&)>;

  /// Appends the messages of the next frame. If `complete` fails, its error is returned, and the
  /// boxes are published without its data. @param time running time in ns
  Status add(FrameInfo frame, std::span<const FrameBox> boxes, uint64_t time,
             std::vector<Message>& out, const Complete& complete = {});

  /// Appends what the rate kept back, and ends all tracks.
  void finish(std::vector<Message>& out);

 private:
  // Model, class number and label of a box, and its tracking id or else its turn.
  using Object = std::tuple<GQuark, std::optional<uint32_t>, GQuark, bool, uint64_t>;
  // Model, attribute and text of a result about the whole frame.
  using FrameLabel = std::tuple<GQuark, GQuark, std::string>;

  /// Content of a JSON object that counts as a change.
  struct Content {
    std::set<Object> objects;
    std::set<FrameLabel> labels;
    friend bool operator==(const Content&, const Content&) = default;
  };

  Message message(std::string topic, std::string payload, bool retain) const;
  static Content content_of(const FrameInfo& frame, std::span<const FrameBox> boxes);
  bool is_changed(const FrameInfo& frame, std::span<const FrameBox> boxes);
  Status add_boxes(FrameInfo& frame, std::span<const FrameBox> boxes, std::vector<Message>& out,
                   const Complete& complete);
  void add_events(const std::vector<TrackEvent>& events, std::vector<Message>& out);
  void add_counts(bool changed, std::vector<Message>& out);

  PublishSettings settings_;
  int qos_;
  BoxWriter writer_;
  Pace pace_;
  Counts counts_;
  TrackEvents tracks_;
  std::optional<Content> published_;  // of the last JSON object
};

}  // namespace keepbox
