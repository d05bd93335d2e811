// SPDX-License-Identifier: LGPL-2.1-or-later
// core/formula/numeric.h for vectors: the same operations in the same order, therefore the same
// bits. Compiled once per instruction set.
#if defined(KEEPBOX_SIMD_NUMERIC) == defined(HWY_TARGET_TOGGLE)
#ifdef KEEPBOX_SIMD_NUMERIC
#undef KEEPBOX_SIMD_NUMERIC
#else
#define KEEPBOX_SIMD_NUMERIC
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <type_traits>

#include "core/formula/numeric.h"

HWY_BEFORE_NAMESPACE();
namespace keepbox::simd::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Computes exp_f32() for vectors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Exp(D d, V x) {
  const hn::RebindToSigned<D> di;
  const auto shift = hn::Set(d, 12582912.0f);
  const auto n = hn::Sub(hn::Add(hn::Mul(x, hn::Set(d, 1.44269504f)), shift), shift);
  auto r = hn::Sub(x, hn::Mul(n, hn::Set(d, 0.693359375f)));
  r = hn::Sub(r, hn::Mul(n, hn::Set(d, -2.12194440e-4f)));
  auto p = hn::Set(d, 0.0013814548f);
  p = hn::Add(hn::Mul(p, r), hn::Set(d, 0.008368747f));
  p = hn::Add(hn::Mul(p, r), hn::Set(d, 0.04166839f));
  p = hn::Add(hn::Mul(p, r), hn::Set(d, 0.1666652f));
  p = hn::Add(hn::Mul(p, r), hn::Set(d, 0.49999994f));
  const auto t = hn::Add(hn::Add(hn::Mul(p, hn::Mul(r, r)), r), hn::Set(d, 1.0f));
  const auto exponent = hn::ConvertTo(di, n);
  // Halves, rounding towards zero.
  const auto half = hn::ShiftRight<1>(hn::Sub(exponent, hn::ShiftRight<31>(exponent)));
  const auto power = [&](auto e) HWY_ATTR {
    return hn::BitCast(d, hn::ShiftLeft<23>(hn::Add(e, hn::Set(di, 127))));
  };
  auto out = hn::Mul(hn::Mul(t, power(half)), power(hn::Sub(exponent, half)));
  out = hn::IfThenElse(hn::Gt(x, hn::Set(d, 88.7f)),
                       hn::Set(d, std::numeric_limits<float>::infinity()), out);
  out = hn::IfThenElse(hn::Lt(x, hn::Set(d, -87.3f)), hn::Zero(d), out);
  return hn::IfThenElse(hn::IsNaN(x), x, out);
}

/// Computes sigmoid() for vectors.
template <class D, class V = hn::Vec<D>>
HWY_INLINE V Sigmoid(D d, V x) {
  const auto one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, Exp(d, hn::Neg(x))));
}

/// 16-bit floating-point values as stored in tensors.
struct Half {
  static constexpr int32_t kInfinity = 0x7c00;
  uint16_t bits;
};
struct BFloat {
  static constexpr int32_t kInfinity = 0x7f80;
  uint16_t bits;
};

HWY_INLINE float ToFloat(float value) { return value; }
HWY_INLINE float ToFloat(Half value) { return half_to_float(value.bits); }
HWY_INLINE float ToFloat(BFloat value) { return bfloat16_to_float(value.bits); }
template <class T>
HWY_INLINE float ToFloat(T integer) {
  return static_cast<float>(integer);
}

/// Loads the first `count` values at `at`, up to a vector; 0 beyond.
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const float* at, size_t count) {
  return count >= hn::Lanes(d) ? hn::LoadU(d, at) : hn::LoadN(d, at, count);
}

template <class D, class H, class Bits = hn::Rebind<uint16_t, D>>
HWY_INLINE hn::Vec<Bits> LoadBits(D d, const H* at, size_t count) {
  const Bits bits;
  const auto* first = reinterpret_cast<const uint16_t*>(at);
  return count >= hn::Lanes(d) ? hn::LoadU(bits, first) : hn::LoadN(bits, first, count);
}

template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const BFloat* at, size_t count) {
  const hn::RebindToUnsigned<D> du;
  return hn::BitCast(d, hn::ShiftLeft<16>(hn::PromoteTo(du, LoadBits(d, at, count))));
}

/// Computes half_to_float() for vectors. Highway's own conversion is wrong for infinities unless
/// there is an instruction for it, as on x86 from AVX2 on.
template <class D>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const Half* at, size_t count) {
  const hn::Rebind<uint16_t, D> bits;
  const hn::Rebind<hwy::float16_t, D> halves;
  const auto all = LoadBits(d, at, count);
  if constexpr (HWY_TARGET <= HWY_AVX2) return hn::PromoteTo(d, hn::BitCast(halves, all));
  const auto exponents = hn::Set(bits, uint16_t{0x7c00});
  if (HWY_UNLIKELY(!hn::AllFalse(bits, hn::Eq(hn::And(all, exponents), exponents)))) {
    HWY_ALIGN float values[hn::MaxLanes(d)] = {};
    for (size_t i = 0; i < hn::Lanes(d) && i < count; ++i) values[i] = ToFloat(at[i]);
    return hn::Load(d, values);
  }
  return hn::PromoteTo(d, hn::BitCast(halves, all));
}

/// Loads integers of 8 or 16 bits.
template <class D, class T>
  requires std::is_integral_v<T>
HWY_INLINE hn::Vec<D> LoadFloats(D d, const T* at, size_t count) {
  const hn::RebindToSigned<D> di;
  const hn::Rebind<T, D> narrow;
  const auto all = count >= hn::Lanes(d) ? hn::LoadU(narrow, at) : hn::LoadN(narrow, at, count);
  return hn::ConvertTo(d, hn::PromoteTo(di, all));
}

}  // namespace keepbox::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
