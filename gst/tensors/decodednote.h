// SPDX-License-Identifier: LGPL-2.1-or-later
// A note on a buffer about tensors that have been decoded, so that in a chain of models each
// decoder takes those attached since the previous one, and about models that skipped the frame on
// purpose or were decoded. It travels with the buffer, so that two branches of a tee decode
// independently.
#pragma once

#include <gst/gst.h>

#include <vector>

#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// Notes that a tensor's data was decoded, and holds a reference, so that its address is not
/// reused.
void note_decoded(GstBuffer* buffer, GstBuffer* data);

/// Notes that the inference element skipped the frame, or that the frame has no objects for it but
/// those that it left out: none of its tensors are missing.
/// @param buffer writable.
/// @param source of its tensors; nullptr if unknown.
void note_skipped(GstBuffer* buffer, SharedProvenance source = nullptr);
/// Notes that a decoder found what a model has on this frame, be it nothing.
void note_looked(GstBuffer* buffer);
bool was_looked_at(GstBuffer* buffer);
/// True if any inference element that runs on frames skipped the frame.
bool was_skipped(GstBuffer* buffer);
/// True if an inference element that runs on objects ran on none of the frame.
bool had_no_objects(GstBuffer* buffer);
/// Returns the known sources of all elements that skipped the frame or had no objects on it, in
/// their order.
std::vector<SharedProvenance> sources_of_skipped(GstBuffer* buffer);
/// True if the element of that source skipped the frame.
bool was_skipped_by(GstBuffer* buffer, const SharedProvenance& source);

/// The note of a buffer, for queries. Valid until the note changes.
class DecodedNote {
 public:
  /// @param buffer may be nullptr, for an empty note.
  explicit DecodedNote(GstBuffer* buffer);
  bool has(GstBuffer* data) const;

 private:
  const void* meta_ = nullptr;
};

/// Adds the note of one buffer to another's.
void copy_note(GstBuffer* from, GstBuffer* to);

/// True if it is the API of the note's meta.
bool is_decoded_note(GType api);

}  // namespace keepbox
