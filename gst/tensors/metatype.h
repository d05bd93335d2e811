// SPDX-License-Identifier: LGPL-2.1-or-later
// Types of metas in a process that may have two copies of this code: the plugin's, and that of a
// program which links it. Both see one type, by its name and size: copies of two versions may have
// another layout each, and then do not see each other's.
#pragma once

#include <gst/gst.h>

namespace keepbox {

/// The API type of that name and of metas of so many bytes, without tags.
GType meta_api(const char* name, gsize bytes);

/// The meta of that name and size, with the functions of whoever came first.
struct MetaFunctions {
  GstMetaInitFunction init;
  GstMetaFreeFunction release;
  GstMetaTransformFunction transform;
};
const GstMetaInfo* meta_info(GType api, const char* name, gsize bytes,
                             const MetaFunctions& functions);

}  // namespace keepbox
