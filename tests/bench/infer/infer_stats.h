// SPDX-License-Identifier: LGPL-2.1-or-later
// Statistics of tensorinfer and boxdecode.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

namespace keepbox::test {

/// Counters since the start, over all streams.
struct Sums {
  double inferred = 0, decoded = 0, boxes = 0, zero_copy = 0, uploaded = 0, downloaded = 0;
  double batch = 0, batches = 0, batched = 0;  // largest size, runs and their frames
  std::string provider, runtime;
  bool graph = false;

  void add(GstElement* infer, GstElement* boxes_element);
};

/// Microseconds of single frames.
struct Samples {
  std::vector<double> input, model, boxes;

  /// Adds the last frame, or on a GPU a recent one. The stock element reports nothing.
  void take(GstElement* infer, GstElement* boxes_element);
  void join(const Samples& other);
};

/// @param part 0.5 for the median. Returns 0 without times.
double quantile(std::vector<double> times, double part);

}  // namespace keepbox::test
