// SPDX-License-Identifier: LGPL-2.1-or-later
// The files that boxdecode's properties name, each read once.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/plan.h"
#include "gst/decode/decodeprops.h"
#include "gst/decode/detectorfile.h"
#include "gst/decode/labels.h"
#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// Files of families, labels and priors, and labels that come with tensors. A file that fails is tried, and fails, again.
class DecodeFiles {
 public:
  /// Core settings for frames of that size, as far as properties leave them to it by the source of
  /// the tensors, which may be nullptr; reads files whose names have changed.
  Result<Settings> settings(const DecodeProps& props, const Picture& frame,
                            const SharedTensorSource& source);

  /// What is wrong with files and properties before a source is known. Names of classes are right if
  /// they may come with one.
  Status check(const DecodeProps& props);

  /// Puts the values of `old` in place of lists that are wrong for the labels as they are now:
  /// those of the file, or of the last source. @return what is wrong with each.
  std::vector<Error> keep_right(DecodeProps& props, const DecodeProps& old);

  /// The family of the file that detector= names, read when that has changed; else nullptr.
  Result<std::shared_ptr<const DetectorSpec>> family(const DecodeProps& props);

  /// As the last settings() had them, and where from.
  std::shared_ptr<const Labels> labels() const {
    return labels_path_.empty() ? told_labels_ : labels_;
  }
  const std::string& labels_from() const { return labels_from_; }

 private:
  Status load(const DecodeProps& props);
  Status load_family(const std::string& detector);
  void take_labels(const SharedTensorSource& source);

  std::string family_of_, labels_path_, priors_path_, labels_from_;
  DetectorFile family_;  // of detector= as family_of_ has it
  using SharedLabels = std::shared_ptr<const Labels>;
  SharedLabels labels_ = std::make_shared<Labels>();       // of the file
  SharedLabels told_labels_ = std::make_shared<Labels>();  // of the source
  std::vector<std::string> told_names_;
  std::vector<Prior> priors_;
};

/// Returns the model's input size that properties set or that the shapes of tensors show; 0x0 if
/// neither does.
Size input_size_of(const DecodeProps& props, std::span<const TensorView> tensors);

}  // namespace keepbox
