// SPDX-License-Identifier: LGPL-2.1-or-later
// The table of explanations. A row without an element is for those that no other row is for.
#include "gst/statistics/statstext.h"

#include <algorithm>
#include <format>

namespace keepbox {
namespace {

struct Row {
  std::string_view factory, field, help;
};

constexpr Row kRows[] = {
    {"", "frames", "Frames processed, skipped ones included"},
    {"", "time-per-frame-us", "Mean microseconds of a frame in the element"},
    {"", "boxes", "Boxes that the element attached or passed on"},

    {"boxdecode", "mismatches", "Frames whose tensors did not fit the family of the model"},
    {"boxdecode", "skipped-frames",
     "Frames without tensors, because the model did not run on them"},
    {"boxdecode", "runs", "Runs of the decoder, one for all frames of a batch of streams"},
    {"boxdecode", "zero-copy-frames",
     "Frames whose tensors were decoded in the memory they were in"},
    {"boxdecode", "uploaded-frames", "Frames whose tensors were copied to a GPU first"},
    {"boxdecode", "downloaded-frames", "Frames whose tensors were copied from a GPU first"},
    {"boxdecode", "last-time-us", "Time in microseconds that the last frame took"},
    {"boxdecode", "anchors", "Anchors of the model, each of which may be a box"},
    {"boxdecode", "above-threshold",
     "Candidates of the last frame with a score above the threshold"},
    {"boxdecode", "not-finite",
     "Candidates of the last frame that were not numbers (NaN or infinite)"},
    {"boxdecode", "after-class-filter", "Candidates of the last frame of the wanted classes"},
    {"boxdecode", "after-top-k",
     "Candidates of the last frame that non-maximum suppression compared"},
    {"boxdecode", "kept", "Boxes of the last frame that non-maximum suppression kept"},
    {"boxdecode", "clipped-away", "Boxes of the last frame that were outside of it"},
    {"boxdecode", "filtered-out",
     "Boxes of the last frame dropped by limits of size or by regions"},
    {"boxdecode", "merged-away", "Boxes of the last frame merged into one of another tile"},
    {"boxdecode", "empty-masks", "Boxes of the last frame dropped because their mask was empty"},
    {"boxdecode", "for-tracker", "Boxes of low score on the last frame that only trackers see"},
    {"boxdecode", "attached", "Boxes attached to the last frame"},
    {"boxdecode", "keypoints", "Keypoints of each box of the model, 0 if it has none"},
    {"boxdecode", "masks", "1 if boxes of the model have masks"},
    {"boxdecode", "embedding",
     "Values in the embedding of each box of the model, 0 if it has none"},

    {"tensorinfer", "inferred", "Frames that the model ran on"},
    {"tensorinfer", "skipped", "Frames that the model did not run on, on purpose or by lateness"},
    {"tensorinfer", "held", "Skipped frames that got the tensors of the last run"},
    {"tensorinfer", "late", "Frames skipped because they would have been late at the sink"},
    {"tensorinfer", "preprocess-us", "Mean time in microseconds that making a model input takes"},
    {"tensorinfer", "inference-us", "Mean time in microseconds that the model takes for a frame"},
    {"tensorinfer", "queue-us", "Mean time in microseconds that a frame waits for the model"},
    {"tensorinfer", "last-preprocess-us",
     "Time in microseconds that making the last model input took"},
    {"tensorinfer", "last-inference-us",
     "Time in microseconds that the model took for the last frame"},
    {"tensorinfer", "batch-size", "Most images that the shared model runs on at once"},
    {"tensorinfer", "batches", "Runs of the shared model"},
    {"tensorinfer", "batch-fill", "Mean number of images in a run of the shared model"},
    {"tensorinfer", "batch-dropped",
     "Images that flushes removed from batches of the shared model"},
    {"tensorinfer", "cuda-graph", "1 if the model runs as a CUDA graph"},

    {"boxtrack", "analysed-frames", "Frames that the model looked at"},
    {"boxtrack", "tracked-boxes", "Boxes that got an id"},
    {"boxtrack", "recovered-boxes", "Boxes of low score that continued an object"},
    {"boxtrack", "predicted-boxes", "Boxes placed where an object is expected, between runs"},
    {"boxtrack", "tracks", "Objects followed now"},
    {"boxtrack", "ids", "Different ids that were given"},

    {"classdecode", "images", "Images of objects or frames whose classes or text were decoded"},
    {"classdecode", "results", "Results above the threshold"},
    {"classdecode", "kept-results", "Results taken from an earlier frame of the same object"},

    {"boxpublish", "connected", "1 while the broker is connected"},
    {"boxpublish", "published", "Messages that the broker has confirmed"},
    {"boxpublish", "queued", "Messages that wait for the broker"},
    {"boxpublish", "dropped",
     "Messages dropped: the queue was full, they could not be sent, or they were lost at a stop"},
    {"boxpublish", "connections", "Connections to the broker so far"},
};

const Row* row_of(std::string_view factory, std::string_view field) {
  const auto found = [&](std::string_view owner) {
    return std::ranges::find_if(
        kRows, [&](const Row& row) { return row.factory == owner && row.field == field; });
  };
  auto row = found(factory);
  if (row == std::end(kRows)) row = found("");
  return row == std::end(kRows) ? nullptr : row;
}

}  // namespace

bool has_stats_help(std::string_view factory, std::string_view field) {
  return row_of(factory, field) != nullptr;
}

std::string stats_help(std::string_view factory, std::string_view field) {
  const Row* row = row_of(factory, field);
  return row != nullptr ? std::string(row->help)
                        : std::format("The statistic {} of {}, see gst-inspect-1.0 {}", field,
                                      factory, factory);
}

}  // namespace keepbox
