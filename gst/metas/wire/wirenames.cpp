// SPDX-License-Identifier: LGPL-2.1-or-later
// Limits the quarks that another process can make.
#include "gst/metas/wire/wirenames.h"

#include <atomic>
#include <string>

namespace keepbox {

GQuark quark_from_wire(std::string_view name) {
  static std::atomic<size_t> added = 0;
  const std::string text(name);
  if (text.empty()) return 0;
  if (const GQuark known = g_quark_try_string(text.c_str())) return known;
  // Threads that add the same name at the same time count it twice.
  const size_t number = added++;
  if (number < kMaxWireNames) return g_quark_from_string(text.c_str());
  if (number == kMaxWireNames)
    GST_WARNING("Other processes have sent %" G_GSIZE_FORMAT
                " different names of classes and models: further ones are left out",
                kMaxWireNames);
  return 0;
}

}  // namespace keepbox
