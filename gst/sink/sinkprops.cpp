// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of boxsink's properties: name, blurb and where the value is kept.
#include "gst/sink/sinkprops.h"

#include <utility>
#include <vector>

#include "gst/base/error.h"
#include "gst/base/props.h"

namespace keepbox {
namespace {

constexpr gint64 kMaxLimit = G_GINT64_CONSTANT(1) << 60;  // bytes; in ns 36 years

GType format_type() {
  static const GType type = [] {
    std::vector<EnumValue> values;
    for (const OutputFormat& each : output_formats())
      values.push_back({static_cast<int>(each.format), each.name, each.blurb});
    return register_enum("KeepboxBoxFormat", values);
  }();
  return type;
}

const Property<SinkProps> kSinkProperties[] = {
    {"format", "Output format.", &SinkProps::format, format_type},
    {"location",
     "Path of the output file, or - for stdout (run gst-launch-1.0 with -q). It may contain "
     "conversions of strftime, such as %Y%m%d-%H%M%S, for the time when the file is opened, "
     "and one number of the file, %d or %05d; if there is a time, %d is the day of the "
     "month. %% is a percent sign. Names with a time or a number do not replace existing "
     "files: numbers that are in use are skipped, or -1, -2 ... is added. For kitti a "
     "pattern with one %d or %0Nd for the number of the frame, such as labels/%06d.txt; for "
     "dota with %s for the class, such as results/Task1_%s.txt. The folder of a pattern is "
     "created if missing. Until EOS, or until max-file-time or max-file-size, the file is "
     "named PATH.part (gst-launch-1.0 -e sends EOS when interrupted); then a PATH without a "
     "time or number replaces any existing file. A PATH.part left by an earlier run is "
     "renamed to PATH.part.1 or the next free number.",
     &SinkProps::location},
    {"max-file-time",
     "Running time in nanoseconds after which a file is finished and the next one begins; requires "
     "a time or a number in location. 0 writes one file. Each file is complete: CSV has its "
     "header, COCO results are an array. Frame numbers continue. The files of all classes (dota) "
     "are finished together. Not for kitti.",
     &SinkProps::max_file_time, nullptr, 0, kMaxLimit},
    {"max-file-size",
     "Maximum size of a file in bytes; a frame that does not fit begins the next file. Only "
     "a file with a single frame may be larger. 0 writes one file. Each file is complete, "
     "as with max-file-time. For dota the largest file counts. Not for kitti.",
     &SinkProps::max_file_size, nullptr, 0, kMaxLimit},
    {"first-frame",
     "Number of the first frame; -1 means 1 for mot and 0 for other formats. Every buffer is "
     "counted.",
     &SinkProps::first_frame},
    {"image-ids",
     "Text file for coco and dota with one image_id (coco) or image name (dota) per line, one line "
     "per frame. If empty, the frame number is used.",
     &SinkProps::image_ids},
    {"category-ids",
     "Text file for coco: line N has the category_id of class N, optionally followed by the label, "
     "which is used for decoders without class numbers and for further models on a frame. If "
     "empty, models whose names are those of the 80 COCO classes get COCO's ids (1 to 90); others "
     "get their class numbers from 0. Of decoders without class numbers, labels that are names of "
     "COCO's classes get COCO's ids, and others 1001, 1002 ... in order of appearance. "
     "GST_DEBUG=boxsink:4 logs the choice.",
     &SinkProps::category_ids},
};

}  // namespace

const PropertyTable<SinkProps>& sink_properties() {
  static const auto rows = with_json_rows<SinkProps>(kSinkProperties);
  static const PropertyTable<SinkProps> table(rows, kChangeWhenReady);
  return table;
}

Result<BoxWriter> make_writer(const SinkProps& props) {
  KB_ASSIGN(auto options, json_options(props));
  const OutputFormat& format = props.output();
  const char* images = props.image_ids.c_str();
  if (format.images == OutputFormat::Images::kNames && !props.image_ids.empty()) {
    KB_ASSIGN(options.names, load_names(images, "image-ids"));
  }
  if (format.images == OutputFormat::Images::kIds && !props.image_ids.empty()) {
    KB_ASSIGN(options.images, load_coco_ids(images, "image-ids"));
  }
  if (format.categories && !props.category_ids.empty()) {
    KB_ASSIGN(options.categories, load_coco_ids(props.category_ids.c_str(), "category-ids"));
  }
  return BoxWriter(format.format, std::move(options));
}

}  // namespace keepbox
