// SPDX-License-Identifier: LGPL-2.1-or-later
// Makes messages of frames.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <tuple>
#include <vector>

#include "core/formula/letterbox.h"
#include "core/track/streamclock.h"
#include "gst/metas/boxes.h"
#include "gst/metas/skippedmodels.h"
#include "gst/publish/counts.h"
#include "gst/publish/countstates.h"
#include "gst/publish/outbox.h"
#include "gst/publish/properties.h"
#include "gst/sink/writer.h"

namespace keepbox {

// Limits how often something happens.

/// Passes at most so many events per second in the long run.
class Pace {
 public:
  /// @param rate per second; 0: no limit
  explicit Pace(double rate) : interval_(rate > 0 ? static_cast<uint64_t>(1e9 / rate) : 0) {}

  bool is_limited() const { return interval_ > 0; }

  /// True if an event passes. @param time in ns; earlier than the last one after a flush
  bool passes(uint64_t time) {
    if (last_ && *last_ <= time && time < next_) return false;
    // Frames that come a little late do not slow the others down.
    const bool regular = last_ && *last_ <= time && time - next_ < interval_;
    next_ = (regular ? next_ : time) + interval_;
    last_ = time;
    return true;
  }

 private:
  uint64_t interval_;             // ns
  uint64_t next_ = 0;             // earliest next one
  std::optional<uint64_t> last_;  // that passed
};

// The beginning, improvements and end of tracks.

/// A JSON object about a track, and the values of its topic.
struct TrackEvent {
  TopicValues topic;
  std::string text;
};

/// Follows objects by model and tracking id. The best box of a track is that of the highest score;
/// boxes that are held or predicted do not count.
class TrackEvents {
 public:
  static constexpr size_t kMaxTracks = 4096;

  /// @param timeout without a box after which a track ends, in ns. @param rate of improvements
  /// @param source of topics and, with `named`, of the objects
  TrackEvents(int64_t timeout, double rate, std::string source, bool named);

  /// Returns the events of the next frame. A track ends on a frame that its model looked at.
  /// @param time running time in ns, of which StreamClock decides whether tracks go on.
  std::vector<TrackEvent> add(const FrameInfo& frame, std::span<const FrameBox> boxes,
                              const SkippedModels& skipped, uint64_t time);

  /// Ends all tracks.
  std::vector<TrackEvent> finish();

  /// True if objects were left out because there are too many tracks.
  bool is_full() const { return full_; }

 private:
  struct Track {
    TopicValues topic;
    bool present = false;                 // on the last frame
    int64_t seen = 0;                     // time of the last box, by the clock
    std::optional<int64_t> missed;        // since when its model looked and did not find it
    std::optional<uint64_t> first, last;  // stream time
    uint64_t frames = 0;                  // with a box
    std::optional<float> score;           // of the best box
    std::string best, now;                // boxes as JSON objects
    bool improved = false;                // since the last event
    Pace pace;
  };

  TrackEvent event(const char* type, const ObjectKey& key, const Track& track) const;
  void follow(const FrameInfo& frame, const FrameBox& box, uint64_t time,
              std::vector<TrackEvent>& out);
  bool is_over(Track& track, bool looked, int64_t now) const;

  int64_t timeout_;
  double rate_;
  std::string source_;
  bool named_;
  StreamClock clock_;
  int64_t before_ = 0;  // time of the last frame, by the clock
  bool full_ = false;
  std::map<ObjectKey, Track> tracks_;
};

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

  /// Appends what boxcount tells after the last frame.
  void add_events(const FrameCounts& counts, std::vector<Message>& out);

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
  bool has_turn(const PublishedFrame& frame, bool passes);
  Status add_boxes(PublishedFrame& frame, bool passes, std::vector<Message>& out,
                   const Complete& complete);
  void add_events(const std::vector<TrackEvent>& events, std::vector<Message>& out);
  void add_counts(bool changed, std::vector<Message>& out);
  void add_states(const Kinds& changed, std::vector<Message>& out);
  void add_events(const FrameCounts& counts, const FrameInfo& frame, std::vector<Message>& out);

  PublishSettings settings_;
  int qos_;
  BoxWriter writer_;
  Pace pace_;
  Counts counts_;
  CountStates states_;
  TrackEvents tracks_;
  FrameInfo last_;  // without what it borrows
  ModelLooks looks_;
  std::optional<Content> published_;  // of the last JSON object
  bool incomplete_ = false;           // a model skipped its frame
  bool due_ = false;                  // the rate allows a JSON object
  bool warned_ = false;
};

}  // namespace keepbox
