// SPDX-License-Identifier: LGPL-2.1-or-later
// Writes and reads the notes, each of which is an mtd with a header only.
#include "gst/metas/skippedmodels.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "gst/metas/records.h"
#include "gst/metas/relationmeta.h"
#include "gst/tensors/provenance.h"

namespace keepbox {
namespace {

constexpr const char* kSkippedName = "keepbox-skipped";

struct SkippedHeader : BlockHead {
  GQuark model = 0;
};

/// Keeps the note whatever happens to the picture.
gboolean keep(GstBuffer*, GstAnalyticsMtd*, GstBuffer*, GQuark, gpointer) { return TRUE; }

const GstAnalyticsMtdImpl kSkippedImpl = {kSkippedName, keep, nullptr, {}};

}  // namespace

void note_skipped_frame(GstBuffer* buffer, SharedProvenance source) {
  note_skipped(buffer, std::move(source));
  add_wire_meta(buffer);
}

void note_skipped_model(GstBuffer* buffer, GQuark model) {
  GstAnalyticsRelationMeta* meta = relation_meta_for(buffer, 1, sizeof(SkippedHeader));
  const SkippedHeader header{{sizeof header, 0, 0}, model};
  GstAnalyticsMtd mtd;
  std::memcpy(gst_analytics_relation_meta_add_mtd(meta, &kSkippedImpl, sizeof header, &mtd),
              &header, sizeof header);
}

SkippedModels::SkippedModels(GstBuffer* buffer) {
  if (GstAnalyticsRelationMeta* meta = gst_buffer_get_analytics_relation_meta(buffer))
    for (const GstAnalyticsMtd& mtd : mtds_named(meta, kSkippedName)) {
      const auto block = open_records(mtd, sizeof(SkippedHeader), 0);
      if (!block) continue;
      const GQuark model = read_as<SkippedHeader>(block->header).model;
      if (!std::ranges::contains(models_, model)) models_.push_back(model);
    }
  all_ = models_.empty() && was_skipped(buffer) && !was_looked_at(buffer);
}

bool SkippedModels::has(GQuark model) const {
  return all_ || std::ranges::contains(models_, model);
}

}  // namespace keepbox
