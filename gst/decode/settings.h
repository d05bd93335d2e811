// SPDX-License-Identifier: LGPL-2.1-or-later
// The settings of a stream, from properties and files, and its warnings.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/formula/letterbox.h"
#include "core/model/detector.h"
#include "core/options/settings.h"
#include "core/plan/plan.h"
#include "gst/base/error.h"
#include "gst/decode/properties.h"
#include "gst/tensors/labels.h"
#include "gst/tensors/provenance.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

// Translates the properties of boxdecode to core settings.

/// Returns core settings, without priors, for frames of that size. Properties that are set override
/// the tensors' source, and the source overrides guesses. Errors name the property.
/// @param source may be nullptr.
Result<Settings> resolve(const DecodeOptions& options, const ClassNames& names,
                         const Picture& frame, const TensorProvenance* source);

using SharedLabels = std::shared_ptr<const Labels>;

/// Classes and ids that the tensors of a stream declare. Copies share it.
struct StreamNames {
  SharedLabels labels;  // that the source of the tensors declares; nullptr before the first plan
  std::shared_ptr<const std::vector<std::string>> ids;  // of the last tensors; nullptr before
};

/// Checks the texts of properties: lists, sizes, regions and scales. Classes pass if their names
/// are not known yet.
Status check_texts(const DecodeProps& props, const DecodeFiles& files, const StreamNames& names);

/// Rejects tensor-ids= if one of them is not that of a tensor. Before the first tensors all pass.
Status check_ids(const std::string& tensor_ids, const StreamNames& names);

/// Returns the model's input size that properties set or that the shapes of tensors show; 0x0 if
/// neither does.
Size input_size_of(const DecodeProps& props, std::span<const TensorForm> tensors);

/// Sets scale and zero point of listed integer tensors that have none yet, as quantize() of core
/// does. @return a warning if ids are missing.
std::optional<Error> quantize(FrameTensors& tensors, const Quantization& set,
                              const DetectorSpec* family, std::span<const std::string> tensor_ids);

// Reports tensors that do not fit, once per kind.

/// Returns what errors of one cause have in common: the statement without its numbers, or what was
/// expected.
std::string cause_of(const Error& error);

/// The kinds of mismatches of a stream.
class Mismatches {
 public:
  /// Returns true for the first error of each kind, up to a limit that bounds memory if every frame
  /// fails differently. Errors that differ in numbers alone, as those of frames do, are of one
  /// kind.
  bool add(const Error& error);
  /// Reports the first error of each kind: a warning of the element, or a line in the log.
  /// @return false if the error has to stop the stream: by the policy, or because it is not about a
  /// frame's tensors.
  bool tolerate(GstElement* element, OnMismatch policy, const Error& error);
  void clear() { kinds_.clear(); }

 private:
  std::vector<std::string> kinds_;
};

// Data that the parts of a decoder share: properties, frames, files and warnings of a stream.

/// The stream that a decoder decodes.
struct DecodeStream {
  GstElement* element;  // posts the messages; outlives this
  DecodeProps props{};  // in force
  Picture picture{};    // of the frames
  DecodeFiles files{};  // named by the properties
  StreamNames names{};
  mutable SharedNames file_names{};    // of the labels below
  mutable SharedLabels file_labels{};  // of label-file=, made on first use
  // Causes of the warnings since the start:
  std::shared_ptr<std::set<std::string>> warned = std::make_shared<std::set<std::string>>();

  /// Returns core settings for the frames, from the properties and, where they are unset, from the
  /// source of the tensors (may be nullptr), whose labels it keeps.
  Result<Settings> settings(const SharedProvenance& source);
  /// Returns the labels of a file, or else of the last source.
  SharedLabels labels() const;
  /// Returns the origin of the labels, for messages.
  std::string labels_from() const;

  /// Posts a warning unless one of the same cause was posted since the start.
  void warn_once(const Error& error) {
    if (warned->insert(cause_of(error)).second) post_warning(element, error);
  }
};

// The debug category of boxdecode.

/// Returns the category, which is made by the first call, with or without the element.
inline GstDebugCategory* decode_log() {
  static GstDebugCategory* const category =
      _gst_debug_category_new("boxdecode", 0, "decoding of detector tensors");
  return category;
}

}  // namespace keepbox
