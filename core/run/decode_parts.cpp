// SPDX-License-Identifier: LGPL-2.1-or-later
// Splits the anchors of an image, and moves the candidates of the parts together.
#include "core/run/decode_parts.h"

#include <algorithm>

namespace keepbox {
namespace {

/// Bytes of tensors that are worth a thread.
constexpr size_t kPartBytes = size_t{1} << 19;

/// Returns the number of parts, at most `limit`, that have enough work each.
uint32_t parts_for(const DecodeCall& call, uint32_t limit) {
  size_t bytes = 0;
  const uint32_t images = call.plan.is_joint() ? 1 : call.plan.layout.images;
  for (const TensorView& tensor : call.tensors) bytes += tensor.bytes / images;
  return static_cast<uint32_t>(
      std::clamp<size_t>(bytes / kPartBytes, 1, std::min(limit, kMaxThreads)));
}

/// An image decoded in parts, each with its own range of the candidates.
struct DecodeJob {
  const DecodeCall& call;
  std::span<Candidate> out;
  uint32_t parts;
  struct {
    Funnel funnel;
    uint32_t count = 0;
  } results[kMaxThreads];

  /// Returns the maximum number of candidates per anchor.
  uint32_t each() const {
    return call.plan.rules.candidates / std::max(call.plan.layout.anchors, 1u);
  }

  /// Returns the anchors of a part. Boundaries are multiples of a cache line.
  AnchorRange range(uint32_t part) const {
    const uint32_t anchors = call.plan.layout.anchors, each = (anchors / parts / 64 + 1) * 64;
    return {std::min(part * each, anchors), std::min((part + 1) * each, anchors)};
  }

  void run(uint32_t part) {
    const AnchorRange mine = range(part);
    Funnel funnel;
    results[part].count = call.decode(
        call.plan, call.tensors, call.image, mine,
        out.subspan(size_t{mine.first} * each(), size_t{mine.end - mine.first} * each()), funnel);
    results[part].funnel = funnel;
  }

  /// Moves the candidates together, adds up the counters and returns the number of candidates.
  uint32_t merge(Funnel& funnel) const {
    uint32_t count = 0;
    for (uint32_t part = 0; part < parts; ++part) {
      const auto& [part_funnel, found] = results[part];
      const size_t first = size_t{range(part).first} * each();
      if (first != count) std::ranges::copy(out.subspan(first, found), out.subspan(count).begin());
      count += found;
      funnel.anchors += part_funnel.anchors;
      funnel.above_threshold += part_funnel.above_threshold;
      funnel.not_finite += part_funnel.not_finite;
      funnel.after_class_filter += part_funnel.after_class_filter;
    }
    return count;
  }
};

}  // namespace

uint32_t decode_parts(const DecodeCall& call, ThreadPool* threads, std::span<Candidate> out,
                      Funnel& funnel) {
  const uint32_t parts = threads == nullptr ? 1 : parts_for(call, threads->size());
  if (parts == 1)
    return call.decode(call.plan, call.tensors, call.image, {0, call.plan.layout.anchors}, out,
                       funnel);
  DecodeJob job{call, out, parts, {}};
  threads->run(parts, [](void* of, uint32_t i) { static_cast<DecodeJob*>(of)->run(i); }, &job);
  return job.merge(funnel);
}

}  // namespace keepbox
