// SPDX-License-Identifier: LGPL-2.1-or-later
// Sizes of batches that are worth a session of their own.
#pragma once

#include <algorithm>

namespace keepbox {

/// True if a run of a size is worth it for a number of frames, because a run takes as long as its
/// size whatever part of it is used. Small runs are hardly slower than half as large ones. By the
/// times of YOLOX-Nano and YOLOv8n on an H200.
constexpr bool is_filled(unsigned size, unsigned frames) {
  if (size <= 4) return 2 * frames >= size;
  return size <= 16 ? 4 * frames >= 3 * size : 8 * frames >= 7 * size;
}

/// Returns the size after another one: 4, 8, 16 and so on for frames of one picture. Each size has
/// a session of its own, with the model's weights.
/// @param group number of pictures of a frame with tiles, at least 1.
constexpr unsigned next_size(unsigned size, unsigned group = 1) {
  if (size < group) return group;
  return size == 1 ? 4 : 2 * size;
}

/// Returns the largest batch for a number of frames that may be waiting at a time, in whole groups.
/// More frames are run as several batches.
/// @param max_batch the maximum; in whole groups, it is a size itself.
constexpr unsigned batch_capacity(unsigned frames, unsigned max_batch, unsigned group = 1) {
  if (max_batch < group) return max_batch;
  max_batch -= max_batch % group;
  unsigned capacity = group;
  while (capacity < max_batch) {
    const unsigned next = std::min(next_size(capacity, group), max_batch);
    if (!is_filled(next, frames)) break;
    capacity = next;
  }
  return capacity;
}

}  // namespace keepbox
