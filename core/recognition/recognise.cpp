// SPDX-License-Identifier: LGPL-2.1-or-later
// Recognises the family of tensors by ids, names, shapes and values.
#include "core/recognition/recognise.h"
#include "core/recognition/fit.h"

#include <algorithm>
#include <array>
#include <format>
#include <vector>

#include "core/model/words.h"
#include "core/recognition/shapes.h"
#include "core/recognition/value_checks.h"
#include "core/recognition/value_patterns.h"

namespace keepbox {
namespace {

std::string describe(const Layout& layout, std::span<const TensorView> tensors) {
  const auto& tensor = tensors[static_cast<size_t>(layout[FieldId::kBox].tensor)];
  std::string text =
      tensor.to_string() + " as " + family_text(layout) + ": " + counted(layout.anchors, "anchor");
  if (layout.classes > 0 && layout[FieldId::kScores].tensor == layout[FieldId::kBox].tensor)
    text += layout[FieldId::kScores].channel_stride == 1 ? ", one row per anchor"
                                                         : ", one plane per channel";
  return text;
}

/// True if the rule's tensor is present, or one per level.
bool has_ids(const DetectorSpec& spec, const TensorRule& rule,
             std::span<const TensorView> tensors) {
  const auto there = [&](uint32_t stride) {
    return std::ranges::any_of(
        tensors, [&](const TensorView& tensor) { return rule.has(tensor.id, stride); });
  };
  const auto levels = std::span(spec.strides).first(spec.level_count());
  return there(0) || (!levels.empty() && std::ranges::all_of(levels, there));
}

/// Converts indices into a selection of tensors to indices into all tensors.
void renumber(Layout& layout, std::span<const size_t> order) {
  for (Segment& segment : layout.segments)
    for (Field& field : segment.fields)
      if (field.present())
        field.tensor = static_cast<int>(order[static_cast<size_t>(field.tensor)]);
  for (int& tensor : layout.ignored) tensor = static_cast<int>(order[static_cast<size_t>(tensor)]);
}

/// Chooses between a family and its decoded twin by values.
Recognition by_values(Recognition out, std::span<const TensorView> tensors) {
  const DetectorSpec* twin = find_detector(out.layout.spec->decoded_twin);
  if (twin == nullptr) return out;
  const auto decoded = looks_decoded(out.layout, tensors);
  out.box_coding_unknown = !decoded;
  if (!decoded.value_or(false)) return out;
  out.layout.spec = twin;
  out.remark += "; boxes are already decoded";
  return out;
}

/// True if all box values are 0 or there are no rows, as in a picture without objects; the tensors
/// of other families look the same then.
bool is_blank(const Layout& layout, std::span<const TensorView> tensors) {
  if (!in_bounds(layout, tensors)) return false;
  const auto seen = box_ranges(layout, tensors);
  return !seen.empty() && std::ranges::all_of(seen, [](const Range& each) {
    return each.min >= 0 && each.max <= 0;
  });
}

/// Recognises outputs after suppression, whatever their names, by the family's value pattern.
std::optional<Recognition> by_outputs(std::span<const TensorView> tensors, const Request& request,
                                      const DetectorSpec& spec) {
  const std::vector<size_t> order = find_outputs(spec.shape.pattern, tensors);
  if (order.empty()) return std::nullopt;
  std::vector<TensorView> ordered;
  for (const size_t i : order) ordered.push_back(tensors[i]);
  const std::vector<std::string> roles(order.size());
  Request in_order = request;
  in_order.tensor_ids = roles;
  auto layout = fit(spec, ordered, in_order);
  if (!layout) return std::nullopt;
  renumber(*layout, order);
  std::string remark = describe(*layout, tensors) + " (by ";
  remark += std::string(pattern_text(spec.shape.pattern)) + ")";
  const bool reads_values =
      spec.shape.pattern == ValuePattern::kCountedOutputs;  // others are by type
  const bool blank = reads_values && is_blank(*layout, tensors);
  return Recognition{.layout = *std::move(layout),
                     .remark = std::move(remark),
                     .basis = blank ? Basis::kShape : Basis::kValues,
                     .blank = blank};
}

/// True for decoded boxes with the usual number of classes, which several families have: only
/// offsets from a grid, or a known number of classes, distinguish an objectness from a class.
bool may_be_another(const FamilyCandidate& best, const Recognition& found) {
  return found.layout.spec != best.spec && best.evidence == ShapeEvidence::kShape &&
         best.classes < 2;
}

/// Fits the first family of end-to-end rows with that many columns to a tensor without rows, as of
/// a picture without objects.
std::optional<Recognition> by_columns(std::span<const TensorView> tensors, size_t index,
                                      const Request& request) {
  const auto dims = batched(tensors[index].shape, 2);
  if (!dims || dims->dims[0] != 0) return std::nullopt;
  for (const DetectorSpec& spec : detectors()) {
    const bool rows = spec.reader == Reader::kReady && spec.payload == Payload::kNone;
    if (!rows || spec.tensor_count != 1 || dims->dims[1] != min_channels(spec)) continue;
    auto layout = fit_at(spec, tensors, index, request);
    if (!layout) continue;
    std::string remark = describe(*layout, tensors) + " (no rows yet)";
    return Recognition{.layout = *std::move(layout),
                       .remark = std::move(remark),
                       .basis = Basis::kShape,
                       .blank = true};
  }
  return std::nullopt;
}

/// Recognises the first tensor for which one family is decisive. Other tensors, which may fit it by
/// chance, are ignored unless they have other values of the same anchors.
Result<Recognition> by_one_tensor(std::span<const TensorView> tensors, const Request& request) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    if (auto none = by_columns(tensors, i, request)) return *std::move(none);
    const std::vector<FamilyCandidate> ranked = rank_families(tensors, i, request);
    const FamilyCandidate* best = decided(ranked);
    if (best == nullptr) continue;
    KB_ASSIGN(auto layout, fit_at(*best->spec, tensors, i, request));
    const auto is_other = [&](size_t part) { return tensors[part].shape != tensors[i].shape; };
    if (std::ranges::any_of(unread_parts(layout, tensors), is_other)) continue;
    std::string remark = describe(layout, tensors) + " (by shape, " + best->why;
    remark += "; detector= overrides)";
    Recognition out =
        by_values({std::move(layout), std::move(remark), false, best->basis(), {}}, tensors);
    if (may_be_another(*best, out)) break;
    return out;
  }
  return undecided(tensors, request);
}

