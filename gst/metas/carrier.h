// SPDX-License-Identifier: LGPL-2.1-or-later
// Implementation of carry_analytics(): mtds (carry.cpp), mtds that are parts of objects
// (carryparts.cpp), and regions (carryregions.cpp).
#pragma once

#include <gst/analytics/analytics.h>

#include <set>
#include <span>
#include <vector>

#include "gst/metas/carry.h"
#include "gst/metas/records/boxrecords.h"
#include "gst/metas/records/maskrecords.h"

namespace keepbox {

/// Carries one frame's relation meta over to another's.
class Carrier {
 public:
  Carrier(GstBuffer* from, const GstVideoInfo& from_info, GstBuffer* to,
          const GstVideoInfo& to_info, const PixelMap& map, const MovedProvenance& moved)
      : from_(from),
        to_(to),
        from_info_(from_info),
        to_info_(to_info),
        map_(map),
        moved_(moved),
        frame_{static_cast<uint32_t>(to_info.width), static_cast<uint32_t>(to_info.height)} {}

  void carry_mtds();
  void carry_regions();

 private:
  Placed place(const GstAnalyticsODMtd& od, const BoxRecords& records) const;
  bool lost_its_parent(const GstAnalyticsODMtd& od, const BoxRecords& records) const;
  Placed add_od(const GstAnalyticsODMtd& od, const BoxRecords& records);
  gpointer add_bytes(const GstAnalyticsMtd& mtd, GstAnalyticsMtd& added);
  guint add_other(const GstAnalyticsMtd& mtd);

  bool lost_its_object(const GstAnalyticsMtd& part) const;
  void carry_tensor(const GstAnalyticsMtd& mtd);
  void carry_mask(const GstAnalyticsMtd& mtd, const MaskRecords& records);
  void carry_group(const GstAnalyticsMtd& mtd);
  void carry_parts(std::span<const GstAnalyticsMtd> parts);

  void carry_relations(guint a);
  void carry_region(const GstVideoRegionOfInterestMeta& region);
  void rename(const GstVideoRegionOfInterestMeta& from, GstVideoRegionOfInterestMeta& to) const;

  GstBuffer *from_, *to_;
  GstVideoInfo from_info_, to_info_;  // copies, because transforms take non-const pointers
  const PixelMap& map_;
  const MovedProvenance& moved_;
  Size frame_;
  GstAnalyticsRelationMeta *source_ = nullptr, *target_ = nullptr;
  std::vector<Placed> placed_;            // indexed by the source's ids
  std::set<GstAnalyticsMtdType> types_;   // types of the source's mtds
  std::set<guint> grouped_;               // keypoints in groups of the source
  std::vector<MaskRecord> mask_records_;  // records of the target
};

/// True if an mtd goes with its object: tensors, masks, keypoints and their groups.
bool is_part(GstAnalyticsMtdType type);

}  // namespace keepbox
