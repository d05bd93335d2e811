// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers the GEnum types of boxdecode; those that list core's tables are made from them.
#include "gst/decode/decodeenums.h"

#include <span>
#include <string_view>
#include <vector>

#include "core/backend.h"
#include "core/contract.h"
#include "gst/base/enums.h"
#include "gst/decode/nicks.h"

namespace keepbox {
namespace {

template <class Row>
std::vector<EnumValue> rows(std::span<const Row> table, std::string_view Row::*summary,
                        const char* automatic) {
  std::vector<EnumValue> values;
  if (automatic != nullptr) values.push_back({0, "auto", automatic});
  for (const Row& row : table)
    values.push_back({static_cast<int>(values.size()), row.name, row.*summary});
  return values;
}

template <class E, size_t N>
std::vector<EnumValue> rows(const Nick<E> (&nicks)[N]) {
  std::vector<EnumValue> values;
  for (const Nick<E>& each : nicks)
    values.push_back({static_cast<int>(each.value), each.nick, each.summary});
  return values;
}

}  // namespace

GType contract_type() {
  static const GType type = register_enum(
      "KeepboxNmsContract", rows(contracts(), &NmsContract::summary, "The family's, else exact"));
  return type;
}

GType backend_type() {
  static const GType type = register_enum(
      "KeepboxBackend",
      rows(backends(), &Backend::summary, "The fastest that can read the tensors where they are"));
  return type;
}

GType nms_method_type() {
  static const GType type = register_enum("KeepboxNmsMethod", rows(kMethodNicks));
  return type;
}

GType multi_label_type() {
  static const GType type = register_enum(
      "KeepboxMultiLabel",
      {{kMultiLabelAuto, "auto", "As the family's framework does"},
       {kMultiLabelTrue, "true", "A box for each class whose score passes"},
       {kMultiLabelFalse, "false", "One box, of the best class"}});
  return type;
}

GType mask_size_type() {
  static const GType type = register_enum(
      "KeepboxMaskSize",
      {{kMaskSizePrototypes, "prototypes", "The prototypes': the model's own, a quarter of its input"},
       {kMaskSizeFrame, "frame",
        "The frame's: bilinear between the model's pixels, as Ultralytics' retina_masks"}});
  return type;
}

GType units_type() {
  static const GType type = register_enum("KeepboxBoxUnits", rows(kUnitsNicks));
  return type;
}

GType region_rule_type() {
  static const GType type = register_enum(
      "KeepboxRegionRule",
      {{static_cast<int>(RegionRule::kCenter), "center",
        "Its centre lies in the region, whose left and upper edges belong to it"},
       {static_cast<int>(RegionRule::kInside), "inside", "All of it lies in the region"},
       {static_cast<int>(RegionRule::kTouch), "touch", "Some of it lies in the region"}});
  return type;
}

GType on_mismatch_type() {
  static const GType type = register_enum(
      "KeepboxOnMismatch",
      {{static_cast<int>(OnMismatch::kError), "error", "An element error stops the stream"},
       {static_cast<int>(OnMismatch::kWarn), "warn",
        "An element warning, once for each cause; the frame goes on without boxes"},
       {static_cast<int>(OnMismatch::kPass), "pass", "The frame goes on without boxes"}});
  return type;
}

}  // namespace keepbox
