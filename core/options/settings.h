// SPDX-License-Identifier: LGPL-2.1-or-later
// From options to settings: the files that they name, and their texts.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/result.h"
#include "core/base/tensor.h"
#include "core/model/classnames.h"
#include "core/model/detector_text.h"
#include "core/options/options.h"
#include "core/plan/limits.h"
#include "core/plan/plan.h"

namespace keepbox {

/// Returns settings, without priors, for frames of that size. Errors name the option.
Result<Settings> resolve(const DecodeOptions& options, const ClassNames& names,
                         const Picture& frame);

// The files that options name, each read once.

using SharedNames = std::shared_ptr<const ClassNames>;

/// The contents of the files of a family, labels and priors. Copies share them.
class DecodeFiles {
 public:
  /// Reads the files whose names have changed, and rejects an unknown family. On an error the
  /// contents are to be dropped.
  Status read(const DecodeOptions& options);

  /// Returns the family of the file that detector= names; else nullptr.
  const std::shared_ptr<const DetectorSpec>& family() const { return family_.family; }
  /// Returns the labels of label-file=, or of the file that the family names; else nullptr.
  const SharedNames& labels() const { return labels_; }
  const std::string& labels_path() const { return labels_path_; }
  /// Returns nullptr without a file.
  const std::shared_ptr<const std::vector<Prior>>& priors() const { return priors_; }

 private:
  Status read_family(const std::string& detector);

  std::string family_of_, labels_path_, priors_path_;
  DetectorFile family_;  // the file that family_of_ names
  SharedNames labels_;
  std::shared_ptr<const std::vector<Prior>> priors_;
};

/// Adds the family and the priors of files to settings. The units of a file's family replace those
/// that the source of the tensors declares.
void take_files(Settings& settings, const DecodeFiles& files);

// Parses sizes and regions as users write them.

/// Parses "16x16,person:32x64,2:8x8": a size for all classes and others for some; later entries
/// win. @param property for errors, which are kInvalid.
Result<BoxSizes> sizes_of(std::string_view text, const ClassNames& labels, const char* property);

/// Parses regions= as its summary describes it. Fills in regions and their rule; errors are
/// kInvalid.
Result<FilterSettings> regions_of(std::string_view text);

/// Parses "640x640", the model's input; 0x0 if the text is empty. Errors are kInvalid.
Result<Size> model_size_of(std::string_view text);

// Prior boxes from a text file.

/// Reads numbers separated by white space: N lines of cy cx h w, or four lines with all cy, all cx,
/// all h and all w, as fractions of the model input.
Result<std::vector<Prior>> load_priors(const char* path);

// Scale and zero point of quantised tensors, as set by the user.

/// Scale and zero point of tensors: real value = (stored - zero point) * scale.
class Quantization {
 public:
  /// Parses "scale", "scale:zero-point", "id:scale" or "id:scale:zero-point"; several are separated
  /// by ',' or ';'. An id may contain colons; if it is or ends in a number, the zero point is
  /// required after the scale. Without an id, the entry applies to all integer tensors without an
  /// entry. kInvalid for anything else, scales that are not above 0, and two entries for one
  /// tensor.
  static Result<Quantization> from(const std::string& text);

  struct Entry {
    std::string id;  // empty: all other tensors
    float scale = 1, zero_point = 0;
  };

  /// Returns the entry of a tensor; nullptr if there is none.
  const Entry* find(const TensorView& tensor) const;
  /// Returns a warning if entries are of tensors that are not among these.
  std::optional<Error> check_ids(std::span<const TensorView> tensors) const;

 private:
  static Result<Entry> entry_from(std::string_view text);

  std::vector<Entry> entries_;
};

/// Sets scale and zero point of integer tensors that have none: those of the option, or else of the
/// family. @param family may be nullptr. @return a warning if the option has ids that no tensor
/// has.
std::optional<Error> quantize(std::span<TensorView> tensors, const Quantization& set,
                              const DetectorSpec* family, std::span<const std::string> tensor_ids);

}  // namespace keepbox
