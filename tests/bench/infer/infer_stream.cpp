// SPDX-License-Identifier: LGPL-2.1-or-later
// Takes the times of frames at pads, and their quantiles.
#include "tests/bench/infer/infer_stream.h"

#include <algorithm>

namespace keepbox::test {
namespace {

using Micro = std::chrono::duration<double, std::micro>;

constexpr double kLate = 1e6 / kFramesPerSecond;

}  // namespace

void Stream::enter(GstBuffer* buffer) {
  const std::lock_guard guard(lock);
  entered[GST_BUFFER_PTS(buffer)] = Clock::now();
}

void Stream::leave(GstBuffer* buffer, size_t sampled) {
  const auto now = Clock::now();
  const std::lock_guard guard(lock);
  const auto found = entered.find(GST_BUFFER_PTS(buffer));
  if (found == entered.end()) return;
  times.push_back(Micro(now - found->second).count());
  if (times.back() > kLate) late.push_back(now);
  entered.erase(found);
  last = now;
  // after taking the time, because this takes microseconds, which would be visible in fast variants
  if (times.size() % sampled == 0) samples.take(infer.get(), boxes.get());
}

void Stream::reach_model(GstBuffer* buffer) {
  const auto now = Clock::now();
  const std::lock_guard guard(lock);
  const auto found = entered.find(GST_BUFFER_PTS(buffer));
  if (found == entered.end()) return;
  before.push_back(Micro(now - found->second).count());
  to_model = now;
}

void Stream::leave_model() {
  const auto now = Clock::now();
  const std::lock_guard guard(lock);
  if (to_model != Clock::time_point()) in_infer.push_back(Micro(now - to_model).count());
}

Figures figures_of(std::span<const Stream> streams, Clock::time_point start, double& seconds) {
  std::vector<double> times, before, in_infer;
  Samples samples;
  Figures out;
  Clock::time_point last = start;
  for (const Stream& stream : streams) {
    times.insert(times.end(), stream.times.begin(), stream.times.end());
    before.insert(before.end(), stream.before.begin(), stream.before.end());
    in_infer.insert(in_infer.end(), stream.in_infer.begin(), stream.in_infer.end());
    samples.join(stream.samples);
    last = std::max(last, stream.last);
    out.dropped += static_cast<double>(stream.entered.size());
  }
  seconds = std::chrono::duration<double>(last - start).count();
  out.frames = static_cast<double>(times.size());
  out.frames_per_second = seconds > 0 ? out.frames / seconds : 0;
  out.p50 = quantile(times, 0.5);
  out.p99 = quantile(times, 0.99);
  for (const double time : times) out.mean += time / out.frames;
  out.input = quantile(samples.input, 0.5);
  out.model = quantile(samples.model, 0.5);
  out.before = quantile(before, 0.5);
  out.infer = quantile(in_infer, 0.5);
  out.boxes_time = quantile(samples.boxes, 0.5);
  std::vector<double> late;
  for (const Stream& stream : streams)
    for (const Clock::time_point each : stream.late) late.push_back(Micro(each - start).count());
  out.late = static_cast<double>(late.size());
  if (late.empty()) return out;
  const auto [first, final] = std::ranges::minmax(late);
  out.first_late = first / 1e3;
  out.last_late = final / 1e3;
  return out;
}

}  // namespace keepbox::test
