// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers to queries that boxdecode gets from elements upstream.
#pragma once

#include <gst/gst.h>

#include <string>

namespace keepbox {

/// Removes the tensors that the template lists for tensordecodebin from the result of a caps query:
/// upstream needs none to link, and downstream gets the actual ones with the caps.
void remove_tensors_from_caps(GstQuery* query);

/// Answers with the family that is set, if any. May run in any thread, so a file is read just for
/// the query.
/// @param detector the property.
void answer_with_family(GstQuery* query, const std::string& detector);

}  // namespace keepbox
