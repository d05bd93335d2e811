// SPDX-License-Identifier: LGPL-2.1-or-later
// Frames with several tensors: raw heads, heat maps, integers, multiple labels.
#include <cstdio>
#include <cstdlib>

#include "tests/bench/family_frames.h"
#include "tests/bench/gpu/gpu.h"

namespace keepbox::test::gpu {
namespace {

std::vector<TensorView> views_of(const std::vector<Tensor>& tensors) {
  std::vector<TensorView> out;
  for (const Tensor& tensor : tensors) out.push_back(tensor.view());
  return out;
}

/// A backend on all frames of a family, in its own memory.
class Contest {
 public:
  Contest(const FamilyFrames& family, std::string_view backend) {
    const auto first = views_of(family.frames[0]);
    auto plan = make_plan(family.settings, first);
    if (!plan) fail(plan.error().message());
    const bool device = find_backend(backend)->memory == MemorySpace::kCuda;
    processor_ = make_processor(*plan, backend, device ? MemorySpace::kCuda : MemorySpace::kSystem);
    if (!processor_) std::exit(1);
    for (const auto& tensors : family.frames) {
      views_.push_back(views_of(tensors));
      for (TensorView& view : views_.back()) {
        bytes_ += view.bytes;
        if (!device) continue;
        buffers_.emplace_back(view.data, view.bytes);
        view.data = buffers_.back().data();
        view.space = MemorySpace::kCuda;
      }
    }
  }

  std::span<const Detection> run(size_t i) {
    const Status status = processor_->run(views_[i % views_.size()]);
    if (!status) fail(status.error().message());
    return processor_->detections();
  }

  const Funnel& funnel() const { return processor_->funnel(); }
  double bytes_each() const {
    return static_cast<double>(bytes_) / static_cast<double>(views_.size());
  }

 private:
  static void fail(const std::string& why) {
    std::fprintf(stderr, "gpu-bench: %s\n", why.c_str());
    std::exit(1);
  }

  std::vector<DeviceBuffer> buffers_;
  std::vector<std::vector<TensorView>> views_;
  std::optional<Processor> processor_;
  size_t bytes_ = 0;
};

void measure_family(Session& session, const FamilyFrames& family) {
  std::fprintf(stderr, "gpu-bench: families: %s\n", family.name.c_str());
  Contest reference(family, "reference");
  for (const std::string_view name : {"cuda", "simd"}) {
    if (find_backend(name) == nullptr) continue;
    Contest contest(family, name);
    std::string check = "exact";
    for (size_t i = 0; i < family.frames.size() && check == "exact"; ++i)
      check = compare(contest.run(i), reference.run(i));
    const Times times = timed({}, [&](size_t i) { contest.run(i); });
    session.add({.section = "families",
                 .input = family.name,
                 .contender = "keepbox " + std::string(name),
                 .check = check,
                 .p50 = times.p50,
                 .p99 = times.p99,
                 .calls = times.calls,
                 .candidates = contest.funnel().after_class_filter,
                 .boxes = contest.funnel().kept,
                 .gb_per_s = contest.bytes_each() / times.p50 / 1e3});
  }
}

}  // namespace

void measure_families(Session& session) {
  for (const FamilyFrames& family : family_frames(kTensors)) measure_family(session, family);
}

}  // namespace keepbox::test::gpu
