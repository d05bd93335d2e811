// SPDX-License-Identifier: LGPL-2.1-or-later
// Suppression by class: sorts by class, resolves the segment of each class, restores the order.
#pragma once

#include "core/reference/nms.h"

namespace keepbox::reference {

/// Class and position in key order, in one word that sorts by both.
struct Member {
  uint64_t word;

  Member(uint32_t class_id, size_t place) : word(uint64_t{class_id} << 32 | place) {}
  explicit Member(uint64_t from) : word(from) {}
  uint32_t place() const { return static_cast<uint32_t>(word); }
  uint32_t class_id() const { return static_cast<uint32_t>(word >> 32); }
};

/// Sets the bits of the positions kept in a segment.
template <class Geometry>
void resolve_segment(const Plan& plan, std::span<const Candidate> candidates,
                     std::span<const uint64_t> segment, std::span<uint64_t> stays,
                     ClassLimit& limit, std::span<uint64_t> survivors, const Stop& stop) {
  std::ranges::fill(stays, 0);
  const auto at = [&](size_t i) -> const Candidate& {
    return candidates[Member(segment[i]).place()];
  };
  const auto row = [&](size_t i) {
    return [&, own = Formed<Geometry>(plan, at(i))](size_t j) { return own.suppresses(at(j)); };
  };
  // The class limit is applied here because a dropped box must not suppress boxes of other classes
  // in a shared segment. Boxes beyond kept_capacity are not needed.
  uint32_t count = 0;
  const auto keeps = [&](size_t i) {
    if (count == plan.rules.kept_capacity || !limit.admits(at(i))) return false;
    ++count;
    const uint32_t place = Member(segment[i]).place();
    set_bit(survivors, place);
    return true;
  };
  resolve_mask(segment.size(), stays, row, keeps,
               [&] { return count == plan.rules.kept_capacity || stop.asked(); });
}

/// @pre scratch.words.size() >= nms_words(plan)
template <class Geometry>
uint32_t segmented(const Plan& plan, std::span<const Candidate> candidates,
                   std::span<uint32_t> kept, const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  const size_t n = candidates.size(), bits = bit_words(n);
  const auto members = words.first(n), stays = words.subspan(n, bits),
             survivors = words.subspan(n + bits, bits);
  const bool agnostic = plan.rules.contract.class_agnostic;
  for (size_t i = 0; i < n; ++i)
    members[i] = Member(agnostic ? 0 : key_class(candidates[i].key), i).word;
  std::ranges::sort(members);
  std::ranges::fill(survivors, 0);
  ClassLimit limit(plan);
  const auto class_of = [](uint64_t word) { return Member(word).class_id(); };
  for (size_t first = 0; first < n;) {
    const auto rest = members.subspan(first);
    const auto next = std::ranges::upper_bound(rest, class_of(rest[0]), {}, class_of);
    const auto size = static_cast<size_t>(next - rest.begin());
    resolve_segment<Geometry>(plan, candidates, rest.first(size), stays.first(bit_words(size)),
                              limit, survivors, scratch.stop);
    first += size;
  }
  return keep(plan, candidates, kept, scratch.stop,
              [&](uint32_t i, auto) { return bit(survivors, i); });
}

}  // namespace keepbox::reference
