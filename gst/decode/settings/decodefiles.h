// SPDX-License-Identifier: LGPL-2.1-or-later
// The files that boxdecode's properties name, each read once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan/plan.h"
#include "gst/decode/detectorfile/detectorfile.h"
#include "gst/decode/settings/decodeprops.h"
#include "gst/tensors/labels.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// Reads the files of families, labels and priors, and keeps the labels that come with tensors. A
/// file that fails is read again by the next call.
class DecodeFiles {
 public:
  /// Returns core settings for frames of that size, from the properties and, where they are unset,
  /// from the source of the tensors (may be nullptr). Reads files whose names have changed.
  Result<Settings> settings(const DecodeProps& props, const Picture& frame,
                            const SharedProvenance& source);

  /// Checks files and properties before a source is known. Class names pass if a source may still
  /// provide them.
  Status check(const DecodeProps& props);

  /// Replaces an unknown family, files that cannot be read, an invalid quantization, and lists that
  /// do not match the current labels (of the file, or of the last source) by the values of `old`.
  /// @return one error for each.
  std::vector<Error> revert_invalid(DecodeProps& props, const DecodeProps& old);

  /// Returns the family of the file that detector= names, reading it if the name changed; else
  /// nullptr.
  Result<std::shared_ptr<const DetectorSpec>> family(const DecodeProps& props);

  /// Returns the labels that the last settings() used, and their origin.
  std::shared_ptr<const Labels> labels() const {
    return labels_path_.empty() ? declared_labels_ : labels_;
  }
  const std::string& labels_from() const { return labels_from_; }

 private:
  Status load(const DecodeProps& props);
  Status load_family(const std::string& detector);
  void take_labels(const SharedProvenance& source);

  std::string family_of_, labels_path_, priors_path_, labels_from_;
  DetectorFile family_;  // the file that family_of_ names
  using SharedLabels = std::shared_ptr<const Labels>;
  SharedLabels labels_ = std::make_shared<Labels>();           // from label-file=
  SharedLabels declared_labels_ = std::make_shared<Labels>();  // from the tensors' source
  std::vector<std::string> declared_names_;
  std::vector<Prior> priors_;
};

/// Returns the model's input size that properties set or that the shapes of tensors show; 0x0 if
/// neither does.
Size input_size_of(const DecodeProps& props, std::span<const TensorForm> tensors);

}  // namespace keepbox
