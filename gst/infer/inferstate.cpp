// SPDX-License-Identifier: LGPL-2.1-or-later
// Takes the object lock for what other threads read.
#include "gst/infer/inferstate.h"

namespace keepbox {

bool InferState::get(guint id, GValue* value) const {
  if (!is_stats(id)) return TableProps::get(id, value);
  g_value_take_boxed(value, stats.structure(model().batch_counts()));
  return true;
}

void InferState::interrupt(bool on) {
  model().interrupt(on);
  batches.interrupt(on);
}

void InferState::restart_stream() {
  lateness.reset();
  stream.forget();
  batches.forget();
}

InferBatches::Rules InferState::rules_at(GstClockTime running) {
  GST_OBJECT_LOCK(element);
  const InferBatches::Rules rules{.skip = {.interval = props.interval, .hold = props.hold},
                                  .late = props.qos && lateness.is_late(running)};
  if (rules.late && !in_batches) stats.add_late();
  GST_OBJECT_UNLOCK(element);
  return rules;
}

void InferState::count(const InferStream::Completed& frame, const Model& by, bool late) {
  GST_OBJECT_LOCK(element);
  if (late) stats.add_late();
  if (frame.use == FrameUse::kInferred) stats.add_inferred(by.times(), frame.took);
  else stats.add_between(frame.held);
  GST_OBJECT_UNLOCK(element);
}

void InferState::show_setup() {
  GST_OBJECT_LOCK(element);
  stats.set(model().setup());
  GST_OBJECT_UNLOCK(element);
}

}  // namespace keepbox
