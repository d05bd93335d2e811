// SPDX-License-Identifier: LGPL-2.1-or-later
// Location of a message on disk.
#pragma once

#include <cstdint>

namespace keepbox {

struct DiskPlace {
  uint64_t file = 0;    // number of its file
  uint64_t offset = 0;  // in bytes
  uint32_t bytes = 0;   // of the whole record
};

}  // namespace keepbox
