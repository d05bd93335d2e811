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

#include "gst/metas/skippedmodels.h"
#include "gst/publish/counts.h"
#include "gst/publish/message.h"
#include "gst/publish/pace.h"
#include "gst/publish/publishprops.h"
#include "gst/publish/trackevents.h"
#include "gst/sink/boxwriter.h"

namespace keepbox {

/// A frame with its boxes.
struct PublishedFrame {
  FrameInfo info;
  std::span<const FrameBox> boxes{};
  SkippedModels skipped{};  // models that did not look at it
  uint64_t time = 0;        // running time in ns
};

/// The messages of a stream.
class Messages {
 public:
  Messages(PublishSettings settings, const PublishProps& props);

  /// Adds to a frame what is only read if its boxes are published.
  using Complete = std::function<Status(FrameInfo&)>;

  /// Appends the messages of the next frame. If `complete` fails, its error is returned, and the
  /// boxes are published without its data.
  Status add(PublishedFrame frame, std::vector<Message>& out, const Complete& complete = {});

  /// Ends all tracks, because other frames follow, and forgets the boxes that were published.
  void restart(std::vector<Message>& out);

  /// Appends what the rate kept back, ends all tracks, and sets the numbers to 0.
  void finish(std::vector<Message>& out);

  /// True if numbers were counted.
  bool has_counts() const { return !counts_.empty(); }

  /// Returns a warning that objects were left out; once.
  std::optional<Error> take_warning();

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
  Content content_of(const PublishedFrame& frame) const;
  bool is_changed(const PublishedFrame& frame);
  Status add_boxes(PublishedFrame& frame, bool passes, std::vector<Message>& out,
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
  bool incomplete_ = false;           // a model skipped its frame
  bool due_ = false;                  // the rate allows the next change
  bool warned_ = false;
};

}  // namespace keepbox
