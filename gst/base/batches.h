// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames of several streams in one buffer: caps, parts, and a state per stream.
#pragma once

#include <gst/gst.h>

#include <algorithm>
#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/base/result.h"
#include "gst/base/element.h"

namespace keepbox {

// Ownership of a buffer.

/// Owns a buffer reference.
struct BufferUnref {
  void operator()(GstBuffer* buffer) const { gst_buffer_unref(buffer); }
};
using OwnedBuffer = std::unique_ptr<GstBuffer, BufferUnref>;

// Buffers with frames and events of several streams: GstAnalyticsBatchMeta, which exists from
// GStreamer 1.28 on and is found by name, so that builds with an older version read it, too.

/// The layout of GstAnalyticsBatchMeta.
struct BatchMetaLayout;

/// An event or a frame of a stream in a batch; neither, if it is anything else.
struct BatchItem {
  GstEvent* event = nullptr;  // owned by the batch
  OwnedBuffer frame;          // writable
  size_t object = 0;          // place in the stream
};

/// A stream's part of a batch.
struct BatchedStream {
  std::string id;                 // empty if it is unknown
  std::vector<GstEvent*> sticky;  // in force before the first item; owned by the batch
  std::vector<BatchItem> items;   // in their order; frames of a buffer list one by one
};

/// An open batch. Its frames are out of the buffer, so that they can be written to.
class FrameBatch {
 public:
  /// @param buffer writable, and outlives this.
  explicit FrameBatch(GstBuffer* buffer);
  FrameBatch(const FrameBatch&) = delete;
  FrameBatch& operator=(const FrameBatch&) = delete;
  /// Puts the frames back into their places. @pre every item that had a frame has one.
  ~FrameBatch();

  /// False if the buffer is no batch.
  explicit operator bool() const { return meta_ != nullptr; }
  std::vector<BatchedStream>& streams() { return streams_; }
  /// Returns the largest number of frames of a stream.
  size_t max_frames_per_stream() const;

 private:
  BatchMetaLayout* meta_;
  std::vector<BatchedStream> streams_;
};

// Negotiation of batches of streams.

/// True if GStreamer has such batches, in the layout of its releases from 1.28 on.
bool has_batches();

/// True if they are the caps of batches. @pre fixed.
bool are_batches(const GstCaps* caps);

/// Adds the caps of batches to a template's, if GStreamer has them. @param caps writable.
void add_batches(GstCaps* caps);

/// Adds the caps of batches to the result of a caps query, even if no element downstream has them,
/// so that the element can explain it. @pre the query is answered, for a sink pad.
void offer_batches(GstQuery* query);

/// Posts an error if an event has caps of batches, and the element linked to the pad "src" takes
/// none.
/// @return true if it did; the event then is transfer full.
bool refuse_batches(GstElement* element, PostedError& failed, GstEvent* event);

/// Returns the error of a buffer that is no batch, although its caps are.
std::unexpected<Error> no_batch();

// The streams of batches, followed from batch to batch.

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
