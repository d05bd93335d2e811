// SPDX-License-Identifier: LGPL-2.1-or-later
// Counts frames and fills the stats structure.
#include "gst/infer/inferstats.h"

#include <algorithm>

namespace keepbox {

void InferStats::add_inferred(const InferTimes& times, GstClockTime time) {
  ++inferred_;
  time_ += time;
  last_ = times;
  timed_ += times.model_us > 0;
  for (auto each : {&InferTimes::input_us, &InferTimes::model_us, &InferTimes::queued_us})
    sum_.*each += times.*each;
}

void InferStats::add_between(bool held) {
  ++skipped_;
  held_ += held;
}

GstStructure* InferStats::structure(const BatchCounts& batches) const {
  const double frames = static_cast<double>(std::max<guint64>(inferred_, 1));
  const double timed = static_cast<double>(std::max<guint64>(timed_, 1));
  const double runs = static_cast<double>(std::max<uint64_t>(batches.batches, 1));
  return gst_structure_new(
      "tensorinfer-stats", "frames", G_TYPE_UINT64, inferred_ + skipped_, "inferred", G_TYPE_UINT64,
      inferred_, "skipped", G_TYPE_UINT64, skipped_, "held", G_TYPE_UINT64, held_, "late",
      G_TYPE_UINT64, late_, "time-per-frame-us", G_TYPE_DOUBLE,
      static_cast<double>(time_) / GST_USECOND / frames, "preprocess-us", G_TYPE_DOUBLE,
      sum_.input_us / timed, "inference-us", G_TYPE_DOUBLE, sum_.model_us / timed, "queue-us",
      G_TYPE_DOUBLE, sum_.queued_us / frames, "last-preprocess-us", G_TYPE_DOUBLE, last_.input_us,
      "last-inference-us", G_TYPE_DOUBLE, last_.model_us, "provider", G_TYPE_STRING,
      setup_.provider.c_str(), "provider-reason", G_TYPE_STRING, setup_.reason.c_str(), "runtime",
      G_TYPE_STRING, setup_.runtime.c_str(), "batch-size", G_TYPE_UINT, batches.capacity, "batches",
      G_TYPE_UINT64, guint64{batches.batches}, "batch-fill", G_TYPE_DOUBLE,
      static_cast<double>(batches.pictures) / runs, "batch-dropped", G_TYPE_UINT64,
      guint64{batches.dropped}, "cuda-graph", G_TYPE_BOOLEAN, setup_.graph ? TRUE : FALSE,
      "recognized", G_TYPE_STRING, setup_.recognized.c_str(), nullptr);
}

}  // namespace keepbox
