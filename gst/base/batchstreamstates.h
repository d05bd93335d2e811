// SPDX-License-Identifier: LGPL-2.1-or-later
// The streams of batches, followed from batch to batch (see framebatch.h).
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gst/base/framebatch.h"

namespace keepbox {

/// The sticky events of a stream, which each of its batches repeats.
class RepeatedEvents {
 public:
  /// Remembers an event. @return false if it is the last one of its type again.
  bool take(GstEvent* event) {
    if (!GST_EVENT_IS_STICKY(event)) return true;
    Owned& last = last_[GST_EVENT_TYPE(event)];
    if (last && are_same(last.get(), event)) return false;
    last.reset(gst_event_ref(event));
    return true;
  }

 private:
  struct Unref {
    void operator()(GstEvent* event) const { gst_event_unref(event); }
  };
  using Owned = std::unique_ptr<GstEvent, Unref>;

  static bool are_same(GstEvent* a, GstEvent* b) {
    if (a == b) return true;
    const GstStructure *first = gst_event_get_structure(a), *second = gst_event_get_structure(b);
    return gst_event_get_seqnum(a) == gst_event_get_seqnum(b) && first != nullptr &&
           second != nullptr && gst_structure_is_equal(first, second);
  }

  std::map<GstEventType, Owned> last_;
};

/// The data that an element keeps of each stream.
template <class StreamState>
class BatchStreamStates {
 public:
  /// Returns the state of each stream of a batch, in order. A stream is identified by its id, or by
  /// its number if it has none; streams with the same id, such as those of a tee, by their order.
  /// The state of a stream that is not in the batch is dropped.
  /// @param make returns a std::unique_ptr<StreamState> for a new stream.
  template <class Make>
  std::vector<StreamState*> follow(const std::vector<BatchedStream>& streams, Make make) {
    std::vector<Entry> now;
    std::vector<StreamState*> out;
    for (const BatchedStream& stream : streams) {
      const std::string id = stream.id.empty() ? '#' + std::to_string(now.size()) : stream.id;
      const auto there = std::ranges::find_if(
          entries_, [&](const Entry& each) { return each.id == id && each.state != nullptr; });
      const bool known = there != entries_.end();
      now.push_back({id, known ? std::move(there->state) : make()});
      out.push_back(now.back().state.get());
    }
    entries_ = std::move(now);
    return out;
  }

  template <class Function>
  void for_each(Function function) {
    for (Entry& each : entries_) function(*each.state);
  }
  void clear() { entries_.clear(); }

 private:
  struct Entry {
    std::string id;
    std::unique_ptr<StreamState> state;
  };
  std::vector<Entry> entries_;
};

}  // namespace keepbox
