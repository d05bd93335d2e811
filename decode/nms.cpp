// SPDX-License-Identifier: LGPL-2.1-or-later
// The C functions of suppression.
#include <algorithm>
#include <format>
#include <iterator>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/base/text.h"
#include "core/options/options.h"
#include "core/run/suppressor.h"
#include "decode/error.h"
#include "decode/keepbox-decode.h"

using namespace keepbox;

namespace {

struct NmsOptions {
  Settings settings = suppression_defaults();
  std::string backend = "auto";
  int device = -1;  // the one that has the boxes
};

/// Options of a decoder that suppression has, too.
constexpr std::string_view kNames[] = {"iou-threshold", "score-threshold", "nms-contract",
                                       "nms-method",    "class-agnostic",  "max-detections",
                                       "backend",       "device-id"};

Status check_name(std::string_view name) {
  if (std::ranges::contains(kNames, name)) return {};
  std::string names;
  for (const std::string_view each : kNames) append(names, each);
  return reject(ErrorKind::kInvalid, std::format("Suppression has no option {}", in_quotes(name)),
                "set one of " + names);
}

Result<NmsOptions> nms_options(std::string_view text) {
  DecodeOptions options;
  options.max_detections = suppression_defaults().max_detections;
  KB_ASSIGN(const auto texts, option_texts(text));
  for (const OptionText& each : texts) {
    KB_TRY(check_name(each.name));
    KB_TRY(set_option(options, each.name, each.value));
  }
  NmsOptions out;
  if (options.iou_threshold) out.settings.iou_threshold = options.iou_threshold;
  if (options.score_threshold) out.settings.score_threshold = options.score_threshold;
  if (options.nms_contract != 0)
    out.settings.nms_contract = nick_of(contract_words(), options.nms_contract);
  out.settings.nms_method = static_cast<NmsMethod>(options.nms_method);
  out.settings.class_agnostic = options.class_agnostic;
  out.settings.max_detections = options.max_detections;
  out.backend = nick_of(backend_words(), options.backend);
  out.device = options.device_id;
  return out;
}

}  // namespace

struct KeepboxNms {
  NmsOptions options;
  // Made when first used: of upright and of oriented boxes, in host and in CUDA memory.
  std::optional<Suppressor> suppressors[2][2];

  Result<Suppressor*> suppressor(bool oriented, MemorySpace memory) {
    std::optional<Suppressor>& out = suppressors[oriented][memory == MemorySpace::kCuda];
    if (!out) {
      KB_ASSIGN(const auto plan, plan_suppression(options.settings, oriented));
      KB_ASSIGN(const auto chosen, select_backend(options.backend, plan, memory));
      KB_ASSIGN(out,
                Suppressor::create(options.settings, oriented, *chosen.backend, options.device));
    }
    return &*out;
  }
};

namespace {

Result<MemorySpace> memory_of(KeepboxDecodeMemory memory) {
  if (memory == KEEPBOX_DECODE_HOST) return MemorySpace::kSystem;
  if (memory == KEEPBOX_DECODE_CUDA) return MemorySpace::kCuda;
  return reject(ErrorKind::kInvalid, "A memory is neither KEEPBOX_DECODE_HOST nor _CUDA",
                "initialise the struct with KEEPBOX_NMS_INIT");
}

Status run(KeepboxNms* nms, const KeepboxNmsProblems* from) {
  if (nms == nullptr)
    return reject(ErrorKind::kInvalid, "There is no suppressor", "create it by keepbox_nms_new()");
  if (from == nullptr || from->size < sizeof *from)
    return reject(ErrorKind::kInvalid, "There are no problems, or their struct has no size",
                  "initialise it with KEEPBOX_NMS_INIT");
  const KeepboxNmsProblems& problems = *from;
  KB_ASSIGN(const auto memory, memory_of(problems.memory));
  KB_ASSIGN(const auto counts_memory, memory_of(problems.counts_memory));
  KB_ASSIGN(Suppressor* const suppressor, nms->suppressor(problems.oriented != 0, memory));
  return suppressor->run({.memory = memory,
                          .stream = problems.stream,
                          .list = {problems.boxes, problems.scores, problems.classes},
                          .boxes = problems.n_boxes,
                          .starts = problems.starts,
                          .start_count = problems.n_problems,
                          .indices = problems.indices,
                          .counts = problems.counts,
                          .counts_memory = counts_memory});
}

Result<std::unique_ptr<KeepboxNms>> create(const char* text) {
  KB_ASSIGN(auto options, nms_options(text == nullptr ? "" : text));
  std::unique_ptr<KeepboxNms> out(new (std::nothrow) KeepboxNms{std::move(options), {}});
  if (out == nullptr)
    return reject(ErrorKind::kNoResource, "Not enough memory for a suppressor", "free some");
  KB_TRY(out->suppressor(false, MemorySpace::kSystem));  // checks the options
  return out;
}

}  // namespace

KeepboxNms* keepbox_nms_new(const char* options, KeepboxDecodeError* error) {
  auto out = create(options);
  report(out ? Status() : Status(std::unexpected(std::move(out.error()))), error);
  return out ? out->release() : nullptr;
}

KeepboxDecodeStatus keepbox_nms_run(KeepboxNms* nms, const KeepboxNmsProblems* problems,
                                    KeepboxDecodeError* error) {
  return report(run(nms, problems), error);
}

void keepbox_nms_free(KeepboxNms* nms) { delete nms; }

KeepboxDecodeStatus keepbox_nms(const char* options, const KeepboxNmsProblems* problems,
                                KeepboxDecodeError* error) {
  auto nms = create(options);
  if (!nms) return report(nms.error(), error);
  return report(run(nms->get(), problems), error);
}
