// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers metas, or finds them.
#include "gst/tensors/metatype.h"

namespace keepbox {

GType meta_api(const char* name) {
  static const gchar* tags[] = {nullptr};
  const GType there = g_type_from_name(name);
  return there != 0 ? there : gst_meta_api_type_register(name, tags);
}

const GstMetaInfo* meta_info(GType api, const char* name, gsize bytes,
                             const MetaFunctions& functions) {
  const GstMetaInfo* there = gst_meta_get_info(name);
  if (there != nullptr) return there;
  return gst_meta_register(api, name, bytes, functions.init, functions.release,
                           functions.transform);
}

}  // namespace keepbox
