// SPDX-License-Identifier: LGPL-2.1-or-later
// Plans and runs.
#include "tests/fuzz/frames/runs.h"

#include <vector>

#include "core/base/threads.h"
#include "core/formula/mask.h"
#include "core/run/processor.h"
#include "tests/fuzz/frames/checks.h"
#include "tests/fuzz/frames/settings.h"

namespace keepbox::fuzz {
namespace {

std::unique_ptr<ThreadPool> crew;

constexpr std::string_view kKinds[] = {"mismatch", "ambiguous", "unsupported",
                                       "invalid",  "truncated", "no-resource"};

/// True if it would take too long for one input. Under a sanitizer a pair or a value takes up to a
/// microsecond, and each input is decoded some twenty times.
bool is_too_large(const Plan& plan) {
  const Rules& rules = plan.rules;
  const Layout& layout = plan.layout;
  const double images = layout.images, kept = rules.kept_capacity;
  const double boxes = std::min(rules.candidates, rules.pre_nms_top_k);
  // matrix NMS visits all pairs twice, while others stop early
  const bool matrix =
      rules.method == NmsMethod::kMatrix || rules.method == NmsMethod::kMatrixLinear;
  const double pairs = boxes * boxes * (rules.oriented ? 200 : 1) * (matrix ? 4 : 1);
  const MaskRules& masks = plan.payload.masks;
  const Size frame = plan.letterbox.frame, maps = masks.maps;
  const double sums = kept * masks.coefficients * maps.width * maps.height;
  const double pixels = masks.enlarged ? kept * frame.width * frame.height : 0;
  const double numbers =
      (4.0 * rules.boxes.bins + layout.classes) * layout.anchors + rules.candidates;
  return images > 64 || numbers * images > 1.2e6 || pairs * images > 4e6 || sums * images > 1e7 ||
         pixels * images > 1e7;
}

std::vector<TensorView> read_by(const Plan& plan, const std::vector<TensorView>& views) {
  std::vector<TensorView> out;
  for (const uint32_t number : plan.reads) out.push_back(views[number]);
  return out;
}

void count_boxes(const Processor& processor) {
  for (uint32_t image = 0; image < processor.plan().layout.images; ++image) {
    if (processor.detections(image).empty()) continue;
    count("images with boxes");
    count("boxes", processor.detections(image).size());
    count("suppressed by:" + std::to_string(static_cast<int>(processor.plan().rules.method)));
  }
}

/// Returns processors of a plan, the reference's first, with and without threads.
std::vector<Processor> processors_of(const Plan& plan) {
  std::vector<Processor> out;
  for (const char* name : {"reference", "simd"})
    for (ThreadPool* each : {static_cast<ThreadPool*>(nullptr), crew.get()}) {
      auto backend = select_backend(name, plan, MemorySpace::kSystem);
      if (!backend) {
        check_error(backend.error(), "choosing a backend");
        continue;
      }
      auto processor = Processor::create(plan, std::move(*backend), MemorySpace::kSystem, each);
      if (processor) out.push_back(std::move(*processor));
      else check_error(processor.error(), "making a processor");
    }
  return out;
}

/// Checks that either all backends reject something or none does. @return true if none did.
template <class Do>
bool agree(std::vector<Processor>& processors, const char* where, Do act) {
  size_t done = 0;
  for (Processor& processor : processors) {
    const Status status = act(processor);
    if (status) ++done;
    else check_error(status.error(), where);
  }
  if (done != 0 && done != processors.size())
    violated(std::string("not all backends refused ") + where);
  return done != 0;
}

void run_all(std::vector<Processor>& processors, std::span<const TensorView> tensors,
             const char* where) {
  // a plan does not check prototypes
  if (!agree(processors, where, [&](Processor& processor) { return processor.run(tensors); }))
    return count("frames refused");
  for (Processor& processor : processors) {
    check_boxes(processor);
    check_same(processors.front(), processor, where);
  }
  count_boxes(processors.front());
}

/// Checks that a truncated tensor is an error, whichever it is.
void run_truncated(Input& input, std::vector<Processor>& processors,
                   std::vector<TensorView> tensors) {
  if (tensors.empty()) return;
  TensorView& tensor = tensors[input.below(static_cast<uint32_t>(tensors.size()))];
  const auto count_of = tensor.shape.count();
  const size_t needed = count_of ? *count_of * size_of(tensor.type) : 0;
  if (needed == 0) return;
  tensor.bytes = input.below(static_cast<uint32_t>(needed));
  for (Processor& processor : processors) {
    const Status status = processor.run(tensors);
    if (status) violated("a tensor that is too short was read");
    check_error(status.error(), "a short tensor");
  }
}

void run_retuned(Input& input, std::vector<Processor>& processors, Settings settings,
                 std::span<const TensorView> tensors) {
  draw_tunables(input, settings);
  const auto retune = [&](Processor& processor) { return processor.retune(settings); };
  if (!agree(processors, "other thresholds", retune)) return;
  count("retuned");
  run_all(processors, tensors, "other thresholds");
}

void check_plan(const Plan& plan, const Frame& frame, const std::vector<TensorView>& views) {
  for (const Error& warning : plan.warnings) check_error(warning, "a warning");
  const bool odd = std::ranges::any_of(frame.tensors, [](const Tensor& tensor) {
    return tensor.scale != tensor.scale || tensor.zero_point != tensor.zero_point;
  });
  if (!plan.provisional && !odd && !plan.holds_for(views))
    violated("a plan does not hold for its own tensors");
}

}  // namespace

void make_crew() { crew = make_worker_threads(3); }

bool run_everywhere(Input& input, const Settings& settings, Frame& frame, std::string_view as) {
  const auto views = views_of(frame);
  const auto plan = make_plan(settings, views);
  if (!plan) {
    check_error(plan.error(), "making a plan");
    count("refused:" + std::string(kKinds[static_cast<size_t>(plan.error().kind)]));
    return false;
  }
  check_plan(*plan, frame, views);
  count("plans:" + std::string(as));
  if (is_too_large(*plan)) return count("too large"), true;
  const auto tensors = read_by(*plan, views);
  auto processors = processors_of(*plan);
  run_all(processors, tensors, "a frame");
  if (frame.spoiled) return true;
  for (const Processor& processor : processors)
    check_nms_of_nms(*plan, processor.backend(), tensors);
  run_all(processors, tensors, "the frame again");
  fill(input, frame);
  run_all(processors, tensors, "another frame");
  run_truncated(input, processors, tensors);
  if (input.chance(30)) run_retuned(input, processors, settings, tensors);
  return true;
}

}  // namespace keepbox::fuzz
