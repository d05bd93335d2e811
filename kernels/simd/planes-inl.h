// SPDX-License-Identifier: LGPL-2.1-or-later
// Best scores and classes of anchors with one plane of scores per class, at memory speed. Compiled
// once per instruction set.
#if defined(KEEPBOX_SIMD_PLANES) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_PLANES
#undef KEEPBOX_SIMD_PLANES
#else
#define KEEPBOX_SIMD_PLANES
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "kernels/simd/scores-inl.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {

using Shorts = hn::ScalableTag<int16_t>;

/// Loads values for comparison: as floats, or 16 bits as an integer.
template <class T>
HWY_INLINE hn::Vec<Floats> LoadCompared(Floats d, const T* at, size_t count) {
  return LoadFloats(d, at, count);
}
HWY_INLINE hn::Vec<Shorts> LoadCompared(Shorts d, const int16_t* at, size_t count) {
  return count >= hn::Lanes(d) ? hn::LoadU(d, at) : hn::LoadN(d, at, count);
}
/// The bits of a float16 or bfloat16 as an integer.
struct Bits16 {
  int16_t bits;
};
HWY_INLINE hn::Vec<Shorts> LoadCompared(Shorts d, const Bits16* at, size_t count) {
  return LoadCompared(d, reinterpret_cast<const int16_t*>(at), count);
}

/// Widens 8 bits to 16, for more classes than a byte can count.
template <class T>
  requires(sizeof(T) == 1)
HWY_INLINE hn::Vec<Shorts> LoadCompared(Shorts d, const T* at, size_t count) {
  const hn::Rebind<T, Shorts> bytes;
  return hn::PromoteTo(d,
                       count >= hn::Lanes(d) ? hn::LoadU(bytes, at) : hn::LoadN(bytes, at, count));
}
template <class D, class T>
  requires(sizeof(T) == 1 && sizeof(hn::TFromD<D>) == 1)
HWY_INLINE hn::Vec<D> LoadCompared(D d, const T* at, size_t count) {
  return count >= hn::Lanes(d) ? hn::LoadU(d, at) : hn::LoadN(d, at, count);
}

/// RunningBest maxima of a block's anchors. Value and Class have the same size.
template <class Value, class Class>
struct RunningBest {
  Value* best;
  Class* class_id;
};

/// Loads the next vector of anchors, of which `left` remain, with their scores of kPlanes classes.
template <size_t kPlanes, class D, class T, class Value, class Class>
HWY_INLINE void UpdateBest(D d, const T* plane, size_t stride, uint32_t class_id, size_t left,
                           const RunningBest<Value, Class>& running) {
  const hn::RebindToSigned<D> di;
  auto best = hn::Load(d, running.best);
  auto best_class = hn::Load(di, running.class_id);
  HWY_UNROLL(8)
  for (size_t k = 0; k < kPlanes; ++k)
    update_best(LoadCompared(d, plane + k * stride, left),
                hn::Set(di, static_cast<Class>(class_id + k)), best, best_class);
  hn::Store(best, d, running.best);
  hn::Store(best_class, di, running.class_id);
}

/// Calls visit(i, left) for each vector of a block's anchors, with the number of those that remain
/// in its line. Prefetches some lines ahead in each of kPlanes planes, and finally the beginning of
/// the next planes.
template <size_t kPlanes, class T, class Visit>
HWY_INLINE void SweepLines(const T* plane, size_t stride, size_t count, size_t lanes, Visit visit) {
  constexpr size_t kLine = 64 / sizeof(T), kAheadInPlane = 16 * kLine;
  const size_t step = std::max(kLine, lanes);
  const size_t turn = count - std::min(count, kAheadInPlane);
  for (size_t line = 0; line < count; line += step) {
    const T* ahead = plane + line + (line < turn ? kAheadInPlane : kPlanes * stride - turn);
    HWY_UNROLL(8)
    for (size_t k = 0; k < kPlanes; ++k) hwy::Prefetch(ahead + k * stride);
    const size_t end = std::min(line + step, count);
    size_t i = line;
    for (; i + lanes <= end; i += lanes) visit(i, lanes);
    if (i < end) visit(i, end - i);
  }
}

/// Processes all anchors of a block for kPlanes classes from `class_id`.
template <size_t kPlanes, class D, class T, class Value, class Class>
void SweepPlanes(D d, const T* plane, size_t stride, uint32_t class_id, size_t count,
                 const RunningBest<Value, Class>& running) {
  SweepLines<kPlanes>(plane, stride, count, hn::Lanes(d), [&](size_t i, size_t left) HWY_ATTR {
    UpdateBest<kPlanes>(d, plane + i, stride, class_id, left,
                        RunningBest{running.best + i, running.class_id + i});
  });
}

