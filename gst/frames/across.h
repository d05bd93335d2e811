// SPDX-License-Identifier: LGPL-2.1-or-later
// How framesave and framerestore speak to each other past what is between them.
//
//   ... ! framesave ! scaler ! model ! decoder ! framerestore ! ...
//
// Questions about the full frame (caps, allocation) and the wish for new caps concern neighbours of
// the pair, not the scaler: they travel between the two inside custom queries and events, which
// elements pass on. Pairs may lie within each other: a message counts the pairs that it is inside of.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// Asks on the other side of the pair: the peer of the other element's outer pad answers.
/// @param inner framesave's src or framerestore's sink pad. @return was there an answer?
bool ask_across(GstPad* inner, GstQuery* query);

/// For the query function of an inner pad: a message for this element goes on to the peer of its
/// outer pad, one for a pair around this one leaves this pair. Behind a tee there are several such
/// elements: the answer is what holds for all. @return was it such a message? What to return is then
/// in `result`.
bool answer_across(GstPad* outer, GstQuery* query, gboolean& result);

/// For the query function of an outer pad: a message of a pair around this one enters this pair.
bool pass_across(GstPad* inner, GstQuery* query, gboolean& result);

/// The same for events: an event as one that travels inside this pair, transfer full.
GstEvent* wrap_across(GstEvent* event);
/// The same for an event that has come to the inner pad: what it holds, or itself one pair less deep.
/// An event of another kind comes back as it is. Transfer full.
GstEvent* unwrap_across(GstEvent* event);
/// An event that enters this pair from outside: one pair deeper, if it is of this kind.
GstEvent* deepen_across(GstEvent* event);

/// Announces the caps of the frames that framesave keeps: a sticky event for framerestore.
GstEvent* saved_caps_event(GstCaps* caps);
/// Of such an event that is meant for this pair: the caps, transfer none; else nullptr.
GstCaps* saved_caps_of(GstEvent* event);

}  // namespace keepbox
