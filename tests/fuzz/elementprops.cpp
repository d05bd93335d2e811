// SPDX-License-Identifier: LGPL-2.1-or-later
// Draws values by the type of a property.
#include "tests/fuzz/elementprops.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace keepbox::fuzz {
namespace {

constexpr std::string_view kKept[]{"location",      "backend",       "memory",      "device-id",
                                   "image-ids",     "category-ids",  "label-file",  "format",
                                   "max-file-time", "max-file-size", "stop-timeout"};

/// True if the property is ours. Those of GStreamer's classes could make a sink wait for a clock.
bool is_own(const GParamSpec* spec) {
  return std::string_view(g_type_name(spec->owner_type)).starts_with("Keepbox");
}

struct Texts {
  std::string_view property;
  const char* values[6];
};

constexpr Texts kTexts[]{
    {"detector", {nullptr, "auto", "yolov8", "yolov10", "yolox", "nobody"}},
    {"tensor-ids", {nullptr, "yolo-26-end2end-out", "a", "a,a", "yolo-v8-out", ","}},
    {"quantization", {nullptr, "0.5:3", "a=0.1:0", "nan:1", "", "x"}},
    {"include-classes", {nullptr, "0", "0,!1,2", "!person", ",!", "99999"}},
    {"class-thresholds", {nullptr, "0:0.5", "1:nan", "x:1", "0:", "::"}},
    {"min-size", {nullptr, "2", "2x3", "0:4", "-1", "x"}},
    {"max-size", {nullptr, "20", "20x30", "0:4", "0", "x"}},
    {"regions",
     {nullptr, "0,0,1,1", "inside:0,0,10,10;!5,5,9,9", "touch:0.1,0.1,0.5,0.5", "nan,0,1,1", "!;"}},
    {"model-size", {nullptr, "640x640", "320x320", "1x1", "x", "0x-1"}},
    {"blur", {nullptr, "*", "class-0,1", "m/*", ",", "class-1"}},
    {"pixelate", {nullptr, "*", "0", "", "m/class-0", "x"}},
    {"model-name", {nullptr, "m", "n", "", "\xc3\xa9", "a b"}},
    {"lines", {nullptr, "a=0,0.5,1,0.5", "a=0,0,9,9;b=5,0,5,40,up,down", "a=1,2", "", "=;="}},
    {"zones",
     {nullptr, "b=0.1,0.1,0.9,0.1,0.5,0.9", "b=0,0,9,9,0,9,9,0", "b=1,1,2,2,3,3", "", "x"}},
    {"tensor-id", {nullptr, "yolo-26-end2end-out", "x", "", "a", "b"}},
};

void set_number(Input& input, GstElement* element, GParamSpec* spec) {
  GValue value = G_VALUE_INIT;
  g_value_init(&value, spec->value_type);
  if (G_IS_PARAM_SPEC_BOOLEAN(spec)) g_value_set_boolean(&value, input.chance(50));
  else if (G_IS_PARAM_SPEC_UINT(spec))
    g_value_set_uint(&value, input.below(input.chance(80) ? 40 : 4000));
  else if (G_IS_PARAM_SPEC_INT(spec))
    g_value_set_int(&value, static_cast<gint>(input.below(40)) - 1);
  else if (G_IS_PARAM_SPEC_INT64(spec))
    g_value_set_int64(&value, gint64{input.below(100)} * GST_MSECOND);
  else if (G_IS_PARAM_SPEC_UINT64(spec)) g_value_set_uint64(&value, input.below(100));
  else if (G_IS_PARAM_SPEC_FLOAT(spec))
    g_value_set_float(&value, static_cast<float>(input.below(101)) / 100);
  else if (G_IS_PARAM_SPEC_DOUBLE(spec)) g_value_set_double(&value, input.below(33));
  g_param_value_validate(spec, &value);  // clamp to its range
  g_object_set_property(G_OBJECT(element), spec->name, &value);
  g_value_unset(&value);
}

bool set_text(Input& input, GstElement* element, GParamSpec* spec) {
  const auto* texts = std::ranges::find(kTexts, std::string_view(spec->name), &Texts::property);
  if (texts == std::end(kTexts)) return false;
  const char* value = input.chance(60) ? nullptr : input.pick(texts->values);
  g_object_set(element, spec->name, value, nullptr);
  return true;
}

}  // namespace

bool change_property(Input& input, GstElement* element) {
  guint count = 0;
  g_autofree GParamSpec** specs =
      g_object_class_list_properties(G_OBJECT_GET_CLASS(element), &count);
  GParamSpec* spec = specs[input.below(count)];
  if (std::string_view(spec->name) == "stats") {
    g_autoptr(GstStructure) stats = nullptr;
    g_object_get(element, "stats", &stats, nullptr);
    return false;
  }
  if (!is_own(spec) || !(spec->flags & G_PARAM_WRITABLE) ||
      std::ranges::contains(kKept, std::string_view(spec->name)))
    return false;
  if (G_IS_PARAM_SPEC_STRING(spec)) return set_text(input, element, spec);
  if (G_IS_PARAM_SPEC_ENUM(spec)) {
    const GEnumClass* values = G_PARAM_SPEC_ENUM(spec)->enum_class;
    g_object_set(element, spec->name, values->values[input.below(values->n_values)].value, nullptr);
    return true;
  }
  if (G_IS_PARAM_SPEC_OBJECT(spec) || G_IS_PARAM_SPEC_BOXED(spec)) return false;
  set_number(input, element, spec);
  return true;
}

}  // namespace keepbox::fuzz
