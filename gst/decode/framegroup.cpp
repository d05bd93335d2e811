// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides which frames are in a run.
#include "gst/decode/framegroup.h"

#include <algorithm>
#include <utility>

namespace keepbox {

JointProcessor* FrameGroup::joint_for(const StreamProcessor& processor) {
  for (const auto& each : joints_)
    if (each->takes(processor)) return each.get();
  return joints_.emplace_back(std::make_unique<JointProcessor>(processor)).get();
}

void FrameGroup::add(Decoder& decoder, GstBuffer* frame) {
  const GstClockTime started = gst_util_get_timestamp();
  Entry& entry = entries_.emplace_back(&decoder, frame, 0, decoder.prepare(frame));
  if (entry.prepared) entry.joint = joint_for(decoder.stream_processor());
  entry.spent = gst_util_get_timestamp() - started;
}

/// Returns the frames that can be in a run with a prepared one and are not before it.
std::vector<FrameGroup::Entry*> FrameGroup::run_of(size_t first) {
  std::vector<Entry*> out{&entries_[first]};
  for (Entry& each : std::span(entries_).subspan(first + 1)) {
    if (!each.prepared || each.joint != out.front()->joint) continue;
    const bool fits = out.size() < JointProcessor::kMost &&
                      each.joint->follows(*out.back()->prepared, *each.prepared);
    if (!fits) break;
    out.push_back(&each);
  }
  return out;
}

/// Runs a prepared frame with those that can be in its run. Frames that cannot be run together are
/// not prepared any more. @return kInterrupted if stopped.
Status FrameGroup::run_from(size_t first) {
  const GstClockTime started = gst_util_get_timestamp();
  const std::vector<Entry*> run = run_of(first);
  std::vector<const PreparedFrame*> frames;
  for (const Entry* each : run) frames.push_back(&*each->prepared);
  const bool together = run.size() > 1;
  const Status ran = together ? run.front()->joint->run(frames) : Status{};
  if (!ran && ran.error().kind == ErrorKind::kInterrupted) return ran;
  const GstClockTime share = (gst_util_get_timestamp() - started) / run.size();
  for (uint32_t i = 0; i < run.size(); ++i) {
    run[i]->spent += share;
    run[i]->number = i;
    run[i]->ran = together && ran;
    if (!run[i]->ran) run[i]->prepared.reset();
  }
  return {};
}

/// Decodes a frame, or takes its boxes from the run that it is in. A decoder takes none if it has
/// made another plan since, for a frame before.
Status FrameGroup::complete(Entry& entry) {
  if (entry.ran) {
    const Status taken =
        entry.decoder->take(entry.frame, *entry.prepared, **entry.joint, entry.number);
    entry.prepared.reset();  // before the frame gets metas
    if (taken) return taken;
  }
  return entry.decoder->decode(entry.frame);
}

GstFlowReturn FrameGroup::finish(const Finish& finish) {
  GstFlowReturn flow = GST_FLOW_OK;
  for (size_t i = 0; i < entries_.size() && flow == GST_FLOW_OK; ++i) {
    Entry& entry = entries_[i];
    const Status ran = entry.prepared && !entry.ran ? run_from(i) : Status{};
    const GstClockTime started = gst_util_get_timestamp();
    const Status status = ran ? complete(entry) : ran;
    flow = finish(*entry.decoder, entry.frame, status, started - entry.spent);
  }
  entries_.clear();
  return flow;
}

void FrameGroup::keep_for(std::span<const Decoder* const> decoders) {
  std::vector<ProcessorNumber> numbers;
  for (const Decoder* each : decoders) numbers.push_back(each->stream_processor().number());
  std::erase_if(joints_, [&](const auto& joint) { return !joint->keep(numbers); });
}

void FrameGroup::clear() {
  entries_.clear();
  joints_.clear();
}

}  // namespace keepbox
