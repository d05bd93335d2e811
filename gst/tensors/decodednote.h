// SPDX-License-Identifier: LGPL-2.1-or-later
// The note on a buffer that says which of its tensors have been decoded: in a chain of models each
// decoder takes what came since the last one. And which models left the frame out on purpose. It
// goes with the buffer, so that of two branches behind a tee each decodes for itself.
#pragma once

#include <gst/gst.h>

#include "gst/tensors/tensorsource.h"

namespace keepbox {

/// Notes that a tensor's data was decoded, and holds it, so that no other can be taken for it.
void note_decoded(GstBuffer* buffer, GstBuffer* data);

/// Notes that an inference element left the frame out: no tensors of it are missing.
/// @param buffer writable.
/// @param source what its tensors would have said; nullptr: nobody knows.
void note_skipped(GstBuffer* buffer, SharedTensorSource source = nullptr);
/// Did any leave it out?
bool was_skipped(GstBuffer* buffer);
/// Did the element of that source?
bool was_skipped_by(GstBuffer* buffer, const SharedTensorSource& source);

/// The note of a buffer, for asking. Valid while it is not added to.
class DecodedNote {
 public:
  /// @param buffer nullptr: of none.
  explicit DecodedNote(GstBuffer* buffer);
  bool has(GstBuffer* data) const;

 private:
  const void* meta_ = nullptr;
};

/// Adds what is noted on one buffer to another's note.
void copy_note(GstBuffer* from, GstBuffer* to);

/// Is it the API of the note's meta?
bool is_decoded_note(GType api);

}  // namespace keepbox
