// SPDX-License-Identifier: LGPL-2.1-or-later
// A query between elements: the family as which downstream decodes an inference element's tensors.
// A family set on boxdecode also defines the input of tensorinfer.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>

#include "core/detector.h"

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
std::optional<WantedFamily> ask_family(GstElement* inference);

/// True if it is ask_family()'s query to a decoder.
bool asks_family(GstQuery* query);
/// Answers the query. @pre asks_family().
void answer_family(GstQuery* query, WantedFamily family);

/// Handles ask_family() of other elements in an inference element. @return true if the query was
/// one of them; `answered` is then the return value.
bool meets_family_query(GstQuery* query, gboolean& answered);
/// Handles it in a decoder that has nothing to answer.
bool ends_producer_query(GstQuery* query);

}  // namespace keepbox
