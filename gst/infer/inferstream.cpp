// SPDX-License-Identifier: LGPL-2.1-or-later
// Decides which frames are inferred, and attaches their tensors in order.
#include "gst/infer/inferstream.h"

#include <utility>

#include "gst/metas/skippedmodels.h"

namespace keepbox {

void InferStream::forget() {
  since_ = 0;
  model_.forget();
}

Status InferStream::begin(GstBuffer* frame, const SkipRules& rules, uint64_t order, bool late) {
  KB_TRY(model_.prepare());
  // A GAP buffer may lack a picture. If it has one, it is inferred: videorate sets GAP on repeats.
  const bool picture = gst_buffer_n_memory(frame) != 0;
  const bool early = late || (since_ > 0 && since_ < rules.interval);
  if (early || !picture) {
    if (since_ > 0) ++since_;
    line_.note(rules.hold && early && picture ? FrameUse::kHeld : FrameUse::kSkipped, {}, 0);
    return model_.leave_out(frame);
  }
  since_ = 1;
  const GstClockTime now = gst_util_get_timestamp();
  KB_ASSIGN(Model::StartedRun begun, model_.begin(frame, order));
  const FrameUse use = begun.pending ? FrameUse::kInferred : FrameUse::kSkipped;
  line_.note(use, std::move(begun), now);
  return {};
}

InferStream::Completed InferStream::complete() {
  LineFrame first = line_.pop();
  Completed out{.buffer = std::move(first.buffer), .use = first.use, .held = false};
  if (first.use == FrameUse::kInferred) {
    out.status = model_.finish(out.buffer.get(), std::move(first.run));
    out.took = gst_util_get_timestamp() - first.begun;
    return out;
  }
  out.held = first.use == FrameUse::kHeld && model_.hold(out.buffer.get());
  if (!out.held) note_skipped_frame(out.buffer.get(), model_.source());
  return out;
}

}  // namespace keepbox
