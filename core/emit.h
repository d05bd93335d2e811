// SPDX-License-Identifier: LGPL-2.1-or-later
// What becomes of a box that was kept.
#pragma once

#include "core/box.h"
#include "core/letterbox.h"

namespace keepbox {

/// A kept candidate on the frame, clipped to it; empty (is_empty()) where it lies outside.
KB_HD inline Detection emitted(uint64_t key, const Box& box, const Letterbox& letterbox,
                               const NmsContract& contract) {
  Detection out;
  out.box = clip(ordered(letterbox.to_frame(box), contract), letterbox.frame);
  out.score = key_score(key);
  out.class_id = key_class(key);
  out.anchor = anchor_in_key(contract, key_anchor(key));
  return out;
}

}  // namespace keepbox
