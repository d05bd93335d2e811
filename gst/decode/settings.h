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
#include "core/model/detector_text.h"
#include "core/plan/filters.h"
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
Result<Settings> resolve(const DecodeProps& props, const Labels& labels, const Picture& frame,
                         const TensorProvenance* source);

// The files that boxdecode's properties name, each read once.

using SharedLabels = std::shared_ptr<const Labels>;

/// The contents of the files of a family, labels and priors. Copies share them.
class DecodeFiles {
 public:
  /// Reads the files whose names have changed, and rejects an unknown family. On an error the
  /// contents are to be dropped.
  Status read(const DecodeProps& props);

  /// Returns the family of the file that detector= names; else nullptr.
  const std::shared_ptr<const DetectorSpec>& family() const { return family_.family; }
  /// Returns the labels of label-file=, or of the file that the family names; else nullptr.
  const SharedLabels& labels() const { return labels_; }
  const std::string& labels_path() const { return labels_path_; }
  /// Returns nullptr without a file.
  const std::shared_ptr<const std::vector<Prior>>& priors() const { return priors_; }

 private:
  Status read_family(const std::string& detector);

  std::string family_of_, labels_path_, priors_path_;
  DetectorFile family_;  // the file that family_of_ names
  SharedLabels labels_;
  std::shared_ptr<const std::vector<Prior>> priors_;
};

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

// Parses sizes and regions as users write them.

/// Parses "16x16,person:32x64,2:8x8": a size for all classes and others for some; later entries
/// win. @param property for errors, which are kInvalid.
Result<BoxSizes> sizes_of(std::string_view text, const Labels& labels, const char* property);

/// Parses regions= as its blurb describes it. Fills in regions and their rule; errors are kInvalid.
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

  /// Applies the entries to listed tensors that are not mapped yet. @return a warning if ids are
  /// missing.
  std::optional<Error> apply(FrameTensors& tensors) const;

 private:
  struct Entry {
    std::string id;  // empty: all other tensors
    float scale = 1, zero_point = 0;
  };
  static Result<Entry> entry_from(std::string_view text);
  const Entry* find(const TensorView& tensor) const;

  std::vector<Entry> entries_;
};

/// Applies the family's quantization to listed integer tensors that have none yet.
/// @param tensor_ids as the property of that name.
void quantize_as(const DetectorSpec& family, FrameTensors& tensors,
                 std::span<const std::string> tensor_ids);

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
