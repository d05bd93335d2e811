// SPDX-License-Identifier: LGPL-2.1-or-later
// The properties of boxdecode: the decoder's options, and those of the element.
#pragma once

#include <gst/gst.h>

#include <string>

#include "core/options/options.h"
#include "gst/base/props.h"

namespace keepbox {

enum class OnMismatch { kError, kWarn, kPass };
enum AlsoAttach : guint { kAttachRoi = 1, kAttachClass = 2 };

/// Property values as set. Plain data: copied under the object lock.
struct DecodeProps : DecodeOptions {
  std::string model_name;
  guint also_attach = 0;  // AlsoAttach
  int on_mismatch = 0;    // OnMismatch

  bool operator==(const DecodeProps&) const = default;
};

/// True if they differ only in properties whose changes need no new plan.
bool only_tuned(const DecodeProps& a, const DecodeProps& b);

const PropertyTable<DecodeProps>& decode_properties();

GType also_attach_type();
GType on_mismatch_type();

}  // namespace keepbox
