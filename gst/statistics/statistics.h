// SPDX-License-Identifier: LGPL-2.1-or-later
// Statistics of all elements, in a file for Prometheus.
#pragma once

#include <gst/gst.h>

#include <chrono>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "core/base/result.h"

namespace keepbox {

// The tracer keepboxstats, which writes the statistics of a process to a file.

/// Registers the tracer, which GST_TRACERS starts by its name, keepboxstats.
bool register_stats_tracer(GstPlugin* plugin);

// A file that has the statistics of running elements.

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

// Statistics of elements as text for Prometheus.

/// Values of the property "stats" of an element.
struct ElementStats {
  std::string pipeline;
  std::string element;
  std::string factory;
  const GstStructure* values;
  double frame_age = 0;  // seconds since a frame left the element
  double look_age = 0;   // seconds since one did that the models looked at
};

/// Returns what a field of the property "stats" is, in a sentence without its full stop. Of a field
/// that is not in the table, it names the element whose documentation has it.
std::string stats_help(std::string_view factory, std::string_view field);

/// True if the table has that field of that kind of element.
bool has_stats_help(std::string_view factory, std::string_view field);

/// Returns the text format of Prometheus: a counter or gauge for each number, such as
/// keepbox_boxdecode_frames_total, one "info" for each element that has texts, as labels, the ages
/// of the last frames, and the version of this build. Of several elements with the same names only
/// the first is in it; without elements the text is empty.
/// @param source label of all lines; left out if empty
std::string prometheus_text(std::span<const ElementStats> elements, const std::string& source);

}  // namespace keepbox