/// Returns the basis for a family whose name or numbers were found, unless the number of classes
/// was needed as well, which models of other families may have.
Basis basis_of(const ShapeMatch& found, Basis usual) {
  return found.layout.spec->usual_classes != 0 ? Basis::kShape : usual;
}

Result<Recognition> by_shape(std::span<const TensorView> tensors, const Request& request) {
  for (const DetectorSpec& spec : detectors())
    if (auto known = by_outputs(tensors, request, spec)) return *std::move(known);
  KB_ASSIGN(auto several, match_by_shape(tensors, request));
  if (!several) return by_one_tensor(tensors, request);
  std::string remark = describe(several->layout, tensors) + " (by shapes, ";
  remark += several->why + "; detector= overrides)";
  const bool blank = is_blank(several->layout, tensors);
  const Basis basis = blank ? Basis::kShape : basis_of(*several, Basis::kValues);
  return Recognition{.layout = std::move(several->layout),
                     .remark = std::move(remark),
                     .basis = basis,
                     .warning = std::move(several->warning),
                     .blank = blank};
}

/// Returns the indices of the tensors in tensor_ids, in that order.
Result<std::vector<size_t>> named(std::span<const TensorView> tensors, const Request& request) {
  std::vector<size_t> order;
  for (const std::string& id : request.tensor_ids) {
    const auto found = std::ranges::find(tensors, std::string_view(id), &TensorView::id);
    if (found == tensors.end())
      return fail(ErrorKind::kMismatch, "a tensor with id " + id, to_string(tensors),
                  "set tensor-ids= to ids of the inference element's tensors");
    order.push_back(static_cast<size_t>(found - tensors.begin()));
  }
  return order;
}

/// Recognises tensors by their generic names, if the shapes fit.
Result<std::optional<Recognition>> by_plain_names(std::span<const TensorView> tensors,
                                                  const Request& request) {
  KB_ASSIGN(auto found, match_by_names(tensors, request));
  if (!found) return std::nullopt;
  std::string remark = describe(found->layout, tensors) + " (by tensor names)";
  const Basis basis = basis_of(*found, Basis::kNamed);
  return Recognition{std::move(found->layout), std::move(remark), false, basis};
}

/// Fits a declared family to the tensors by which it is recognised without a declaration, or else
/// to the first ones that fit.
Result<Recognition> fit_declared(const DetectorSpec& spec, std::span<const TensorView> tensors,
                                 const Request& request) {
  const auto is_declared = [&](const DetectorSpec& found) {
    return &found == &spec || find_detector(found.decoded_twin) == &spec ||
           find_detector(spec.decoded_twin) == &found;
  };
  if (tensors.size() > 1 && spec_by_ids(tensors) == nullptr)
    if (auto found = by_shape(tensors, request); found && is_declared(*found->layout.spec)) {
      found->layout.spec = &spec;
      return Recognition{.layout = std::move(found->layout), .remark = {}, .blank = found->blank};
    }
  KB_ASSIGN(auto layout, fit(spec, tensors, request));
  return Recognition{.layout = std::move(layout), .remark = {}};
}

