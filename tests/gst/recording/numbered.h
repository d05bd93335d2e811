// SPDX-License-Identifier: LGPL-2.1-or-later
// Recordings whose tensors have their frame's number, and lines that report what they output.
#pragma once

#include <cmath>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

#include "tests/gst/frames.h"
#include "tests/tempdir.h"

namespace keepbox::test {

/// A frame in the output of a line.
struct Seen {
  gint64 time;  // its PTS, -1 without
  int number;   // number in its tensors, -1 without tensors
  friend bool operator==(const Seen&, const Seen&) = default;
};

inline void PrintTo(const Seen& seen, std::ostream* out) {
  *out << seen.number << " at " << seen.time;
}

/// A pipeline whose element "out" is observed.
class Line {
 public:
  explicit Line(const std::string& line) : pipeline_(gst_parse_launch(line.c_str(), nullptr)) {
    bus_ = gst_element_get_bus(pipeline_);
    probe("out", "sink", [this](GstBuffer*& buffer) {
      const Buffer held(gst_buffer_ref(buffer));
      const std::lock_guard lock(mutex_);
      seen_.push_back(
          {GST_BUFFER_PTS_IS_VALID(buffer) ? gint64(GST_BUFFER_PTS(buffer)) : -1, number_of(held)});
      return true;
    });
  }
  Line(const Line&) = delete;
  Line& operator=(const Line&) = delete;
  ~Line() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(bus_);
    gst_object_unref(pipeline_);
  }

  using Change = std::function<bool(GstBuffer*&)>;  // false: the buffer is dropped

  /// Lets a function change the buffers on a pad.
  void probe(const char* element, const char* pad, Change change) {
    g_autoptr(GstElement) found = gst_bin_get_by_name(GST_BIN(pipeline_), element);
    g_autoptr(GstPad) where = gst_element_get_static_pad(found, pad);
    gst_pad_add_probe(where, GST_PAD_PROBE_TYPE_BUFFER, on_buffer, new Change(std::move(change)),
                      [](gpointer data) { delete static_cast<Change*>(data); });
  }

  void pause() {
    gst_element_set_state(pipeline_, GST_STATE_PAUSED);
    EXPECT_NE(gst_element_get_state(pipeline_, nullptr, nullptr, 20 * GST_SECOND),
              GST_STATE_CHANGE_FAILURE);
  }

  /// Seeks, and forgets the frames seen so far.
  void seek(double rate, GstSeekFlags how, gint64 start, gint64 stop = -1) {
    {
      const std::lock_guard lock(mutex_);
      seen_.clear();
    }
    EXPECT_TRUE(gst_element_seek(
        pipeline_, rate, GST_FORMAT_TIME, static_cast<GstSeekFlags>(GST_SEEK_FLAG_FLUSH | how),
        GST_SEEK_TYPE_SET, start, stop < 0 ? GST_SEEK_TYPE_NONE : GST_SEEK_TYPE_SET, stop));
    gst_element_get_state(pipeline_, nullptr, nullptr, 20 * GST_SECOND);
  }

  /// Plays to the end. @return the error's text, or "".
  std::string play() {
    gst_element_set_state(pipeline_, GST_STATE_PLAYING);
    constexpr auto kTypes =
        static_cast<GstMessageType>(GST_MESSAGE_EOS | GST_MESSAGE_ERROR | GST_MESSAGE_WARNING);
    while (GstMessage* message = gst_bus_timed_pop_filtered(bus_, 20 * GST_SECOND, kTypes)) {
      const auto type = GST_MESSAGE_TYPE(message);
      g_autoptr(GError) error = nullptr;
      if (type == GST_MESSAGE_ERROR) gst_message_parse_error(message, &error, nullptr);
      if (type == GST_MESSAGE_WARNING) gst_message_parse_warning(message, &error, nullptr);
      gst_message_unref(message);
      if (type == GST_MESSAGE_EOS) return "";
      if (type == GST_MESSAGE_ERROR) return error->message;
      warnings_.push_back(error->message);
    }
    return "no end in 20 s";
  }

  std::vector<Seen> seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }

  /// Returns the texts of the warnings of play().
  const std::vector<std::string>& warnings() const { return warnings_; }

  GstElement* pipeline() { return pipeline_; }

 private:
  static GstPadProbeReturn on_buffer(GstPad*, GstPadProbeInfo* info, gpointer change) {
    auto* buffer = GST_PAD_PROBE_INFO_BUFFER(info);
    const bool keep = (*static_cast<Change*>(change))(buffer);
    info->data = buffer;
    return keep ? GST_PAD_PROBE_OK : GST_PAD_PROBE_DROP;
  }

  static int number_of(const Buffer& buffer) {
    FrameTensors tensors;
    if (!tensors.list_tensors(buffer.get()) || !tensors.map_all() || tensors.views().empty())
      return -1;
    EXPECT_EQ(tensors.views().size(), 1u);
    return static_cast<int>(load(tensors.views()[0], 5));
  }

  GstElement* pipeline_;
  GstBus* bus_;
  std::mutex mutex_;
  std::vector<Seen> seen_;
  std::vector<std::string> warnings_;
};

/// Attaches tensors with the frame's number, from 0.
inline Line::Change number_frames() {
  return [next = 0](GstBuffer*& buffer) mutable {
    buffer = gst_buffer_make_writable(buffer);
    attach(buffer, rows({{10, 10, 50, 50, 0.9f, float(next++)}}));
    return true;
  };
}

inline Line::Change drop(std::function<bool(int)> which) {
  return [next = 0, which](GstBuffer*&) mutable { return !which(next++); };
}

inline Line::Change retime(std::function<GstClockTime(GstClockTime)> change) {
  return [change](GstBuffer*& buffer) {
    buffer = gst_buffer_make_writable(buffer);
    GST_BUFFER_PTS(buffer) = change(GST_BUFFER_PTS(buffer));
    return true;
  };
}

/// A source of small frames, 30 per second.
inline std::string source(int frames, const std::string& rate = "30/1") {
  return "videotestsrc num-buffers=" + std::to_string(frames) +
         " ! video/x-raw,format=GRAY8,width=16,height=16,framerate=" + rate + " ! ";
}

/// Records the frames of a source with their numbers. @return the recorded frames.
inline std::vector<Seen> record(const std::string& from, const std::string& folder,
                                Line::Change change = nullptr) {
  Line line(from + "identity name=mark ! tensorrecord name=rec location=" + folder +
            " ! fakesink name=out");
  line.probe("mark", "src", number_frames());
  if (change) line.probe("rec", "sink", std::move(change));
  EXPECT_EQ(line.play(), "");
  return line.seen();
}

inline int frame_at(gint64 time, int rate = 30) {
  return static_cast<int>(std::lround(double(time) * rate / GST_SECOND));
}

inline std::string replay(const std::string& folder, const std::string& settings = "") {
  return "identity name=before ! tensorreplay location=" + folder + " " + settings +
         " ! fakesink name=out";
}

/// Checks that each frame has the tensors of its time, at 30 per second.
inline void expect_own(const std::vector<Seen>& seen, size_t count) {
  EXPECT_EQ(seen.size(), count);
  for (const Seen& each : seen) EXPECT_EQ(each.number, frame_at(each.time)) << "at " << each.time;
}

}  // namespace keepbox::test
