// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts frames and fills the stats structure.
#include "gst/classify/classifystats.h"

#include <algorithm>

namespace keepbox {

void ClassifyStats::add(const ClassifyCounts& counts, GstClockTime time,
                        const std::string& recognised) {
  ++frames_;
  sum_.images += counts.images;
  sum_.results += counts.results;
  sum_.kept += counts.kept;
  time_ += time;
  recognised_ = recognised;
}

GstStructure* ClassifyStats::structure() const {
  const double frames = static_cast<double>(std::max<guint64>(frames_, 1));
  return gst_structure_new("classdecode-stats", "frames", G_TYPE_UINT64, frames_, "images",
                           G_TYPE_UINT64, sum_.images, "results", G_TYPE_UINT64, sum_.results,
                           "kept-results", G_TYPE_UINT64, sum_.kept, "recognized", G_TYPE_STRING,
                           recognised_.c_str(), "time-per-frame-us", G_TYPE_DOUBLE,
                           static_cast<double>(time_) / GST_USECOND / frames, nullptr);
}

}  // namespace keepbox
