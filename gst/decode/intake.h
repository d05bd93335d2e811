// SPDX-License-Identifier: LGPL-2.1-or-later
// Takes the tensors of a frame that are meant for a decoder, and marks them as decoded.
#pragma once

#include <gst/gst.h>

#include <string>
#include <utility>

#include "core/base/result.h"
#include "core/plan/plan.h"
#include "gst/decode/settings.h"
#include "gst/tensors/tensors.h"

namespace keepbox {

/// The tensors of a decoder, frame by frame.
class TensorIntake {
 public:
  /// @param stream outlives this.
  explicit TensorIntake(DecodeStream& stream) : stream_(stream) {}

  /// Parses quantization=, of which take() reports errors.
  void set_quantization(const std::string& text) { quantization_ = Quantization::from(text); }

  /// Lists the tensors that no decoder upstream has decoded, with their quantization, and with
  /// sources for the picture as it is now. An error if there are none for this decoder. Tensors of
  /// objects are listed, split into images, if the last decoded ones were, or if there are no
  /// others, or none with an id of tensor-ids.
  /// @param tensors gets them; it has none if skipped().
  Status take(GstBuffer* buffer, FrameTensors& tensors);
  /// True if the last frame has no tensors for this decoder: the inference element skipped it, or
  /// it has no objects. It then has no boxes.
  bool skipped() const { return skipped_; }

  /// Marks the tensors of a source for decoders downstream; without a source, those whose ids the
  /// family reads; if it was recognised by shape alone, all.
  /// @param plan by which they were decoded.
  void mark_decoded(GstBuffer* buffer, const FrameTensors& tensors, const Plan& plan,
                    const SharedProvenance& source) const;
  /// Lists this decoder's tensors again after a frame that could not be decoded.
  Status list_tensors(GstBuffer* buffer, FrameTensors& tensors) const;
  /// Marks this decoder's tensors, of which none could be decoded, so that the next one skips them.
  void mark_undecodable(GstBuffer* buffer, const FrameTensors& tensors) const;

  /// Sets the source of the last decoded frame, to which a skipped frame belongs; nullptr: unknown.
  void set_decoded(SharedProvenance source) { decoded_ = std::move(source); }

  /// Forgets the last decoded frame.
  void forget() { decoded_.reset(); }

 private:
  bool is_skipped(GstBuffer* buffer, const FrameTensors& tensors) const;
  bool is_own(std::string_view id) const;
  bool has_wanted_id(const FrameTensors& tensors) const;
  void note_ids(GstBuffer* buffer);
  Status follow_picture(GstBuffer* buffer, FrameTensors& tensors) const;
  Status quantize(FrameTensors& tensors);

  DecodeStream& stream_;
  Result<Quantization> quantization_;  // parsed from the properties
  SharedProvenance decoded_;
  bool skipped_ = false;
};

/// Adds to an error about tensors of objects that another element decodes classes.
Status explained(Status status, const FrameTensors& tensors);

}  // namespace keepbox
