// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers the GEnum types of boxdecode. Those that list tables of core are generated from them.
#include "gst/decode/settings/decodeenums.h"

#include <span>
#include <string_view>
#include <vector>

#include "core/formula/conventions.h"
#include "core/model/contracts.h"
#include "core/plan/tiles.h"
#include "core/run/backend.h"
#include "gst/base/enums.h"
#include "gst/decode/detectorfile/nicks.h"

namespace keepbox {
namespace {

template <class Row>
std::vector<EnumValue> rows(std::span<const Row> table, std::string_view Row::* summary,
                            const char* automatic) {
  std::vector<EnumValue> values;
  if (automatic != nullptr) values.push_back({0, "auto", automatic});
  for (const Row& row : table)
    values.push_back({static_cast<int>(values.size()), row.name, row.*summary});
  return values;
}

/// @tparam Nicks an array of Nick.
template <class Nicks>
std::vector<EnumValue> rows(const Nicks& nicks) {
  std::vector<EnumValue> values;
  for (const auto& each : nicks)
    values.push_back({static_cast<int>(each.value), each.nick, each.summary});
  return values;
}

}  // namespace

GType contract_type() {
  static const GType type = register_enum(
      "KeepboxNmsContract",
      rows(contracts(), &NmsContract::summary, "The contract of the family, or else exact"));
  return type;
}

GType backend_type() {
  static const GType type = register_enum(
      "KeepboxBackend",
      rows(backends(), &Backend::summary, "The fastest one that can read the tensors in place"));
  return type;
}

GType nms_method_type() {
  static const GType type = register_enum("KeepboxNmsMethod", rows(kMethodNicks));
  return type;
}

GType multi_label_type() {
  static const GType type = register_enum(
      "KeepboxMultiLabel", {{kMultiLabelAuto, "auto", "As in the family's framework"},
                            {kMultiLabelTrue, "true", "One box per class whose score passes"},
                            {kMultiLabelFalse, "false", "One box for the best class"}});
  return type;
}

GType mask_size_type() {
  static const GType type = register_enum(
      "KeepboxMaskSize",
      {{kMaskSizePrototypes, "prototypes",
        "Resolution of the prototypes, typically a quarter of the model input"},
       {kMaskSizeFrame, "frame",
        "Resolution of the frame, interpolated bilinearly as with Ultralytics' retina_masks"}});
  return type;
}

GType tile_merge_type() {
  static const GType type = register_enum(
      "KeepboxTileMerge",
      {{static_cast<int>(TileMerge::kIos), "ios",
        "Intersection over the smaller area, which also drops a part of an object if another "
        "tile has the whole"},
       {static_cast<int>(TileMerge::kIou), "iou", "Intersection over union"},
       {static_cast<int>(TileMerge::kNone), "none", "Keep the boxes of all tiles"}});
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
        "The centre of the box is in the region, which includes its left and upper edges"},
       {static_cast<int>(RegionRule::kInside), "inside", "The whole box is in the region"},
       {static_cast<int>(RegionRule::kTouch), "touch", "Some part of the box is in the region"}});
  return type;
}

GType on_mismatch_type() {
  static const GType type = register_enum(
      "KeepboxOnMismatch",
      {{static_cast<int>(OnMismatch::kError), "error",
        "Post an element error, which stops the stream"},
       {static_cast<int>(OnMismatch::kWarn), "warn",
        "Post an element warning once per cause and pass the frame without boxes"},
       {static_cast<int>(OnMismatch::kPass), "pass", "Pass the frame without boxes"}});
  return type;
}

}  // namespace keepbox
