// SPDX-License-Identifier: LGPL-2.1-or-later
// Sizes of batches that are worth a session of their own.
#pragma once

#include <algorithm>

namespace keepbox {

/// Sizes grow by this factor: each has a session of its own, with the model's weights.
inline constexpr unsigned kBatchStep = 4;

/// Returns the largest batch for a number of frames that may be waiting at a time: a power of
/// kBatchStep. Up to twice as many frames are run as two batches, because a run takes as long as
/// its size whatever part of it is used.
/// @param most the maximum; it is a size itself.
constexpr unsigned batch_capacity(unsigned frames, unsigned most) {
  unsigned capacity = 1;
  while (frames > (capacity == 1 ? 1 : 2 * capacity)) capacity *= kBatchStep;
  return std::min(capacity, most);
}

}  // namespace keepbox
