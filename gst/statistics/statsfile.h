// SPDX-License-Identifier: LGPL-2.1-or-later
// A file that has the statistics of running elements.
#pragma once

#include <gst/gst.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

/// Destination of the statistics.
struct StatsPlace {
  std::string file;
  std::string source;  // label of all lines; may be empty
  std::chrono::duration<double> interval{10};

  /// Reads "file=/var/lib/x.prom,interval=10,source=front", the parameters of a tracer.
  static Result<StatsPlace> parse(const std::string& params);
};

/// Notes when frames pass a pad of an element: its "src", or its "sink" if it has no other.
class PassedFrames {
 public:
  /// Begins to note, as if a frame had passed now.
  explicit PassedFrames(GstElement* element);
  ~PassedFrames();
  PassedFrames(const PassedFrames&) = delete;
  PassedFrames& operator=(const PassedFrames&) = delete;

  /// Returns the seconds since a frame passed.
  double frame_age() const;
  /// Returns the seconds since a frame passed that every model looked at.
  double look_age() const;

  struct Times;

 private:
  std::shared_ptr<Times> times_;  // shared with the probe, which may be running
  GWeakRef pad_;
  gulong probe_ = 0;
};

/// Replaces a file at intervals, in a separate thread. Readers never find an incomplete one.
class StatsFile {
 public:
  explicit StatsFile(StatsPlace place) : place_(std::move(place)) {}

  /// Adds an element of keepbox that has statistics; others are ignored. To be called while it is
  /// in its pipeline, whose name is kept. Starts the thread.
  void watch(GstElement* element);
  /// Has the thread write the file at once, for elements that have started.
  void write_soon();
  /// Writes the file now, unless no element is left. Of several failures in turn, the first is
  /// printed.
  void write();

 private:
  struct Watched {
    explicit Watched(GstElement* element);
    ~Watched() { g_weak_ref_clear(&weak); }
    Watched(const Watched&) = delete;
    Watched& operator=(const Watched&) = delete;

    GWeakRef weak;
    const GstElement* address;  // only compared
    std::string pipeline;
    PassedFrames frames;
  };
  struct Element {
    GstElement* element;  // transfer full
    std::string pipeline;
    double frame_age, look_age;
  };

  std::vector<Element> elements();
  void run(const std::stop_token& stop);

  const StatsPlace place_;
  std::mutex list_mutex_, file_mutex_;
  std::condition_variable_any changed_;
  std::list<Watched> watched_;  // under list_mutex_
  bool due_ = false;            // a write before the interval ends; under list_mutex_
  bool failed_ = false;         // the last attempt; under file_mutex_
  std::jthread thread_;         // ends first
};

}  // namespace keepbox
