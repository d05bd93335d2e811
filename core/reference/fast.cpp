// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression in one pass, as in YOLACT: a suppressed box suppresses too, which loses boxes.
#include "core/reference/nms.h"

namespace keepbox::reference {

uint32_t fast(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept) {
  return keep(plan, candidates, kept, [&](uint32_t i, auto) {
    return std::ranges::none_of(candidates.first(i), [&](const Candidate& better) {
      return suppresses(plan, better, candidates[i]);
    });
  });
}

}  // namespace keepbox::reference
