// SPDX-License-Identifier: LGPL-2.1-or-later
// Times the frames of a batch of streams in boxdecode's decoders: together, and one by one. The
// backend is that of KEEPBOX_BACKEND.
#include <gst/gst.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <utility>
#include <vector>

#include "gst/decode/decoder.h"
#include "tests/dense.h"
#include "tests/gst/frames.h"

namespace keepbox {
namespace {

/// Streams of one element, as in batches.
class Streams {
 public:
  explicit Streams(size_t count) : element_(gst_bin_new(nullptr)) {
    gst_object_ref_sink(element_);
    for (size_t i = 0; i < count; ++i) {
      decoders_.push_back(i == 0 ? std::make_unique<Decoder>(element_, &stop_)
                                 : std::make_unique<Decoder>(element_, &stop_, *decoders_.front()));
      if (i == 0 && !decoders_.front()->start()) std::exit(1);
      decoders_.back()->set_picture({.size = {640 + 64 * guint(i), 640}});
      frames_.emplace_back(test::empty_frame());
      test::attach(frames_.back().get(), test::dense({.classes = 80}, unsigned(i)));
    }
  }
  Streams(const Streams&) = delete;
  Streams& operator=(const Streams&) = delete;
  ~Streams() {
    group_.clear();
    while (!decoders_.empty()) decoders_.pop_back();
    gst_object_unref(element_);
  }

  /// Decodes a frame of each stream. @return the number of runs.
  uint32_t run(bool together) {
    uint32_t runs = 0;
    for (size_t i = 0; i < decoders_.size(); ++i) {
      held_.emplace_back(copy_with_tensors(frames_[i].get()));  // without a note
      group_.add(*decoders_[i], held_.back().get());
      if (!together) runs += finish();
    }
    if (together) runs += finish();
    return runs;
  }

 private:
  uint32_t finish() {
    uint32_t runs = 0;
    const auto flow =
        group_.finish([&](Decoder& decoder, GstBuffer*, const Status& status, GstClockTime) {
          runs += decoder.runs();
          return status ? GST_FLOW_OK : GST_FLOW_ERROR;
        });
    held_.clear();
    if (flow != GST_FLOW_OK) std::exit(1);
    return runs;
  }

  GstElement* element_;
  std::atomic<bool> stop_ = false;
  std::vector<std::unique_ptr<Decoder>> decoders_;
  FrameGroup group_;
  std::vector<test::Buffer> frames_, held_;
};

/// Returns the median time of a frame in microseconds, and the runs of a batch.
std::pair<double, uint32_t> measure(size_t streams, bool together) {
  constexpr int kBatches = 60;
  Streams all(streams);
  uint32_t runs = 0;
  for (int i = 0; i < 3; ++i) runs = all.run(together);
  std::vector<double> times;
  for (int i = 0; i < kBatches; ++i) {
    const GstClockTime before = gst_util_get_timestamp();
    all.run(together);
    times.push_back(double(gst_util_get_timestamp() - before) / GST_USECOND / double(streams));
  }
  std::ranges::nth_element(times, times.begin() + kBatches / 2);
  return {times[kBatches / 2], runs};
}

}  // namespace
}  // namespace keepbox

int main(int argc, char** argv) {
  using namespace keepbox;
  gst_init(&argc, &argv);
  for (const size_t streams : {1, 2, 4, 8, 16})
    for (const bool together : {false, true}) {
      const auto [time, runs] = measure(streams, together);
      std::printf(
          "%2zu streams of 84x8400, %-10s  %2u runs per batch  %8.1f us per frame, median\n",
          streams, together ? "together" : "one by one", runs, time);
    }
}
