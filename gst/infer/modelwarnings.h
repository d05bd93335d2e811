// SPDX-License-Identifier: LGPL-2.1-or-later
// The warnings of tensorinfer's model.
#pragma once

#include <gst/gst.h>

#include <set>
#include <string>

#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/objects/objects.h"
#include "gst/infer/settings/inferprops.h"

namespace keepbox {

/// Posts each warning once, because caps may be set repeatedly.
class ModelWarnings {
 public:
  /// @param element posts the messages and must outlive this.
  explicit ModelWarnings(GstElement* element) : element_(element) {}

  /// Allows all warnings again.
  void clear() { posted_.clear(); }

  /// Warns of what was assumed about the model, and of incomplete metadata.
  void guesses(const InferProps& props, const ModelFacts& facts);
  /// Warns if a decoder upstream seems to be missing.
  void no_boxes(const Objects& objects);
  /// Warns if a frame has no room for some tensors of objects.
  void left_out_tensors(size_t count);
  /// Warns if batches were asked for and cannot be run.
  void no_batches(const InferProps& props, const Error& why);

 private:
  void post(const std::string& key, const Error& error);

  GstElement* element_;
  std::set<std::string> posted_;
};

}  // namespace keepbox
