// SPDX-License-Identifier: LGPL-2.1-or-later
// What tensorinfer and boxdecode say of themselves.
#pragma once

#include <gst/gst.h>

#include <string>
#include <vector>

namespace keepbox::test {

/// Counts since the start, over all streams.
struct Sums {
  double inferred = 0, decoded = 0, boxes = 0, zero_copy = 0, uploaded = 0, downloaded = 0;
  std::string provider, runtime;
  bool graph = false;

  void add(GstElement* infer, GstElement* boxes_element);
};

/// Microseconds of single frames.
struct Samples {
  std::vector<double> input, model, boxes;

  /// Of the frame that was last, on a GPU of one shortly before it. The stock element says nothing.
  void take(GstElement* infer, GstElement* boxes_element);
  void join(const Samples& other);
};

/// @param part 0.5 for the median. Of no times it is 0.
double quantile(std::vector<double> times, double part);

}  // namespace keepbox::test
