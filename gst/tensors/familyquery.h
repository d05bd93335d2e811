// SPDX-License-Identifier: LGPL-2.1-or-later
// A question that passes between elements: which family downstream decodes an inference element's
// tensors as. The family that a user sets on boxdecode makes the input of tensorinfer, too.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>

#include "core/detector.h"

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

}  // namespace keepbox
