// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of boxdecode: the decoder's options, and those of the element.
#include "gst/decode/properties.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "gst/base/props.h"
#include "gst/metas/boxes.h"

namespace keepbox {
namespace {

/// The type of an option with words.
struct OptionType {
  std::string_view option;
  const char* name;
};

constexpr OptionType kOptionTypes[] = {
    {"nms-contract", "KeepboxNmsContract"}, {"nms-method", "KeepboxNmsMethod"},
    {"multi-label", "KeepboxMultiLabel"},   {"mask-size", "KeepboxMaskSize"},
    {"tile-merge", "KeepboxTileMerge"},     {"resize-mode", "KeepboxResizeMode"},
    {"backend", "KeepboxBackend"}};

GType type_of(const Option& option) {
  if (option.words == nullptr) return G_TYPE_NONE;
  const auto* found = std::ranges::find(kOptionTypes, option.name, &OptionType::option);
  return register_enum(found->name, option.words());
}

constexpr const char* kMostBoxes =
    " A frame has at most 10,000 boxes in all, half as many with masks or also-attach=class; boxes "
    "of objects' parts beyond that are dropped with a warning. GStreamer allocates one byte for "
    "each pair of boxes on a frame: 100 MB for 10,000 boxes.";

Property<DecodeProps> property_of(const Option& option) {
  Property<DecodeProps> out{.name = option.name,
                            .blurb = option.summary,
                            .member = &DecodeProps::detector,
                            .lowest = option.lowest,
                            .highest = option.highest,
                            .controllable = option.controllable,
                            .live = option.live,
                            .unset = option.unset,
                            .type = type_of(option)};
  std::visit([&](auto member) { out.member = static_cast<decltype(member)>(member); },
             option.member);
  if (out.name != std::string_view("max-detections")) return out;
  out.blurb = g_intern_string((option.summary + std::string(kMostBoxes)).c_str());
  out.highest = kMaxMtds;
  return out;
}

const Property<DecodeProps> kOwnProperties[] = {
    {.name = "model-name",
     .blurb = "Name of the model, to distinguish its boxes from those of other models on the "
              "same frame. Empty takes the name that the inference element declares, or else the "
              "name of this element, which boxsink writes only if a stream has several models.",
     .member = &DecodeProps::model_name,
     .live = true},
    {.name = "also-attach",
     .blurb = "Metas to attach to each box in addition to its GstAnalyticsODMtd.",
     .member = &DecodeProps::also_attach,
     .enum_type = also_attach_type,
     .live = true},
    {.name = "on-mismatch",
     .blurb = "What to do if a frame's tensors are missing or do not fit: stop the stream, or "
              "pass the frame without boxes. At the start, unreadable files and invalid "
              "properties always stop the stream; later they are refused with a warning.",
     .member = &DecodeProps::on_mismatch,
     .enum_type = on_mismatch_type,
     .live = true},
};

std::vector<Property<DecodeProps>> all_properties() {
  std::vector<Property<DecodeProps>> out;
  for (const Option& option : decode_options()) out.push_back(property_of(option));
  out.insert(out.end(), std::begin(kOwnProperties), std::end(kOwnProperties));
  return out;
}

}  // namespace

const PropertyTable<DecodeProps>& decode_properties() {
  static const std::vector<Property<DecodeProps>> rows = all_properties();
  static const PropertyTable<DecodeProps> table(rows, kChangeWhilePlaying);
  return table;
}

bool only_tuned(const DecodeProps& a, const DecodeProps& b) {
  return decode_properties().only_live_differ(a, b);
}

GType also_attach_type() {
  static const GType type =
      register_flags("KeepboxAlsoAttach",
                     {{kAttachRoi, "roi",
                       "A GstVideoRegionOfInterestMeta with the box's id, as DL Streamer reads it"},
                      {kAttachClass, "class", "A GstAnalyticsClsMtd related to the box"}});
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
