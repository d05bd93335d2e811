// SPDX-License-Identifier: LGPL-2.1-or-later
// Types of metas in a process that may have two copies of this code: the plugin's, and that of a
// program that links it. Both share a type if name and size match; copies of different versions may
// have different layouts, and then do not see each other's.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// Returns the API type with that name for metas of that many bytes.
/// @param tags end with nullptr; nullptr: no tags, so that no transform drops the meta.
GType meta_api(const char* name, gsize bytes, const gchar** tags = nullptr);

/// Functions of a meta. meta_info() returns the meta of that name and size, with the functions of
/// the first caller.
struct MetaFunctions {
  GstMetaInitFunction init;
  GstMetaFreeFunction release;
  GstMetaTransformFunction transform;
};
const GstMetaInfo* meta_info(GType api, const char* name, gsize bytes,
                             const MetaFunctions& functions);

}  // namespace keepbox