/// Recognises tensors by the producer's declaration, or by ids, names or shapes.
Result<Recognition> by_itself(std::span<const TensorView> tensors, const Request& request) {
  const bool named = !request.tensor_ids.empty();
  if (const DetectorSpec* spec = named ? nullptr : find_detector(request.declared)) {
    KB_ASSIGN(auto found, fit_declared(*spec, tensors, request));
    found.remark = describe(found.layout, tensors) + " (declared by the model)";
    return by_values(std::move(found), tensors);
  }
  if (const DetectorSpec* spec = named ? nullptr : spec_by_ids(tensors)) {
    KB_ASSIGN(const auto layout, fit(*spec, tensors, request));
    return by_values({layout, describe(layout, tensors) + " (by tensor id)"}, tensors);
  }
  if (!named) {
    KB_ASSIGN(auto plain, by_plain_names(tensors, request));
    if (plain) return *std::move(plain);
  }
  return by_shape(tensors, request);
}

Result<Recognition> recognise_all(std::span<const TensorView> tensors, const Request& request) {
  if (tensors.empty())
    return reject(ErrorKind::kMismatch, "The frame has no tensors (GstTensorMeta)",
                  "put an inference element or tensorreplay upstream, with no element in between "
                  "that drops buffer metadata");
  if (request.family == nullptr && request.detector == "auto") return by_itself(tensors, request);
  const DetectorSpec* spec =
      request.family != nullptr ? request.family : find_detector(request.detector);
  if (spec == nullptr) {
    std::string names = "auto";
    for (const DetectorSpec& each : detectors()) names += ", " + std::string(each.name);
    return fail(ErrorKind::kInvalid, "a detector (" + names + ")", std::string(request.detector));
  }
  KB_ASSIGN(auto layout, fit(*spec, tensors, request));
  return Recognition{layout, describe(layout, tensors) + " (as set)", false, Basis::kSet};
}

}  // namespace

const DetectorSpec* spec_by_ids(std::span<const TensorView> tensors) {
  for (const DetectorSpec& spec : detectors())
    if (std::ranges::all_of(spec.rules(), [&](const TensorRule& rule) {
          return rule.optional || has_ids(spec, rule, tensors);
        }))
      return &spec;
  return nullptr;
}

std::string input_text(const InputRule& input) {
  if (!input.known()) return {};
  const auto three = [](const std::array<float, 3>& of) {
    const auto number = [](float value) { return std::format("{}", value); };
    const bool same = of[0] == of[1] && of[1] == of[2];
    return same ? number(of[0]) : number(of[0]) + "," + number(of[1]) + "," + number(of[2]);
  };
  return std::string("channel-order=") + (input.bgr ? "bgr" : "rgb") +
         " input-mean=" + three(input.mean) + " input-std=" + three(input.deviation) +
         " resize-mode=" + std::string(to_string(input.resize));
}

bool is_plane(const Shape& shape) {
  constexpr size_t kMinSide = 16;
  if (shape.rank() != 4 || shape[1] != 1) return false;
  const size_t a = shape[2], b = shape[3];
  return std::min(a, b) >= kMinSide && std::max(a, b) <= 4 * std::min(a, b);
}

bool is_maps(const Shape& shape) {
  return shape.rank() == 4 && shape[1] > 1 && shape[2] > 1 && shape[3] > 1;
}

bool has_plain_names(const DetectorSpec& spec, std::span<const TensorView> tensors) {
  return std::ranges::all_of(spec.rules(), [&](const TensorRule& rule) {
    return rule.optional || std::ranges::any_of(tensors, [&](const TensorView& tensor) {
             return rule.has_plain(tensor.id);
           });
  });
}

size_t prototype_count(std::span<const TensorView> tensors) {
  for (const TensorView& tensor : tensors)
    if (is_maps(tensor.shape) && is_floating(tensor.type))
      return std::min(tensor.shape[1], tensor.shape[3]);  // fewer than a map has columns
  return 0;
}

Result<Recognition> recognise(std::span<const TensorView> tensors, const Request& request) {
  if (request.tensor_ids.empty()) return recognise_all(tensors, request);
  KB_ASSIGN(const auto order, named(tensors, request));
  std::vector<TensorView> chosen;
  for (const size_t i : order) chosen.push_back(tensors[i]);
  auto out = recognise_all(chosen, request);
  if (out) renumber(out->layout, order);
  return out;
}

}  // namespace keepbox
