// SPDX-License-Identifier: LGPL-2.1-or-later
// Describes the tensors of a family.
#include "core/recognition/fit_errors.h"

#include <algorithm>

#include "core/recognition/channels.h"
#include "core/recognition/family_text.h"

namespace keepbox {
namespace {

/// Returns "boxes 1xNx4, scores 1xNxC", with the family's channels and levels.
std::string roles_text(const DetectorSpec& spec, const Request& request) {
  std::string text;
  for (const TensorRule& rule : spec.rules()) {
    if (rule.optional) continue;
    const size_t channels = channels_of(spec, rule, request);
    const std::string_view name = rule.role == Role::kBoxes        ? "boxes"
                                  : rule.role == Role::kScores     ? "scores"
                                  : rule.role == Role::kObjectness ? "objectness"
                                                                   : "sizes";
    text += (text.empty() ? "" : ", ") + std::string(name) + " 1xNx" +
            (channels == 0 ? "C" : std::to_string(channels));
  }
  const size_t levels = spec.level_count();
  return levels > 1 ? text + ", one each or one for each of " + counted(levels, "level") : text;
}

std::string wanted_text(const DetectorSpec& spec, const Request& request) {
  const std::string name(spec.name);
  switch (spec.reader) {
    case Reader::kReady:
      return name + " rows: 1xNx" + std::to_string(min_channels(spec)) + " float32";
    case Reader::kSplit: return name + " tensors: " + roles_text(spec, request);
    case Reader::kIndices: return name + " tensors: indices Kx3, boxes 1xNx4 and scores 1xCxN";
    case Reader::kOutputs: return name + " tensors: boxes 1xNx4, scores 1xN (classes 1xN, count 1)";
    default:
      return name + " rows 1xNxC or planes 1xCxN with C >= " + std::to_string(min_channels(spec)) +
             (spec.level_count() > 1 && spec.activation != Activation::kNone
                  ? ", or such feature maps for " + counted(spec.level_count(), "level")
                  : "");
  }
}

}  // namespace

std::unexpected<Error> mismatch(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                const Request& request) {
  std::string hint = "set detector= to the model's family or tensor-ids= to its tensors";
  if (request.class_count != 0 && spec.reader == Reader::kSplit)
    hint += ", or num-classes= to its number of classes";
  const auto unscaled = [](const TensorView& tensor) {
    return !is_real(tensor) && tensor.shape.rank() > 2;
  };
  if (std::ranges::any_of(tensors, unscaled))
    hint += ", or quantization= to the scale and zero point of integer tensors";
  return fail(ErrorKind::kMismatch, wanted_text(spec, request), to_string(tensors),
              std::move(hint));
}

std::unexpected<Error> no_payload(const DetectorSpec& spec, const TensorView& tensor,
                                  const Request& request) {
  const std::string classes =
      request.class_count == 0 ? "classes" : counted(request.class_count, "class");
  return fail(ErrorKind::kMismatch,
              std::string(spec.name) + " channels for a box, " + classes +
                  (spec.payload == Payload::kNone ? "" : " and " + payload_text(spec, 0)),
              tensor.to_string(), "set num-classes= to the number of the model's classes");
}

}  // namespace keepbox
