// SPDX-License-Identifier: LGPL-2.1-or-later
// The state of a tensorinfer.
#pragma once

#include <gst/gst.h>

#include <atomic>

#include "gst/base/element.h"
#include "gst/infer/inferbatches.h"
#include "gst/infer/inferstats.h"
#include "gst/infer/inferstream.h"
#include "gst/infer/lateness.h"
#include "gst/infer/orientationcheck.h"
#include "gst/infer/settings/inferprops.h"

namespace keepbox {

struct InferState : CountedProps<InferProps, infer_properties, InferStats> {
  explicit InferState(GstElement* of) : element(of), stream(element), batches(element, stream) {}
  bool get(guint id, GValue* value) const;

  Model& model() { return stream.model(); }
  const Model& model() const { return stream.model(); }
  /// Makes all waits for the model fail while `on`. From any thread.
  void interrupt(bool on);
  /// Starts a new stream, independent of the one before. @pre no frame is in the line.
  void restart_stream();

  /// Returns the rules for the frame, or the batch, of that running time.
  InferBatches::Rules rules_at(GstClockTime running);
  /// Counts a frame that a model has run, or that passes. @param late a frame of a batch that is
  /// skipped because it would be late; others are counted by rules_at().
  void count(const InferStream::Completed& frame, const Model& by, bool late = false);
  void show_setup();

  GstElement* const element;
  Lateness lateness;                     // set by any thread
  std::atomic<bool> in_batches = false;  // the caps are those of batches
  // The streaming thread's own:
  InferStream stream;
  InferBatches batches;
  PostedError failed;
  OrientationCheck orientation;
};

}  // namespace keepbox
