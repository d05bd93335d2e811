// SPDX-License-Identifier: LGPL-2.1-or-later
// Turns the tensors of classifiers and text recognisers into results about objects or frames.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/result.h"
#include "core/classify/classify.h"
#include "core/plan/plan.h"
#include "gst/classify/properties.h"
#include "gst/metas/records.h"
#include "gst/tensors/labels.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// Classes of an image with their names, best first.
struct NamedClasses {
  std::vector<GQuark> names;
  std::vector<gfloat> levels;
};

/// Results of one tensor about the images of a frame.
struct TensorResults {
  LabelSubject about;
  std::vector<ObjectLabel> labels;    // by image; od_id is not set; level 0 without name and text:
                                      // no result
  std::vector<NamedClasses> classes;  // by image; empty for text
};

/// The subject of kept results before and after a change of properties.
struct RenamedSubject {
  LabelSubject from, to;
};

/// The names in a label file.
struct LabelFile {
  Labels labels;
  std::vector<std::string> characters;  // the lines with their blanks
};
using SharedLabelFile = std::shared_ptr<const LabelFile>;

/// Reads a label file; nullptr without a path.
Result<SharedLabelFile> load_label_file(const std::string& path);

/// Decodes the tensors of one producer. For one thread.
class Classifier {
 public:
  /// Takes properties. @param given the file of label-file=.
  /// @return the subjects of results so far that have another name now.
  std::vector<RenamedSubject> set(const ClassifyProps& props, SharedLabelFile given);

  /// Decodes the mapped tensors of a frame. @param which their numbers among the listed ones.
  /// Tensors that are neither images x classes nor images x steps x characters are left out;
  /// kMismatch if all are.
  Result<std::vector<TensorResults>> decode(const FrameTensors& tensors,
                                            std::span<const uint32_t> which);

  /// Returns the model of results from tensors of that source; 0 if it has no name.
  GQuark model_of(const SharedProvenance& source) const;
  /// Returns what was recognised, for the statistics; empty before the first tensors.
  const std::string& remark() const { return remark_; }
  /// Returns a warning about the last frame's tensors, or nothing.
  std::optional<Error> warning() const { return warning_; }

  /// Forgets what was recognised.
  void forget() { heads_.clear(); }

 private:
  /// Settled facts about one tensor of a producer.
  struct Head {
    TensorForm form;  // dimensions per image
    SharedProvenance source;
    bool alone = false;  // the producer has no other tensor of results
    LabelSubject about;
    Activation activation = Activation::kSoftmax;
    Labels labels;
    std::optional<Characters> characters;  // of text
  };
  Result<const Head*> head_of(const TensorView& tensor, const SharedProvenance& source, bool alone);
  Result<Head> settle(const TensorView& tensor, const SharedProvenance& source, bool alone);
  std::string attribute_of(const std::string& id, bool text, bool alone) const;
  LabelSubject subject_of(const Head& head) const;
  bool is_one(const TensorView& tensor, const SharedProvenance& source) const;
  Activation activation_of(const TensorView& tensor, size_t rows, size_t columns) const;
  void read_image(const TensorView& tensor, const Head& head, size_t image,
                  TensorResults& out) const;

  ClassifyProps props_;
  SharedLabelFile given_;
  std::vector<Head> heads_;
  std::string remark_;
  std::optional<Error> warning_;
};

}  // namespace keepbox
