// SPDX-License-Identifier: LGPL-2.1-or-later
// The bits of a comparison's lanes. Compiled once per instruction set.
#if defined(KEEPBOX_SIMD_MASKBITS) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_MASKBITS
#undef KEEPBOX_SIMD_MASKBITS
#else
#define KEEPBOX_SIMD_MASKBITS
#endif

#include <hwy/highway.h>

#include <cstdint>

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Returns a bit per lane, the first lane in the lowest bit. @pre at most 32 lanes.
template <class D, class M>
HWY_INLINE uint32_t MaskBits(D d, M mask) {
  uint8_t bytes[8] = {};
  hn::StoreMaskBits(d, mask, bytes);
  uint32_t out = 0;
  for (uint32_t i = 0; i < 4; ++i) out |= uint32_t{bytes[i]} << 8 * i;
  return out;
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
