// SPDX-License-Identifier: LGPL-2.1-or-later
// Queries from an element to a decoder downstream: the family as which it decodes tensors, which
// sets the input of tensorinfer, and the size of the model input, which sets the frames of a
// replay.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>
#include <vector>

#include "core/model/detector.h"
#include "core/plan/plan.h"

namespace keepbox {

/// A family that is set on a decoder.
struct WantedFamily {
  std::string name;    // value of its property
  InputRule input;     // without a caveat
  std::string caveat;  // the caveat's text
};

/// Queries downstream of an inference element. std::nullopt if no decoder answers, if its detector
/// is auto, or if several inference elements share a decoder on either side, so that decoders are
/// ambiguous.
std::optional<WantedFamily> query_family(GstElement* inference);

/// True if it is query_family()'s query to a decoder.
bool is_family_query(GstQuery* query);
/// Answers the query. @pre is_family_query().
void answer_family_query(GstQuery* query, WantedFamily family);

/// Handles query_family() of other elements in an inference element. @return true if the query was
/// one of them; `answered` is then the return value.
bool handle_family_query(GstQuery* query, gboolean& answered);
/// Handles it in a decoder that has nothing to answer.
bool handle_producer_query(GstQuery* query);

/// Tensors of a frame that has no picture, and the size of the input that they were made from.
struct InputSizeQuery {
  std::vector<TensorForm> tensors;
  Size answer;  // 0x0: unknown
};

/// Queries a decoder downstream; elements in between that attach tensors add theirs. Without a
/// decoder, or if its properties and the tensors' shapes do not determine a size, returns the
/// likely one for the first tensor.
Size query_input_size(GstElement* source);
/// Returns query_input_size()'s question, or nullptr if the query is another one. It lives as long
/// as the query.
InputSizeQuery* input_size_query(GstQuery* query);

}  // namespace keepbox
