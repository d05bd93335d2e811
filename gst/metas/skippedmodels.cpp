// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and reads the notes of models that did not look at a frame.
#include "gst/metas/skippedmodels.h"

#include <algorithm>
#include <utility>

#include "gst/metas/records.h"
#include "gst/metas/relationmeta.h"
#include "gst/tensors/provenance.h"

namespace keepbox {

void note_skipped_frame(GstBuffer* buffer, SharedProvenance source) {
  note_skipped(buffer, std::move(source));
  add_wire_meta(buffer);
}

void note_skipped_model(GstBuffer* buffer, GQuark model) {
  add_skipped(relation_meta_for(buffer, 1, 0), model);
}

SkippedModels::SkippedModels(GstBuffer* buffer)
    : models_(Records(gst_buffer_get_analytics_relation_meta(buffer)).skipped()) {
  all_ = models_.empty() && was_skipped(buffer) && !was_looked_at(buffer);
}

bool SkippedModels::has(GQuark model) const {
  return all_ || std::ranges::contains(models_, model);
}

}  // namespace keepbox
