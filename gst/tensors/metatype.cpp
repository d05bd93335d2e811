// SPDX-License-Identifier: LGPL-2.1-or-later
// Registers metas, or finds them.
#include "gst/tensors/metatype.h"

#include <string>

namespace keepbox {

namespace {

std::string sized(const char* name, gsize bytes) { return name + ('-' + std::to_string(bytes)); }

}  // namespace

GType meta_api(const char* name, gsize bytes, const gchar** tags) {
  static const gchar* none[] = {nullptr};
  const std::string whole = sized(name, bytes);
  const GType there = g_type_from_name(whole.c_str());
  if (there != 0) return there;
  return gst_meta_api_type_register(whole.c_str(), tags != nullptr ? tags : none);
}

const GstMetaInfo* meta_info(GType api, const char* name, gsize bytes,
                             const MetaFunctions& functions) {
  const std::string whole = sized(name, bytes);
  const GstMetaInfo* there = gst_meta_get_info(whole.c_str());
  if (there != nullptr && there->size >= bytes) return there;
  return gst_meta_register(api, whole.c_str(), bytes, functions.init, functions.release,
                           functions.transform);
}

}  // namespace keepbox
