// SPDX-License-Identifier: LGPL-2.1-or-later
// One table of boxsink's properties: name, blurb and where the value is kept.
#include "gst/sink/sinkprops.h"

#include <nlohmann/json.hpp>

#include "gst/base/enums.h"
#include "gst/base/error.h"

namespace keepbox {
namespace {

GType format_type() {
  static const GType type = register_enum(
      "KeepboxBoxFormat",
      {{static_cast<int>(BoxFormat::kJsonl), "jsonl",
        "A JSON object a frame and line, as DL Streamer's gvametaconvert writes it"},
       {static_cast<int>(BoxFormat::kCoco), "coco",
        "An array of COCO results, as pycocotools loads it"},
       {static_cast<int>(BoxFormat::kMot), "mot",
        "Lines of MOTChallenge; frames count from 1, the pixels of boxes from 0"},
       {static_cast<int>(BoxFormat::kKitti), "kitti",
        "Lines of KITTI object results, a file a frame"},
       {static_cast<int>(BoxFormat::kCsv), "csv",
        "A header and a line a box; names are as the model has them, and a spreadsheet may run "
        "those that begin with =, +, - or @"},
       {static_cast<int>(BoxFormat::kDota), "dota",
        "Lines of DOTA's task 1, the four corners of each box, a file a class"}});
  return type;
}

const Property<SinkProps> kSinkProperties[] = {
    {"format", "Format of the file.", &SinkProps::format, format_type},
    {"location",
     "Path of the file, - for stdout (run gst-launch-1.0 with -q); for kitti a pattern with one %d "
     "or %0Nd, such as labels/%06d.txt, for dota with one %s, such as results/Task1_%s.txt, whose "
     "folder is made when it is missing. The file is called PATH.part until EOS (gst-launch-1.0 -e "
     "sends it when interrupted), and then replaces one that exists. A PATH.part that an earlier "
     "run left becomes PATH.part.1, or the next number that is free.",
     &SinkProps::location},
    {"first-frame",
     "Number of the first frame; -1 is 1 for mot and 0 for the others. Every buffer counts.",
     &SinkProps::first_frame},
    {"image-ids",
     "Text file with the image_id (for dota the name) of one frame a line, for coco and dota; "
     "without it the frame's number is used.",
     &SinkProps::image_ids},
    {"category-ids",
     "Text file for coco: line N has the category_id of class N, and after it the label, which "
     "decoders that give no class number and further models on a frame are known by. Without it, "
     "models with the names of COCO's 80 classes get its own ids (1 to 90), others their class "
     "numbers from 0, or 1, 2 ... for labels in the order of their appearance; GST_DEBUG=boxsink:4 "
     "says which.",
     &SinkProps::category_ids},
    {"source", "Name of the stream in each line of jsonl; empty leaves the field out.",
     &SinkProps::source},
    {"tags",
     "JSON object with values of your own, such as {\"camera\":3}, that each line of jsonl has as "
     "its tags; empty leaves the field out.",
     &SinkProps::tags},
    {"write-empty", "Frames without boxes get a line of jsonl or a file of kitti too.",
     &SinkProps::write_empty},
    {"add-system-timestamp",
     "Each line of jsonl has the time of day as system_timestamp: the computer's, when the frame "
     "comes here. A frame's own time code (GstVideoTimeCodeMeta, which timecodestamper makes) is "
     "written in any case, and instead, if it has a date.",
     &SinkProps::add_system_timestamp},
    {"timestamp-utc", "The system_timestamp is in UTC instead of local time.",
     &SinkProps::timestamp_utc},
    {"timestamp-microseconds", "The system_timestamp has microseconds instead of milliseconds.",
     &SinkProps::timestamp_microseconds},
    {"add-rtp-timestamp",
     "Lines of jsonl have the sender's clock as rtp.sender_ntp_unix_timestamp_ns where the frame "
     "has it (rtspsrc add-reference-timestamp-meta=true).",
     &SinkProps::add_rtp_timestamp},
};

/// The user's JSON object on one line.
Result<std::string> parse_tags(const std::string& text) {
  if (text.empty()) return text;
  const auto tags = nlohmann::ordered_json::parse(text, nullptr, false);
  if (tags.is_object()) return tags.dump();
  return fail(ErrorKind::kInvalid, "a JSON object in tags=", '"' + text + '"',
              R"(set it as tags='{"camera":3}', in quotes for the shell)");
}

}  // namespace

const PropertyTable<SinkProps>& sink_properties() {
  static constexpr PropertyTable<SinkProps> table(kSinkProperties, kChangeWhenReady);
  return table;
}

Result<BoxWriter> make_writer(const SinkProps& props) {
  auto tags = parse_tags(props.tags);
  if (!tags) return std::unexpected(tags.error());
  WriterOptions options{.source = props.source,
                        .tags = std::move(*tags),
                        .write_empty = props.write_empty};
  const bool coco = props.is(BoxFormat::kCoco);
  if (props.is(BoxFormat::kDota) && !props.image_ids.empty()) {
    auto names = load_names(props.image_ids.c_str(), "image-ids");
    if (!names) return std::unexpected(names.error());
    options.names = std::move(*names);
  }
  if (coco && !props.image_ids.empty()) {
    auto ids = load_coco_ids(props.image_ids.c_str(), "image-ids");
    if (!ids) return std::unexpected(ids.error());
    options.images = std::move(*ids);
  }
  if (coco && !props.category_ids.empty()) {
    auto ids = load_coco_ids(props.category_ids.c_str(), "category-ids");
    if (!ids) return std::unexpected(ids.error());
    options.categories = std::move(*ids);
  }
  return BoxWriter(static_cast<BoxFormat>(props.format), std::move(options));
}

}  // namespace keepbox
