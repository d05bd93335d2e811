// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads files when their names change, and prefers them to what comes with tensors.
#include "gst/decode/settings/decodefiles.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "core/model/detector.h"
#include "gst/base/spelling.h"
#include "gst/decode/priors.h"
#include "gst/decode/quantization.h"
#include "gst/decode/settings/decodesettings.h"

namespace keepbox {
namespace {

template <class Content, class Load>
Status load_once(std::string& loaded, const std::string& path, Content& content, Load load) {
  if (path == loaded) return {};
  content = Content();
  loaded.clear();
  if (path.empty()) return {};
  KB_ASSIGN(content, load(path.c_str()));
  loaded = path;
  return {};
}

}  // namespace

/// Rejects an unknown name before the first frame. Costs one comparison per frame.
Status DecodeFiles::load_family(const std::string& detector) {
  if (detector == family_of_) return {};
  family_ = {};
  family_of_.clear();
  if (means_detector_file(detector)) {
    KB_ASSIGN(family_, load_detector(detector));
  } else if (!detector.empty() && detector != Settings{}.detector &&
             find_detector(detector) == nullptr) {
    NearestName nearest(detector);
    for (const DetectorSpec& spec : detectors()) nearest.consider(spec.name);
    return reject(ErrorKind::kInvalid, "detector=" + detector + " is unknown",
                  set_or_ask(nearest.found()) +
                      "it to auto, a family listed by keepbox detectors, or a file whose name "
                      "contains a / or ends in .detector");
  }
  family_of_ = detector;
  return {};
}

Status DecodeFiles::load(const DecodeProps& props) {
  KB_TRY(load_family(props.detector));
  const auto load_labels = [](const char* path) {
    return Labels::load(path).transform(
        [](Labels&& labels) { return SharedLabels(std::make_shared<Labels>(std::move(labels))); });
  };
  const std::string& labels = props.label_file.empty() ? family_.label_file : props.label_file;
  KB_TRY(load_once(labels_path_, labels, labels_, load_labels));
  return load_once(priors_path_, props.priors_file, priors_, load_priors);
}

/// Labels are kept while they stay the same, because quarks are made on first use.
void DecodeFiles::take_labels(const SharedProvenance& source) {
  const auto& names = source != nullptr ? source->labels : std::vector<std::string>();
  if (names != declared_names_) {
    declared_names_ = names;
    declared_labels_ = std::make_shared<Labels>(names);
  }
  labels_from_ = !labels_path_.empty() ? labels_path_ : "the model";
}

Result<Settings> DecodeFiles::settings(const DecodeProps& props, const Picture& frame,
                                       const SharedProvenance& source) {
  KB_TRY(load(props));
  take_labels(source);
  auto out = resolve(props, *labels(), frame, source.get());
  if (!out) return out;
  out->family = family_.family;
  out->priors = priors_;
  return out;
}

std::vector<Error> DecodeFiles::revert_invalid(DecodeProps& props, const DecodeProps& old) {
  std::vector<Error> wrong =
      revert_invalid_names(props, old, [](const DecodeProps& alone) -> Status {
        KB_TRY(Quantization::from(alone.quantization));
        return DecodeFiles().check(alone);
      });
  if (!load(props)) return wrong;  // the next frame reports that
  std::ranges::move(revert_invalid_lists(props, old, *labels()), std::back_inserter(wrong));
  return wrong;
}

Result<std::shared_ptr<const DetectorSpec>> DecodeFiles::family(const DecodeProps& props) {
  KB_TRY(load_family(props.detector));
  return family_.family;
}

Status DecodeFiles::check(const DecodeProps& props) {
  KB_TRY(load(props));
  KB_ASSIGN(const auto out,
            resolve(props, labels_path_.empty() ? Labels::unknown_names() : *labels_, Picture(),
                    nullptr));
  return {};
}

Size input_size_of(const DecodeProps& props, std::span<const TensorForm> tensors) {
  DecodeFiles files;
  auto settings = files.settings(props, {}, nullptr);
  if (!settings) return {};
  if (settings->model.width != 0 && settings->model.height != 0) return settings->model;
  settings->frame = {};  // source-width= is not the model's
  std::vector<TensorView> views;
  for (const TensorForm& each : tensors)
    views.push_back(form_of({.id = each.id, .type = each.type, .shape = each.shape}));
  const auto plan = make_plan(*settings, views);
  return plan ? plan->letterbox.model : Size{};
}

}  // namespace keepbox
