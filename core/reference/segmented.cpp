// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression class by class: sort by class, resolve each class's segment, restore the order.
#include "core/reference/nms.h"

namespace keepbox::reference {
namespace {

/// A class and a place in key order, in one word that sorts by both.
uint64_t member(uint32_t class_id, size_t place) { return (uint64_t{class_id} << 32) | place; }
uint32_t place_of(uint64_t member) { return static_cast<uint32_t>(member); }
uint32_t class_of(uint64_t member) { return static_cast<uint32_t>(member >> 32); }

/// Sets the bits of the places that a segment keeps.
void resolve_segment(const Plan& plan, std::span<const Candidate> candidates,
                     std::span<const uint64_t> segment, std::span<uint64_t> removed,
                     ClassLimit& limit, std::span<uint64_t> survivors) {
  std::ranges::fill(removed, 0);
  const auto at = [&](size_t i) -> const Candidate& { return candidates[place_of(segment[i])]; };
  const auto hits = [&](size_t i, size_t j) { return suppresses(plan, at(i), at(j)); };
  // A class's limit counts here: in a segment of all classes, what it drops must not suppress.
  const auto keeps = [&](size_t i) {
    if (!limit.admits(at(i))) return false;
    const uint32_t place = place_of(segment[i]);
    survivors[place / kWordBits] |= uint64_t{1} << (place % kWordBits);
    return true;
  };
  resolve_mask(segment.size(), removed, hits, keeps);
}

}  // namespace

uint32_t segmented(const Plan& plan, std::span<const Candidate> candidates,
                   std::span<uint32_t> kept, std::span<uint64_t> words) {
  const size_t n = candidates.size(), bits = bit_words(n);
  const auto members = words.first(n), removed = words.subspan(n, bits),
             survivors = words.subspan(n + bits, bits);
  for (size_t i = 0; i < n; ++i)
    members[i] = member(plan.contract.class_agnostic ? 0 : key_class(candidates[i].key), i);
  std::ranges::sort(members);
  std::ranges::fill(survivors, 0);
  ClassLimit limit(plan);
  for (size_t first = 0; first < n;) {
    const auto rest = members.subspan(first);
    const auto next = std::ranges::upper_bound(rest, class_of(rest[0]), {}, class_of);
    const auto size = static_cast<size_t>(next - rest.begin());
    resolve_segment(plan, candidates, rest.first(size), removed.first(bit_words(size)), limit,
                    survivors);
    first += size;
  }
  return keep(plan, candidates, kept, [&](uint32_t i, auto) { return bit(survivors, i); });
}

}  // namespace keepbox::reference
