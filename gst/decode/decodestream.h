// SPDX-License-Identifier: LGPL-2.1-or-later
// Data that the parts of a decoder share: properties, frames, files and warnings of a stream.
#pragma once

#include <gst/gst.h>

#include <memory>
#include <set>
#include <string>

#include "core/formula/letterbox.h"
#include "gst/base/error.h"
#include "gst/decode/mismatches.h"
#include "gst/decode/settings/decodefiles.h"
#include "gst/decode/settings/decodeprops.h"

namespace keepbox {

/// The stream that a decoder decodes.
struct DecodeStream {
  GstElement* element;  // posts the messages; outlives this
  DecodeProps props{};  // in force
  Picture picture{};    // of the frames
  DecodeFiles files{};  // named by the properties
  // Causes of the warnings since the start:
  std::shared_ptr<std::set<std::string>> warned = std::make_shared<std::set<std::string>>();

  /// Posts a warning unless one of the same cause was posted since the start.
  void warn_once(const Error& error) {
    if (warned->insert(cause_of(error)).second) post_warning(element, error);
  }
};

}  // namespace keepbox
