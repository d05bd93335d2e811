// SPDX-License-Identifier: LGPL-2.1-or-later
// Relates images of a producer's tensors to objects of a frame. The records of a producer are
// one mtd, which follows the objects wherever their frame goes.
#pragma once

#include <span>
#include <vector>

#include "core/formula/input.h"
#include "gst/metas/records/boxrecords.h"

namespace keepbox {

/// The image of an object. New members are appended.
struct PictureRecord {
  static constexpr guint kLeftOut = G_MAXUINT;

  guint od_id = 0;                      // the object
  guint image = 0;                      // index in the tensors' first dimension; kLeftOut: the
                                        // model did not run on the object, but does on others
  CropPoint origin{}, right{}, down{};  // frame positions of the image's corners: top left, top
                                        // right, bottom left
};

/// Adds the records of a producer. @param producer TensorProvenance::producer.
/// @pre in ascending order of od_id. An empty list adds nothing.
void add_pictures(GstAnalyticsRelationMeta* meta, guint64 producer,
                  std::span<const PictureRecord> records);

/// Adds a record without an image for each object on which the producer did not run, although it
/// is one of those that it runs on. @pre in ascending order of od_id.
void add_left_out(GstBuffer* frame, guint64 producer, std::span<const guint> objects);

/// Returns the records of a producer whose objects are still on the frame, by od_id, without
/// objects that were left out.
std::vector<PictureRecord> read_pictures(GstBuffer* frame, guint64 producer);

/// Returns the objects of the frame that a producer left out.
std::vector<guint> read_left_out(GstBuffer* frame, guint64 producer);

bool is_pictures(GstAnalyticsMtdType type);

/// Copies the records of carried objects. @param mtd of such records. @param placed indexed by the
/// ids in mtd.meta.
void carry_pictures(const GstAnalyticsMtd& mtd, GstAnalyticsRelationMeta* to,
                    std::span<const Placed> placed, const PixelMap& map);

}  // namespace keepbox
