// SPDX-License-Identifier: LGPL-2.1-or-later
// Exact suppression by words of an IoU mask: of all boxes, or class by class.
#pragma once

#include <bit>

#include "core/reference/nms.h"

namespace keepbox::reference {

/// Resolves the IoU mask of n boxes, best first, one word of its columns at a time: the whole mask
/// would take n * n bits, and the columns after the last kept box are not needed.
/// @param kept_bits one cleared bit per box; set for kept boxes; only their rows are read.
/// @param row row(i) returns a function of j that is true if box i suppresses box j.
/// @param keeps keeps(i) is true if the unsuppressed box i is kept. @param full full() is true if
/// no more boxes are kept.
template <class Row, class Keeps, class Full>
void resolve_mask(size_t n, std::span<uint64_t> kept_bits, Row row, Keeps keeps, Full full) {
  for (size_t first = 0; first < n && !full(); first += kWordBits) {
    const size_t end = std::min(first + kWordBits, n);
    uint64_t suppressed = 0;
    const auto suppress_from = [&](size_t i, size_t from) {
      const auto hits = row(i);
      for (size_t j = from; j < end; ++j)
        if ((suppressed >> (j - first) & 1) == 0) suppressed |= uint64_t{hits(j)} << (j - first);
    };
    for (size_t word = 0; word < first / kWordBits; ++word)
      for (uint64_t rest = kept_bits[word]; rest != 0; rest &= rest - 1)
        suppress_from(word * kWordBits + static_cast<size_t>(std::countr_zero(rest)), first);
    for (size_t i = first; i < end; ++i) {
      if ((suppressed >> (i - first) & 1) != 0 || !keeps(i)) continue;
      set_bit(kept_bits, i);
      suppress_from(i, i + 1);
    }
  }
}

/// Suppresses by words of a bit mask, like Faster R-CNN's code. @pre scratch.words.size() >=
/// nms_words(plan)
template <BoxGeometry Geometry>
uint32_t bitmask(const Plan& plan, std::span<const Candidate> candidates, std::span<uint32_t> kept,
                 const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  std::ranges::fill(words, 0);
  ClassLimit limit(plan);
  uint32_t count = 0;
  const auto row = [&](size_t i) {
    return [&, own = PreparedBox<Geometry>(plan, candidates[i])](size_t j) {
      return own.suppresses(candidates[j]);
    };
  };
  const auto keeps = [&](size_t i) {
    if (count == plan.rules.kept_capacity || !limit.admits(candidates[i])) return false;
    kept[count++] = static_cast<uint32_t>(i);
    return true;
  };
  resolve_mask(candidates.size(), words, row, keeps,
               [&] { return count == plan.rules.kept_capacity || scratch.stop.requested(); });
  return count;
}

/// Class and position in key order, in one word that sorts by both.
struct ClassPosition {
  uint64_t word;

  ClassPosition(uint32_t class_id, size_t place) : word(uint64_t{class_id} << 32 | place) {}
  explicit ClassPosition(uint64_t from) : word(from) {}
  uint32_t place() const { return static_cast<uint32_t>(word); }
  uint32_t class_id() const { return static_cast<uint32_t>(word >> 32); }
};

/// Sets the bits of the positions kept in a segment.
template <BoxGeometry Geometry>
void resolve_segment(const Plan& plan, std::span<const Candidate> candidates,
                     std::span<const uint64_t> segment, std::span<uint64_t> kept_bits,
                     ClassLimit& limit, std::span<uint64_t> survivors, const Stop& stop) {
  std::ranges::fill(kept_bits, 0);
  const auto at = [&](size_t i) -> const Candidate& {
    return candidates[ClassPosition(segment[i]).place()];
  };
  const auto row = [&](size_t i) {
    return
        [&, own = PreparedBox<Geometry>(plan, at(i))](size_t j) { return own.suppresses(at(j)); };
  };
  // The class limit is applied here because a dropped box must not suppress boxes of other classes
  // in a shared segment. Boxes beyond kept_capacity are not needed.
  uint32_t count = 0;
  const auto keeps = [&](size_t i) {
    if (count == plan.rules.kept_capacity || !limit.admits(at(i))) return false;
    ++count;
    const uint32_t place = ClassPosition(segment[i]).place();
    set_bit(survivors, place);
    return true;
  };
  resolve_mask(segment.size(), kept_bits, row, keeps,
               [&] { return count == plan.rules.kept_capacity || stop.requested(); });
}

/// Sorts by class, resolves the segment of each class, and restores the order. @pre
/// scratch.words.size() >= nms_words(plan)
template <BoxGeometry Geometry>
uint32_t segmented(const Plan& plan, std::span<const Candidate> candidates,
                   std::span<uint32_t> kept, const NmsScratch& scratch) {
  const std::span<uint64_t> words = scratch.words;
  const size_t n = candidates.size(), bits = bit_words(n);
  const auto members = words.first(n), kept_bits = words.subspan(n, bits),
             survivors = words.subspan(n + bits, bits);
  const bool agnostic = plan.rules.contract.class_agnostic;
  for (size_t i = 0; i < n; ++i)
    members[i] = ClassPosition(agnostic ? 0 : key_class(candidates[i].key), i).word;
  std::ranges::sort(members);
  std::ranges::fill(survivors, 0);
  ClassLimit limit(plan);
  const auto class_of = [](uint64_t word) { return ClassPosition(word).class_id(); };
  for (size_t first = 0; first < n;) {
    const auto rest = members.subspan(first);
    const auto next = std::ranges::upper_bound(rest, class_of(rest[0]), {}, class_of);
    const auto size = static_cast<size_t>(next - rest.begin());
    resolve_segment<Geometry>(plan, candidates, rest.first(size), kept_bits.first(bit_words(size)),
                              limit, survivors, scratch.stop);
    first += size;
  }
  return keep(plan, candidates, kept, scratch.stop,
              [&](uint32_t i, auto) { return bit(survivors, i); });
}

}  // namespace keepbox::reference
