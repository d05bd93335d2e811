// SPDX-License-Identifier: LGPL-2.1-or-later
// Settings from properties, labels and the source of the tensors.
#include "gst/decode/settings/decodesettings.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "gst/base/enums.h"
#include "gst/base/words.h"
#include "gst/decode/settings/decodeenums.h"
#include "gst/decode/settings/filtertext.h"

namespace keepbox {
namespace {

/// Properties that are lists in text form, whose errors a range cannot express.
constexpr struct {
  const char* name;
  std::string DecodeProps::* list;
} kLists[] = {{"include-classes", &DecodeProps::include_classes},
              {"exclude-classes", &DecodeProps::exclude_classes},
              {"class-thresholds", &DecodeProps::class_thresholds},
              {"min-size", &DecodeProps::min_size},
              {"max-size", &DecodeProps::max_size},
              {"regions", &DecodeProps::regions},
              {"exclude-regions", &DecodeProps::exclude_regions}};

/// Properties that name a family, ids, files or scales. Without tensors, ids are always right.
constexpr struct {
  const char* name;
  std::string DecodeProps::* text;
} kNames[] = {{"detector", &DecodeProps::detector},
              {"tensor-ids", &DecodeProps::tensor_ids},
              {"label-file", &DecodeProps::label_file},
              {"priors-file", &DecodeProps::priors_file},
              {"quantization", &DecodeProps::quantization}};

/// Replaces an invalid text by the old one. @return the error, with the value that is kept.
Error kept(const char* name, std::string& text, const std::string& old, Error error) {
  error.hint += std::string("; ") + name + " stays " + in_quotes(old);
  text = old;
  return error;
}

std::optional<bool> multi_label_of(const DecodeProps& props) {
  if (props.multi_label == kMultiLabelAuto) return std::nullopt;
  return props.multi_label == kMultiLabelTrue;
}

/// Returns the picture that boxes are mapped to.
Picture wanted_picture(const DecodeProps& props, const Picture& frame) {
  if (props.source_width == 0 || props.source_height == 0) return frame;
  return {.size = {props.source_width, props.source_height}};
}

/// Fills in the settings that properties leave unset.
void take_source(Settings& settings, const TensorProvenance& source) {
  settings.declared_detector = source.detector;
  settings.declared_contract = source.contract;
  settings.declared_iou_threshold = source.iou_threshold;
  settings.dynamic_rows = source.dynamic_rows;
  if (settings.units == Units::kAuto) settings.units = source.units;
  if (!source.has_geometry()) return;
  settings.letterbox = source.geometry;
  settings.tiles = source.tiles;
  settings.parts = source.objects;
}

Result<FilterSettings> filters_of(const DecodeProps& props, const Labels& labels) {
  FilterSettings out{.rule = static_cast<RegionRule>(props.region_rule)};
  KB_ASSIGN(out.min, sizes_of(props.min_size, labels, "min-size"));
  KB_ASSIGN(out.max, sizes_of(props.max_size, labels, "max-size"));
  KB_ASSIGN(out.wanted, regions_of(props.regions, "regions"));
  KB_ASSIGN(out.excluded, regions_of(props.exclude_regions, "exclude-regions"));
  return out;
}

}  // namespace

Result<Settings> resolve(const DecodeProps& props, const Labels& labels, const Picture& frame,
                         const TensorProvenance* source) {
  Settings out{.detector = props.detector.empty() ? Settings{}.detector : props.detector,
               .tensor_ids = ids_of(props.tensor_ids),
               .score_threshold = props.score_threshold,
               .iou_threshold = props.iou_threshold,
               .max_detections = props.max_detections,
               .class_top_k = props.class_top_k,
               .pre_nms_top_k = props.pre_nms_top_k,
               .pre_nms_class_top_k = props.pre_nms_class_top_k,
               .default_score_threshold = !props.score_threshold_set,
               .default_iou_threshold = !props.iou_threshold_set,
               .multi_label = multi_label_of(props),
               .contract = nick_of(contract_type(), props.nms_contract),
               .class_agnostic = props.class_agnostic,
               .method = static_cast<NmsMethod>(props.nms_method),
               .soft_sigma = props.soft_nms_sigma,
               .units = static_cast<Units>(props.box_units),
               .resize = static_cast<ResizeMode>(props.resize_mode),
               .model = {props.model_width, props.model_height},
               .frame = wanted_picture(props, frame),
               .tensor_frame = frame.size,
               .label_count = labels.size(),
               .class_count = props.num_classes,
               .keypoints = props.keypoints,
               .masks = props.masks,
               .frame_masks = props.mask_size == kMaskSizeFrame};
  out.tile_rules = {.merge = static_cast<TileMerge>(props.tile_merge),
                    .threshold = props.tile_threshold,
                    .border = props.tile_border,
                    .united = props.tile_union};
  if (props.track_score_threshold > 0) out.track_threshold = props.track_score_threshold;
  if (source != nullptr) take_source(out, *source);
  KB_ASSIGN(out.include_classes, labels.classes_of(props.include_classes, "include-classes"));
  KB_ASSIGN(out.exclude_classes, labels.classes_of(props.exclude_classes, "exclude-classes"));
  KB_ASSIGN(out.class_thresholds, labels.thresholds_of(props.class_thresholds, "class-thresholds"));
  KB_ASSIGN(out.filters, filters_of(props, labels));
  return out;
}

std::vector<Error> revert_invalid_lists(DecodeProps& props, const DecodeProps& old,
                                        const Labels& labels) {
  std::vector<Error> wrong;
  for (const auto& [name, list] : kLists) {
    DecodeProps alone;
    alone.*list = props.*list;
    const auto settings = resolve(alone, labels, Picture(), nullptr);
    if (!settings) wrong.push_back(kept(name, props.*list, old.*list, settings.error()));
  }
  return wrong;
}

std::vector<Error> revert_invalid_names(DecodeProps& props, const DecodeProps& old,
                                        const std::function<Status(const DecodeProps&)>& check) {
  std::vector<Error> wrong;
  for (const auto& [name, text] : kNames) {
    if (props.*text == old.*text) continue;
    DecodeProps alone;
    alone.*text = props.*text;
    const Status right = check(alone);
    if (!right) wrong.push_back(kept(name, props.*text, old.*text, right.error()));
  }
  return wrong;
}

std::optional<Error> revert_missing_ids(DecodeProps& props, const std::string& before,
                                        std::span<const TensorView> listed) {
  for (const std::string& id : ids_of(props.tensor_ids))
    if (!std::ranges::contains(listed, std::string_view(id), &TensorView::id))
      return kept("tensor-ids", props.tensor_ids, before,
                  fail(ErrorKind::kMismatch, "a tensor with id " + id, to_string(listed),
                       "set tensor-ids= to ids of these")
                      .error());
  return std::nullopt;
}

std::vector<const char*> take_texts(DecodeProps& props, const DecodeProps& asked,
                                    const DecodeProps& in_force) {
  std::vector<const char*> changed;
  const auto take = [&](const char* name, std::string DecodeProps::* text) {
    if (asked.*text == in_force.*text || props.*text != asked.*text) return;
    props.*text = in_force.*text;
    changed.push_back(name);
  };
  for (const auto& [name, list] : kLists) take(name, list);
  for (const auto& [name, text] : kNames) take(name, text);
  return changed;
}

}  // namespace keepbox
