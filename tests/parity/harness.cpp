// SPDX-License-Identifier: LGPL-2.1-or-later
// Poisoned outputs, guard zones, exact comparison.
#include "tests/parity/harness.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <format>
#include <functional>
#include <iterator>

#include "tests/parity/cuda_subject.h"
#include "tests/parity/fenced.h"

namespace keepbox::test {
namespace {

std::string text(const Candidate& c) {
  return std::format("score {} anchor {} class {} box {} {} {} {} angle {}", key_score(c.key),
                     key_anchor(c.key), key_class(c.key), c.box.x1, c.box.y1, c.box.x2, c.box.y2,
                     c.angle);
}

bool same(const Candidate& a, const Candidate& b) {
  return a.key == b.key && float_bits(a.angle) == float_bits(b.angle) &&
         std::memcmp(&a.box, &b.box, sizeof(Box)) == 0;
}

std::optional<std::string> compare(std::span<const Candidate> want,
                                   std::span<const Candidate> got) {
  if (want.size() != got.size())
    return std::format("{} candidates, should be {}", got.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    if (!same(want[i], got[i]))
      return std::format("number {} is {}, should be {}", i, text(got[i]), text(want[i]));
  return std::nullopt;
}

std::vector<Candidate> decoded(const Backend& backend, const Image& image, AnchorRange anchors,
                               Funnel& funnel, bool& intact) {
  const size_t each = image.plan.rules.candidates / std::max(image.plan.layout.anchors, 1u);
  Fenced<Candidate> out((anchors.end - anchors.first) * each);
  Funnel counts;
  const uint32_t count =
      backend.kernels->decode(image.plan, image.tensors, image.index, anchors, out.span(), counts);
  intact = out.intact() && count <= out.span().size();
  if (!intact) return {};
  funnel.anchors += counts.anchors;
  funnel.above_threshold += counts.above_threshold;
  funnel.not_finite += counts.not_finite;
  funnel.after_class_filter += counts.after_class_filter;
  return {out.span().begin(), out.span().begin() + count};
}

std::vector<Candidate> decoded(const Backend& backend, const Image& image, Funnel& funnel,
                               bool& intact) {
  return decoded(backend, image, {0, image.plan.layout.anchors}, funnel, intact);
}

/// Decodes in three parts; the middle one begins and ends anywhere.
std::vector<Candidate> decoded_in_parts(const Backend& backend, const Image& image, Funnel& funnel,
                                        bool& intact) {
  const uint32_t anchors = image.plan.layout.anchors, first = anchors / 3, end = anchors / 7 * 5;
  std::vector<Candidate> out;
  for (const AnchorRange part :
       {AnchorRange{0, first}, {first, std::max(first, end)}, {std::max(first, end), anchors}}) {
    bool fine = true;
    std::ranges::copy(decoded(backend, image, part, funnel, fine), std::back_inserter(out));
    intact = intact && fine;
  }
  return out;
}

/// Orders candidates that are given in the order of their anchors, or in the reverse one.
std::vector<Candidate> ordered(const Backend& backend, const Image& image, bool reversed = true) {
  Funnel funnel;
  bool intact = true;
  auto candidates = decoded(*find_backend("reference"), image, funnel, intact);
  if (reversed) std::ranges::reverse(candidates);
  std::vector<SortSlot> slots(candidates.size());
  std::vector<Candidate> out(candidates.size());
  out.resize(
      std::min<size_t>(backend.kernels->select(image.plan, candidates, slots, out), out.size()));
  return out;
}

std::optional<std::string> differ_decode(const Backend& candidate, const Image& image, bool parts) {
  Funnel want_funnel, got_funnel;
  bool want_intact = true, got_intact = true;
  auto want = decoded(*find_backend("reference"), image, want_funnel, want_intact);
  auto got = parts ? decoded_in_parts(candidate, image, got_funnel, got_intact)
                   : decoded(candidate, image, got_funnel, got_intact);
  if (!want_intact || !got_intact) return "written past the end";
  std::ranges::sort(want, {}, &Candidate::key);
  std::ranges::sort(got, {}, &Candidate::key);
  if (want_funnel.anchors != got_funnel.anchors ||
      want_funnel.above_threshold != got_funnel.above_threshold ||
      want_funnel.not_finite != got_funnel.not_finite ||
      want_funnel.after_class_filter != got_funnel.after_class_filter)
    return "the funnel counts differ";
  return compare(want, got);
}

/// Result of suppression: indices, and the candidates after it.
struct Keeps {
  std::vector<uint32_t> indices;
  std::vector<Candidate> boxes;
};

/// Returns nothing if anything was written out of bounds.
std::optional<Keeps> kept_of(const Backend& backend, const Image& image) {
  auto candidates = ordered(*find_backend("reference"), image);
  Fenced<uint32_t> out(image.plan.rules.kept_capacity);
  Fenced<float> lanes(nms_lanes(image.plan));
  Fenced<uint64_t> words(nms_words(image.plan));
  const uint32_t count =
      backend.kernels->nms(image.plan, candidates, out.span(), {lanes.span(), words.span()});
  if (!lanes.intact() || !words.intact() || !out.intact() || count > out.span().size())
    return std::nullopt;
  Keeps keeps{{out.span().begin(), out.span().begin() + count}, {}};
  for (const uint32_t index : keeps.indices) keeps.boxes.push_back(candidates[index]);
  return keeps;
}

std::optional<std::string> differ_nms(const Backend& candidate, const Image& image) {
  const auto want = kept_of(*find_backend("reference"), image), got = kept_of(candidate, image);
  if (!want || !got) return "written past the end";
  const auto &wanted = want->indices, &found = got->indices;
  if (wanted != found)
    return std::format("kept {} boxes, should be {}; they part at number {}", found.size(),
                       wanted.size(), std::ranges::mismatch(wanted, found).in1 - wanted.begin());
  auto boxes = got->boxes;
  for (size_t i = 0; candidate.memory == MemorySpace::kCuda && i < boxes.size(); ++i)
    boxes[i].box = want->boxes[i].box;  // a device's boxes are compared on the frame
  return compare(want->boxes, boxes);
}

bool same(const Detection& a, const Detection& b) {
  return a.anchor == b.anchor && a.class_id == b.class_id &&
         float_bits(a.score) == float_bits(b.score) && float_bits(a.angle) == float_bits(b.angle) &&
         std::memcmp(&a.box, &b.box, sizeof(Box)) == 0;
}

bool same_mask(const Mask& a, const Mask& b) {
  return a.width == b.width && a.height == b.height && a.stride == b.stride && a.first == b.first &&
         std::memcmp(&a.place, &b.place, sizeof(Box)) == 0 &&
         std::equal(a.bits, a.row(a.height), b.bits);
}

std::optional<std::string> differ_payload(const Processor& want, const Processor& got,
                                          uint32_t image) {
  const bool masks = want.plan().payload.has(Moves::kAsMask);  // whose coefficients may stay away
  if (!masks &&
      !std::ranges::equal(want.payload(image), got.payload(image), {}, float_bits, float_bits))
    return std::format("image {}: the payloads differ", image);
  if (!std::ranges::equal(want.masks(image), got.masks(image), same_mask))
    return std::format("image {}: the masks differ", image);
  return std::nullopt;
}

std::optional<std::string> differ_frame(const Backend& candidate, const Plan& plan,
                                        std::span<const TensorView> tensors) {
  auto want = Processor::create(plan, {find_backend("reference"), ""});
  auto got = Processor::create(plan, {&candidate, ""}, candidate.memory);
  if (!want || !got || !want->run(tensors)) return "a run failed";
  std::optional<OnDevice> on_device;
  if (candidate.memory == MemorySpace::kCuda) on_device.emplace(tensors);
  for (int repeat = 0; repeat < 2; ++repeat)  // the second run sees the state left by the first
    if (const Status status = got->run(on_device ? on_device->views() : tensors); !status)
      return status.error().message();
  for (uint32_t image = 0; image < plan.frames(); ++image) {
    const auto a = want->detections(image), b = got->detections(image);
    const auto equal = [](const Detection& x, const Detection& y) { return same(x, y); };
    if (!std::ranges::equal(a, b, equal))
      return std::format("image {}: {} boxes, should be {}, or other ones", image, b.size(),
                         a.size());
    if (std::memcmp(&want->funnel(image), &got->funnel(image), sizeof(Funnel)) != 0)
      return std::format("image {}: the funnels differ", image);
    if (auto found = differ_payload(*want, *got, image)) return found;
  }
  return std::nullopt;
}

std::optional<std::string> differ_image(Kernel kernel, const Backend& candidate,
                                        const Image& image) {
  switch (kernel) {
    case Kernel::kDecode: {
      auto found = differ_decode(candidate, image, false);
      if (found || candidate.memory != MemorySpace::kSystem) return found;
      return differ_decode(candidate, image, true);
    }
    case Kernel::kSelect: {
      const auto want = ordered(*find_backend("reference"), image);
      auto found = compare(want, ordered(candidate, image, false));
      return found ? found : compare(want, ordered(candidate, image, true));
    }
    default: return differ_nms(candidate, image);
  }
}

}  // namespace

const char* name_of(Kernel kernel) {
  const char* names[] = {"decode", "select", "nms", "frame"};
  return names[static_cast<int>(kernel)];
}

std::optional<std::string> difference(Kernel kernel, const Backend& candidate, const Input& input) {
  const Placed placed(input, candidate.memory);
  const auto plan = make_plan(input.settings, placed.views);
  if (!plan) return "no plan: " + plan.error().message();
  if (const Status status = candidate.supports(*plan); !status) return status.error().message();
  if (kernel == Kernel::kFrame) return differ_frame(candidate, *plan, placed.views);
  for (uint32_t image = 0; image < plan->layout.images; ++image)
    if (auto found = differ_image(kernel, candidate, {*plan, placed.views, image})) return found;
  return std::nullopt;
}

Kept reference_nms(const Input& input) {
  const Placed placed(input, MemorySpace::kSystem);
  const auto plan = make_plan(input.settings, placed.views);
  Kept out;
  for (uint32_t image = 0; plan && image < plan->layout.images; ++image) {
    const auto kept = kept_of(*find_backend("reference"), {*plan, placed.views, image});
    for (size_t i = 0; kept && i < kept->indices.size(); ++i)
      out.emplace_back(image, kept->indices[i]);
  }
  return out;
}

double median_time(Kernel kernel, const Backend& backend, const Input& input, int repeats) {
  const Placed placed(input, backend.memory);
  const auto plan = make_plan(input.settings, placed.views);
  auto processor = Processor::create(*plan, {&backend, ""}, backend.memory);
  std::optional<OnDevice> on_device;
  if (backend.memory == MemorySpace::kCuda) on_device.emplace(placed.views);
  const auto views = on_device ? on_device->views() : std::span<const TensorView>(placed.views);
  const Image image{*plan, placed.views, 0};
  const auto unsorted = [&] {
    Funnel funnel;
    bool intact = true;
    return decoded(*find_backend("reference"), image, funnel, intact);
  }();
  auto sorted = ordered(*find_backend("reference"), image);
  std::vector<Candidate> out(plan->layout.anchors);
  std::vector<SortSlot> slots(plan->layout.anchors);
  Fenced<float> lanes(nms_lanes(*plan));
  Fenced<uint64_t> words(nms_words(*plan));
  std::vector<uint32_t> kept(plan->rules.kept_capacity);
  std::vector<double> times;
  for (int i = 0; i < repeats; ++i) {
    Funnel funnel;
    const auto start = std::chrono::steady_clock::now();
    switch (kernel) {
      case Kernel::kDecode:
        backend.kernels->decode(*plan, placed.views, 0, {0, plan->layout.anchors}, out, funnel);
        break;
      case Kernel::kSelect: backend.kernels->select(*plan, unsorted, slots, out); break;
      case Kernel::kNms:
        backend.kernels->nms(*plan, sorted, kept, {lanes.span(), words.span()});
        break;
      case Kernel::kFrame: (void)processor->run(views); break;
    }
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - start;
    times.push_back(took.count());
  }
  std::ranges::nth_element(times, times.begin() + repeats / 2);
  return times[static_cast<size_t>(repeats) / 2];
}

}  // namespace keepbox::test
