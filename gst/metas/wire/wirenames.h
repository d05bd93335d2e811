// SPDX-License-Identifier: LGPL-2.1-or-later
// Names from other processes, as quarks.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <string_view>

namespace keepbox {

/// The maximum number of names from other processes that this one did not know, for as long as it
/// runs: quarks are never freed.
inline constexpr size_t kMaxWireNames = 65536;

/// Returns the quark of a name; 0 for an empty one, and for further unknown ones after
/// kMaxWireNames, of which a warning is logged once. For any thread.
GQuark quark_from_wire(std::string_view name);

}  // namespace keepbox
