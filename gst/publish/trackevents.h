// SPDX-License-Identifier: LGPL-2.1-or-later
// The beginning, improvements and end of tracks.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "core/formula/letterbox.h"
#include "gst/metas/framebox.h"
#include "gst/metas/skippedmodels.h"
#include "gst/publish/pace.h"
#include "gst/publish/topics.h"
#include "gst/sink/boxwriter.h"

namespace keepbox {

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
  TrackEvents(uint64_t timeout, double rate, std::string source, bool named);

  /// Returns the events of the next frame. A track ends on a frame that its model looked at.
  /// @param time running time in ns; if it goes back by up to the timeout and a second, tracks go
  /// on from there, otherwise they all end.
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
    uint64_t seen = 0;                    // running time of the last box
    std::optional<uint64_t> missed;       // since when its model looked and did not find it
    std::optional<uint64_t> first, last;  // stream time
    uint64_t frames = 0;                  // with a box
    std::optional<float> score;           // of the best box
    std::string best, now;                // boxes as JSON objects
    bool improved = false;                // since the last event
    Pace pace;
  };
  using Key = std::pair<GQuark, guint64>;  // model, tracking id

  TrackEvent event(const char* type, const Key& key, const Track& track) const;
  void follow(const FrameInfo& frame, const FrameBox& box, uint64_t time,
              std::vector<TrackEvent>& out);
  void go_back(uint64_t time, std::vector<TrackEvent>& out);
  bool is_over(Track& track, bool looked, uint64_t time) const;

  uint64_t timeout_;
  double rate_;
  std::string source_;
  bool named_;
  uint64_t time_ = 0;
  bool full_ = false;
  std::map<Key, Track> tracks_;
};

}  // namespace keepbox
