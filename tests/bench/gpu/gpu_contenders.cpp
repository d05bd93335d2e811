// SPDX-License-Identifier: LGPL-2.1-or-later
// Contenders: backends of keepbox, and the published methods.
#include <algorithm>
#include <cstdio>
#include <format>

#include "core/formula/geometry.h"
#include "tests/bench/gpu/gpu.h"
#include "tests/bench/gpu/peers.h"

namespace keepbox::test::gpu {
namespace {

/// Transposes YOLOv8's planes to rows, like exports for tensorRT_Pro.
std::vector<float> transposed(const Tensor& tensor) {
  const size_t channels = tensor.shape[1], anchors = tensor.shape[2];
  std::vector<float> rows(tensor.values.size());
  for (size_t c = 0; c < channels; ++c)
    for (size_t a = 0; a < anchors; ++a) rows[a * channels + c] = tensor.values[c * anchors + a];
  return rows;
}

/// Counts the reference's candidates that no better one of their class overlaps, suppressed or not.
size_t fast_survivors(const Input& input, size_t index) {
  std::vector<Candidate> boxes = input.candidates[index];
  std::ranges::sort(boxes, {},
                    [](const Candidate& box) { return std::pair(key_class(box.key), box.key); });
  size_t survivors = 0, first_of_class = 0;
  for (size_t i = 0; i < boxes.size(); ++i) {
    if (key_class(boxes[i].key) != key_class(boxes[first_of_class].key)) first_of_class = i;
    const auto better = std::span(boxes).subspan(first_of_class, i - first_of_class);
    survivors += std::ranges::none_of(better, [&](const Candidate& other) {
      return overlap<Upright>(input.plan.rules, other, boxes[i]);
    });
  }
  return survivors;
}

/// Rows for the decoders in both memories, and the expected number of boxes.
struct Fast {
  std::vector<std::vector<float>> transposed;  // only for planes
  std::vector<DeviceBuffer> transposed_on_device;
  std::vector<size_t> survivors;
};

std::shared_ptr<Fast> make_fast(const Input& input) {
  auto fast = std::make_shared<Fast>();
  for (size_t i = 0; i < input.size(); ++i) {
    fast->survivors.push_back(fast_survivors(input, i));
    if (!input.planes()) continue;
    const auto& rows = fast->transposed.emplace_back(transposed(input.tensors[i]));
    fast->transposed_on_device.emplace_back(rows.data(), rows.size() * sizeof(float));
  }
  return fast;
}

std::string name_of(const peers::FastSetup& setup) {
  return std::format("fast NMS {}, at most {}{}",
                     setup.allocate == peers::Allocate::kOnce ? "preallocated" : "as published",
                     setup.most, setup.source == peers::Source::kSystem ? ", system memory" : "");
}

Contender fast_decoder(const Input& input, const std::shared_ptr<Fast>& fast,
                       const peers::FastSetup& setup) {
  auto decoder = std::make_shared<peers::FastDecoder>(setup);
  const auto& on_device = input.planes() ? fast->transposed_on_device : input.on_device;
  const bool system = setup.source == peers::Source::kSystem;
  Contender out{.name = name_of(setup), .reads = system ? nullptr : &on_device};
  out.run = [&input, &on_device, fast, decoder, system](size_t i) {
    if (!system) return decoder->run(static_cast<const float*>(on_device[i].data())).size();
    return decoder
        ->run(input.planes() ? fast->transposed[i].data() : input.tensors[i].values.data())
        .size();
  };
  out.check = [&input, fast, decoder, most = setup.most](size_t i, size_t boxes) -> std::string {
    const size_t found = decoder->candidates(), expected = input.candidates[i].size();
    if (found != expected) return std::format("DIFFERS: {} candidates, not {}", found, expected);
    if (found > most) return std::format("{} candidates lost", found - most);
    if (boxes != fast->survivors[i])
      return std::format("DIFFERS: {} boxes, not {}", boxes, fast->survivors[i]);
    return std::format("as its rule says; greedy: {}", input.expected[i].size());
  };
  return out;
}

}  // namespace

std::optional<Processor> make_processor(const Plan& plan, std::string_view name,
                                        MemorySpace space) {
  const Backend* found = find_backend(name);
  if (found == nullptr) return std::nullopt;
  auto status = found->supports(plan);
  auto processor = Processor::create(plan, {found, ""}, space);
  if (status && processor) return std::move(*processor);
  const Error& error = status ? processor.error() : status.error();
  std::fprintf(stderr, "gpu-bench: backend %s: %s\n", std::string(name).c_str(),
               error.message().c_str());
  return std::nullopt;
}

std::optional<Contender> backend(const Input& input, std::string_view name, MemorySpace space) {
  auto made = make_processor(input.plan, name, space);
  if (!made) return std::nullopt;
  auto processor = std::make_shared<Processor>(std::move(*made));
  const bool own_memory = find_backend(name)->memory == space;
  Contender out{.name = "keepbox " + std::string(name) + (own_memory ? "" : ", system memory"),
                .reads = space == MemorySpace::kCuda ? &input.on_device : nullptr};
  out.run = [&input, processor, space](size_t i) {
    const TensorView view = input.view(i, space);
    const Status status = processor->run(std::span(&view, 1));
    if (status) return processor->detections().size();
    std::fprintf(stderr, "gpu-bench: %s\n", status.error().message().c_str());
    std::exit(1);
  };
  out.check = [&input, processor](size_t i, size_t) {
    return compare(processor->detections(), input.expected[i]);
  };
  return out;
}

std::vector<Contender> fast_decoders(const Input& input, size_t most) {
  using enum peers::Allocate;
  using enum peers::Source;
  const auto fast = make_fast(input);
  peers::FastSetup setup{.anchors = input.plan.layout.anchors,
                         .classes = input.plan.layout.classes,
                         .objectness = !input.planes(),
                         .score_threshold = *input.settings.score_threshold,
                         .iou_threshold = kIou,
                         .most = most};
  std::vector<Contender> out;
  for (const auto& [allocate, source] :
       {std::pair{kEachCall, kDevice}, {kEachCall, kSystem}, {kOnce, kDevice}}) {
    setup.allocate = allocate;
    setup.source = source;
    out.push_back(fast_decoder(input, fast, setup));
  }
  return out;
}

Contender faster_rcnn(const Input& input) {
  struct State {
    std::vector<std::vector<peers::ScoredBox>> boxes;  // best first
    std::vector<int> kept;
  };
  auto state = std::make_shared<State>();
  for (const auto& candidates : input.candidates) {
    auto sorted = candidates;
    std::ranges::sort(sorted, {}, &Candidate::key);
    auto& boxes = state->boxes.emplace_back();
    for (const Candidate& from : sorted)
      boxes.push_back({from.box.x1, from.box.y1, from.box.x2, from.box.y2, key_score(from.key)});
  }
  const auto pixels =
      input.plan.rules.contract.plus_one ? peers::Pixels::kPlusOne : peers::Pixels::kContinuous;
  Contender out{.name = "Faster R-CNN _nms, sorted boxes in system memory"};
  out.run = [state, pixels](size_t i) {
    peers::faster_rcnn_nms(state->boxes[i], kIou, pixels, state->kept);
    return state->kept.size();
  };
  out.check = [&input, state](size_t i, size_t) -> std::string {
    const auto& expected = input.expected[i];
    const auto& boxes = state->boxes[i];
    const bool same = std::ranges::equal(
        state->kept, expected, {},
        [&](int k) {
          const peers::ScoredBox& box = boxes[static_cast<size_t>(k)];
          return std::pair(Box{box.x1, box.y1, box.x2, box.y2}, box.score);
        },
        [](const Detection& box) { return std::pair(box.box, box.score); });
    return same ? "exact"
                : std::format("DIFFERS: {} boxes or others than {}", state->kept.size(),
                              expected.size());
  };
  return out;
}

void measure(Session& session, const Input& input, const Contender& contender, bool all_states) {
  Row row{.section = input.section,
          .input = input.name,
          .contender = contender.name,
          .candidates = input.candidates[0].size()};
  for (size_t i = input.size(); i-- > 0;) {
    row.boxes = contender.run(i);
    const std::string check = contender.check(i, row.boxes);
    if (!row.check.starts_with("DIFFERS")) row.check = check;
  }
  const auto run = [&](size_t i) { contender.run(i % input.size()); };
  const auto time = [&](const char* state, const std::function<void(size_t)>& before) {
    const Times times = timed(before, run);
    row.state = state;
    row.p50 = times.p50;
    row.p99 = times.p99;
    row.calls = times.calls;
    session.add(row);
  };
  if (contender.reads == nullptr) return time("", {});
  time("in turn", {});
  if (!all_states) return;
  time("warm", [&](size_t i) { session.warm((*contender.reads)[i % input.size()]); });
  time("flushed", [&](size_t) { session.flush(); });
}

}  // namespace keepbox::test::gpu
