// SPDX-License-Identifier: LGPL-2.1-or-later
// Caps without tensors, and the input of the family that is set.
#include "gst/decode/decodequeries.h"

#include <utility>

#include "core/model/detector.h"
#include "gst/decode/detectorfile/detectorfile.h"

namespace keepbox {

void remove_tensors_from_caps(GstQuery* query) {
  GstCaps *result = nullptr, *filter = nullptr;
  gst_query_parse_caps_result(query, &result);
  gst_query_parse_caps(query, &filter);
  GstCaps* plain = gst_caps_copy(result);
  for (guint i = 0; i < gst_caps_get_size(plain); ++i)
    gst_structure_remove_field(gst_caps_get_structure(plain, i), "tensors");
  plain = gst_caps_simplify(plain);
  if (filter != nullptr) {
    GstCaps* both = gst_caps_intersect_full(filter, plain, GST_CAPS_INTERSECT_FIRST);
    gst_caps_replace(&plain, both);
    gst_caps_unref(both);
  }
  gst_query_set_caps_result(query, plain);
  gst_caps_unref(plain);
}

std::optional<WantedFamily> wanted_family(const std::string& detector) {
  if (const DetectorSpec* spec = find_detector(detector))
    return WantedFamily{detector, spec->input, std::string(spec->input.caveat)};
  if (!means_detector_file(detector)) return std::nullopt;
  const auto file = load_detector(detector);
  if (!file) return std::nullopt;
  InputRule input = file->family->input;
  const std::string caveat(std::exchange(input.caveat, {}));
  return WantedFamily{detector, input, caveat};
}

}  // namespace keepbox
