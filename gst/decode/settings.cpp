// SPDX-License-Identifier: LGPL-2.1-or-later
// The settings of a stream, from properties and files, and its warnings.
#include "gst/decode/settings.h"

#include <glib.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <format>
#include <optional>
#include <string>
#include <utility>

#include "core/base/infile.h"
#include "core/base/text.h"
#include "core/formula/box.h"
#include "core/model/detector.h"
#include "core/model/detector_text.h"
#include "gst/base/error.h"
#include "gst/base/props.h"
#include "gst/decode/properties.h"

#define GST_CAT_DEFAULT ::keepbox::decode_log()

namespace keepbox {
namespace {

/// Fills in the settings that properties leave unset.
void take_source(Settings& settings, const TensorProvenance& source) {
  settings.declared_detector = source.detector;
  settings.declared_contract = source.contract;
  settings.declared_iou_threshold = source.iou_threshold;
  settings.dynamic_rows = source.dynamic_rows;
  settings.units = source.units;
  if (!source.has_geometry()) return;
  settings.letterbox = source.geometry;
  settings.tiles = source.tiles;
  settings.parts = source.objects;
}

}  // namespace

Result<Settings> resolve(const DecodeOptions& options, const ClassNames& names,
                         const Picture& frame, const TensorProvenance* source) {
  KB_ASSIGN(Settings out, resolve(options, names, frame));
  if (source != nullptr) take_source(out, *source);
  return out;
}

Status check_texts(const DecodeProps& props, const DecodeFiles& files, const StreamNames& names) {
  const SharedNames classes = files.labels() != nullptr ? files.labels() : names.labels;
  KB_TRY(Quantization::from(props.quantization));
  KB_TRY(resolve(props, classes != nullptr ? *classes : ClassNames::unknown_names(), {}));
  return {};
}

Status check_ids(const std::string& tensor_ids, const StreamNames& names) {
  if (names.ids == nullptr) return {};
  for (const std::string& id : ids_of(tensor_ids))
    if (!std::ranges::contains(*names.ids, id))
      return reject(ErrorKind::kMismatch,
                    "No tensor has the id " + id + "; the tensors have " +
                        (names.ids->empty() ? "none" : joined(*names.ids)),
                    "set tensor-ids= to ids of these");
  return {};
}

Result<Settings> DecodeStream::settings(const SharedProvenance& source) {
  // Labels are kept while they stay the same, because quarks are made on first use.
  const auto& declared = source != nullptr ? source->labels : std::vector<std::string>();
  if (names.labels == nullptr || names.labels->names() != declared)
    names.labels = std::make_shared<const Labels>(declared);
  auto out = resolve(props, *labels(), picture, source.get());
  if (!out) return out;
  take_files(*out, files);
  return out;
}

SharedLabels DecodeStream::labels() const {
  if (files.labels() == nullptr) return names.labels;
  if (file_names != files.labels()) file_labels = std::make_shared<const Labels>(*files.labels());
  file_names = files.labels();
  return file_labels;
}

std::string DecodeStream::labels_from() const {
  return files.labels() != nullptr ? files.labels_path() : "the model";
}

Size input_size_of(const DecodeProps& props, std::span<const TensorForm> tensors) {
  DecodeStream stream{.element = nullptr, .props = props};
  if (!stream.files.read(props)) return {};
  auto settings = stream.settings(nullptr);
  if (!settings) return {};
  if (settings->model_size.width != 0 && settings->model_size.height != 0)
    return settings->model_size;
  std::vector<TensorView> views;
  for (const TensorForm& each : tensors)
    views.push_back(form_of({.id = each.id, .type = each.type, .shape = each.shape}));
  const auto plan = make_plan(*settings, views);
  return plan ? plan->letterbox.model : Size{};
}

std::optional<Error> quantize(FrameTensors& tensors, const Quantization& set,
                              const DetectorSpec* family, std::span<const std::string> tensor_ids) {
  const auto listed = tensors.listed();
  std::vector<TensorView> views(listed.begin(), listed.end());
  const auto warning = quantize(views, set, family, tensor_ids);
  for (size_t i = 0; i < views.size(); ++i)
    if (views[i].scale != listed[i].scale || views[i].zero_point != listed[i].zero_point)
      tensors.set_quantization(i, views[i].scale, views[i].zero_point);
  return warning;
}

namespace {

std::string without_numbers(std::string text) {
  std::erase_if(text, [](char c) { return g_ascii_isdigit(c); });
  return text;
}

}  // namespace

std::string cause_of(const Error& error) {
  return error.what.empty() ? error.expected : without_numbers(error.what);
}

bool Mismatches::add(const Error& error) {
  constexpr size_t kMaxKinds = 16;
  std::string kind = without_numbers(error.message());
  if (kinds_.size() >= kMaxKinds || std::ranges::contains(kinds_, kind)) return false;
  kinds_.push_back(std::move(kind));
  return true;
}

bool Mismatches::tolerate(GstElement* element, OnMismatch policy, const Error& error) {
  const bool about_tensors =
      error.kind != ErrorKind::kInvalid && error.kind != ErrorKind::kNoResource;
  if (policy == OnMismatch::kError || !about_tensors) return false;
  if (!add(error)) return true;
  if (policy == OnMismatch::kWarn) post_warning(element, error);
  else GST_INFO_OBJECT(element, "%s", error.message().c_str());
  return true;
}

}  // namespace keepbox
