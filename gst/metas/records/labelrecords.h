// SPDX-License-Identifier: LGPL-2.1-or-later
// Results of classifiers and text recognisers about the objects of a frame, or about the frame.
// The labels of one attribute of one model are one mtd, which follows the objects with their frame.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "gst/metas/records/boxrecords.h"

namespace keepbox {

/// The od_id of results about the whole frame.
inline constexpr guint kWholeFrame = G_MAXUINT;

/// A result about one object.
struct ObjectLabel {
  guint od_id = 0;     // or kWholeFrame
  guint class_id = 0;  // the model's class number; G_MAXUINT for text
  GQuark name = 0;     // of the class; 0 for text
  float level = 0;     // confidence
  std::string text{};  // UTF-8, of a text recogniser, at most kMaxLabelText bytes
};

inline constexpr gsize kMaxLabelText = 120;

/// The model and attribute that results are about; 0 if unknown.
struct LabelSubject {
  GQuark model = 0, attribute = 0;
};

/// Adds results. @pre in ascending order of od_id, one per object. An empty list adds nothing.
void add_labels(GstAnalyticsRelationMeta* meta, const LabelSubject& about,
                std::span<const ObjectLabel> labels);

/// The results of a relation meta. Valid until mtds are added to it.
class LabelRecords {
 public:
  explicit LabelRecords(GstAnalyticsRelationMeta* meta);

  bool any() const { return !blocks_.empty(); }
  /// Adds the results about an object, or about kWholeFrame. Their texts are valid until mtds are
  /// added.
  void find(guint od_id, BoxLabels& out) const;

 private:
  struct Block {
    RecordBlock records;
    LabelSubject about;
  };
  std::vector<Block> blocks_;
};

bool is_labels(GstAnalyticsMtdType type);

/// Copies the results about carried objects, and about the frame. @param mtd of such results.
/// @param placed indexed by the ids in mtd.meta.
void carry_labels(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                  std::span<const Placed> placed);

}  // namespace keepbox
