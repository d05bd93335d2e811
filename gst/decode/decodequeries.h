// SPDX-License-Identifier: LGPL-2.1-or-later
// Answers to queries that boxdecode gets from elements upstream: caps without tensors, and the
// input of the family that is set.
#pragma once

#include <gst/gst.h>

#include <optional>
#include <string>

#include "gst/tensors/familyquery.h"

namespace keepbox {

/// Removes the tensors that the template lists for tensordecodebin from the result of a caps query:
/// upstream needs none to link, and downstream gets the actual ones with the caps.
void remove_tensors_from_caps(GstQuery* query);

/// Returns the family that is set; std::nullopt for auto and for a file that cannot be read, which
/// is reported with the first frame. May run in any thread, so a file is read just for this.
/// @param detector the property.
std::optional<WantedFamily> wanted_family(const std::string& detector);

}  // namespace keepbox
