// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts about families for messages and hints.
#include "core/recognition/texts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/base/text.h"
#include "core/recognition/maps.h"
#include "core/recognition/recognise.h"
#include "core/recognition/shapes.h"

namespace keepbox {
namespace {

/// Lists the inputs of the families and the families that share them.
std::string inputs_text(std::span<const Layout> layouts) {
  std::vector<std::pair<std::string, std::string>> inputs;  // and their families
  for (const Layout& each : layouts) {
    const std::string input = input_text(each.spec->input);
    const auto found = std::ranges::find(inputs, input, &decltype(inputs)::value_type::first);
    if (found == inputs.end()) inputs.emplace_back(input, each.spec->name);
    else found->second += ", " + std::string(each.spec->name);
  }
  std::string text;
  for (const auto& [input, families] : inputs)
    if (!input.empty()) text += (text.empty() ? "" : "; ") + input + " for " + families;
  return text;
}

}  // namespace

std::string input_hint(std::span<const Layout> layouts) {
  const std::string inputs = inputs_text(layouts);
  if (inputs.empty()) return {};
  return "; tensorinfer then uses the input of that family, other elements need it set (" + inputs +
         ")";
}

std::string payload_text(const DetectorSpec& spec, size_t values) {
  const auto of = [&](std::string_view what, size_t each = 1) {
    return values == 0 ? std::string(what) + "s" : counted(values / each, what);
  };
  switch (spec.payload) {
    case Payload::kKeypoints: {
      const size_t each = spec.points.values;
      return of("keypoint", each != 0 ? each : values % 3 == 0 ? 3 : 2);
    }
    case Payload::kMaskCoefficients: return of("mask coefficient");
    case Payload::kAngle: return "an angle";
    case Payload::kNone:
    case Payload::kEmbedding: break;
  }
  return of("more value");
}

std::string counted(size_t number, std::string_view what) {
  const std::string_view plural = number == 1 ? "" : what.ends_with('s') ? "es" : "s";
  return std::to_string(number) + " " + std::string(what) + std::string(plural);
}

std::string family_text(const Layout& layout) {
  const DetectorSpec& spec = *layout.spec;
  std::string text(spec.name);
  if (layout.classes == 0) return text;
  text += " (" + counted(layout.classes - spec.background_count(), "class");
  if (layout.payload_count != 0) text += ", " + payload_text(spec, layout.payload_count);
  return text + ")";
}

namespace {

/// True unless the input implies another number of anchors for the family.
bool has_anchors_of(const Layout& layout, Size input) {
  const DetectorSpec& spec = *layout.spec;
  const bool cells = has_cells(spec.coding) || spec.anchors.given() || spec.peaks;
  return input.width == 0 || !cells || grid_anchors(input, spec, layout.levels) == layout.anchors;
}

}  // namespace

std::string other_families(const Layout& than, std::span<const TensorView> tensors,
                           const Request& request, Size input) {
  const TensorView& boxes = tensors[static_cast<size_t>(than[FieldId::kBox].tensor)];
  const std::vector<Layout> layouts = than.spec->tensor_count > 1
                                          ? fitting_families(tensors, request)
                                          : fitting_layouts(boxes, request);
  std::string names;
  for (const Layout& each : layouts)
    if (each.spec->name != than.spec->name && has_anchors_of(each, input))
      append(names, each.spec->name);
  return names;
}

}  // namespace keepbox
