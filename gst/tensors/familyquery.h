// SPDX-License-Identifier: LGPL-2.1-or-later
// Queries that elements send to a decoder downstream: which family it decodes tensors as, which sets
// the input of tensorinfer, and which size the model's input has, which sets the frames of a replay.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>
#include <vector>

#include "core/detector.h"
#include "core/tensor.h"

namespace keepbox {

/// A family that is set on a decoder.
struct WantedFamily {
  std::string name;    // as its property has it
  InputRule input;     // without a caveat
  std::string caveat;  // its text
};

/// Asks downstream of an inference element. Nothing if no decoder answers, if its detector is auto, or if
/// another inference element stands between this one and a decoder, on either side: then decoders
/// cannot be told apart.
std::optional<WantedFamily> ask_family(GstElement* inference);

/// True if it is ask_family()'s question to a decoder.
bool asks_family(GstQuery* query);
/// Answers it. @pre asks_family().
void answer_family(GstQuery* query, WantedFamily family);

/// Takes part in ask_family() of other elements: what an inference element does with a query.
/// @return true if the query was one of them; then `answered` is what to return.
bool meets_family_query(GstQuery* query, gboolean& answered);
/// The same for a decoder that has nothing to answer.
bool ends_producer_query(GstQuery* query);

/// Tensors of a frame that has no picture, and the size of the input that they were made from.
struct InputQuestion {
  std::vector<TensorView> tensors;  // without data
  Size answer;                      // 0x0: unknown
};

/// Asks a decoder downstream; elements in between that attach tensors add theirs. Without a decoder,
/// or if its properties and the tensors' shapes together do not show a size, the first tensor's
/// likely one counts.
Size ask_input_size(GstElement* source);
/// Returns ask_input_size()'s question, or nullptr if the query is another one. It lives as long as
/// the query.
InputQuestion* input_question(GstQuery* query);

}  // namespace keepbox