/// Finds the best of `count` anchors from `first`. Processes several planes at a time, so that the
/// running maxima are loaded and stored less often. @param from first class: integers start with
/// the score of this class, which stays unless another one is greater.
template <class D, class T, class Value, class Class>
void ScanPlanes(D d, const T* values, const Scores& scores, size_t first, size_t count,
                const RunningBest<Value, Class>& running, uint32_t from = 0) {
  using Limits = std::numeric_limits<Value>;
  constexpr Value kLowest = Limits::has_infinity ? -Limits::infinity() : Limits::min();
  std::fill_n(running.best, count, kLowest);
  const bool integer = std::is_integral_v<T>;
  std::fill_n(running.class_id, count, static_cast<Class>(integer ? 0 : kMaxClasses));
  const size_t stride = scores.classes.stride;
  uint32_t c = scores.first_class;
  const T* plane = values + c * stride + first;
  for (; c + 8 <= scores.end_class; c += 8, plane += 8 * stride)
    SweepPlanes<8>(d, plane, stride, c - from, count, running);
  for (; c + 4 <= scores.end_class; c += 4, plane += 4 * stride)
    SweepPlanes<4>(d, plane, stride, c - from, count, running);
  for (; c < scores.end_class; ++c, plane += stride)
    SweepPlanes<1>(d, plane, stride, c - from, count, running);
}

/// Finds best scores, before activation, and classes of up to kBlock anchors.
template <class T>
void BestOfPlanes(const Scores& scores, size_t first, size_t count, Block& block) {
  ScanPlanes(Floats(), static_cast<const T*>(scores.classes.data), scores, first, count,
             RunningBest{block.best, block.class_id});
}

/// Finds the best of 16-bit values without activation, with twice as many in a vector and no
/// conversion. As integers, the bits of positive values have the same order as the values, and
/// exceed the bits of all others except some NaN. Therefore a positive best is correct; all other
/// anchors get no class, and an upper bound as their score.
template <class H>
void BestOfBits(const Scores& scores, size_t first, size_t count, Block& block) {
  const Floats d;
  const Ints di;
  const hn::Rebind<int16_t, Floats> bits;
  ScanPlanes(Shorts(), static_cast<const Bits16*>(scores.classes.data), scores, first, count,
             RunningBest{block.best_bits, block.best_bits_class});
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    const auto best = hn::PromoteTo(di, hn::Load(bits, block.best_bits + i));
    const auto classes = hn::PromoteTo(di, hn::Load(bits, block.best_bits_class + i));
    const auto scores_of_all =
        LoadFloats(d, reinterpret_cast<const H*>(block.best_bits + i), hn::Lanes(d));
    const auto number = hn::Le(best, hn::Set(di, H::kInfinity));
    const auto right = hn::And(number, hn::Gt(best, hn::Zero(di)));
    const auto bound = hn::IfThenZeroElse(hn::RebindMask(d, number), hn::Neg(Lowest()));
    hn::Store(hn::IfThenElse(hn::RebindMask(d, right), scores_of_all, bound), d, block.best + i);
    hn::Store(hn::IfThenElse(right, classes, NoClass()), di, block.class_id + i);
  }
}

/// Converts the compared integers to scores, and classes to ids from 0.
template <class T, class Class>
void DequantizeBests(const Scores& scores, size_t count, const T* bests, const Class* classes,
                     Block& block) {
  const Floats d;
  const Ints di;
  const hn::Rebind<std::make_unsigned_t<Class>, Ints> narrow;
  for (size_t i = 0; i < count; i += hn::Lanes(d)) {
    hn::Store(Dequantized(scores.classes, LoadFloats(d, bests + i, hn::Lanes(d))), d,
              block.best + i);
    const auto ids = hn::PromoteTo(
        di, hn::LoadU(narrow, reinterpret_cast<const std::make_unsigned_t<Class>*>(classes) + i));
    hn::Store(hn::Add(ids, hn::Set(di, static_cast<int32_t>(scores.first_class))), di,
              block.class_id + i);
  }
}

/// Finds the best of integers, whose order is that of the scores, in full vectors if an integer of
/// their size can count the classes.
template <class T>
void BestOfIntegers(const Scores& scores, size_t first, size_t count, Block& block) {
  const T* values = static_cast<const T*>(scores.classes.data);
  constexpr uint32_t kByteClasses = 256;
  if (sizeof(T) == 1 && scores.end_class - scores.first_class <= kByteClasses) {
    if constexpr (sizeof(T) == 1) {
      T* bests = reinterpret_cast<T*>(block.best_bytes);
      ScanPlanes(hn::ScalableTag<T>(), values, scores, first, count,
                 RunningBest{bests, block.best_bytes_class}, scores.first_class);
      DequantizeBests(scores, count, bests, block.best_bytes_class, block);
    }
    return;
  }
  ScanPlanes(Shorts(), values, scores, first, count,
             RunningBest{block.best_bits, block.best_bits_class}, scores.first_class);
  DequantizeBests(scores, count, block.best_bits, block.best_bits_class, block);
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
