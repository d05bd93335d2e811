// SPDX-License-Identifier: LGPL-2.1-or-later
// Types of tensor values, and arithmetic that has the same bits on every backend.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

// Arithmetic shared by all backends: written once, so that all of them return the same bits.
//
// Only additions, multiplications, divisions and bit casts in a fixed order: no libm, because its
// exp differs between libraries, and no fused multiply-add (build with -ffp-contract=off).

// KB_HD marks host and device functions. KB_HD_NOINLINE prevents inlining on the device, for large
// and rarely used functions, because instruction fetches are slow there.
#ifdef __CUDACC__
#define KB_HD __host__ __device__
#define KB_HD_NOINLINE __host__ __device__ __noinline__
#else
#define KB_HD
#define KB_HD_NOINLINE
#endif

namespace keepbox {

KB_HD constexpr uint32_t float_bits(float value) { return std::bit_cast<uint32_t>(value); }
KB_HD constexpr float float_from_bits(uint32_t bits) { return std::bit_cast<float>(bits); }

// The maximum and minimum of two values that are not NaN, and |a|; of two zeros either one. A
// device has instructions for them, which it does not use for a comparison and a select.
#ifdef __CUDA_ARCH__
__device__ inline float larger(float a, float b) { return fmaxf(a, b); }
__device__ inline float smaller(float a, float b) { return fminf(a, b); }
__device__ inline float magnitude(float a) { return fabsf(a); }
#else
KB_HD constexpr float larger(float a, float b) { return a > b ? a : b; }
KB_HD constexpr float smaller(float a, float b) { return a < b ? a : b; }
KB_HD constexpr float magnitude(float a) { return a < 0 ? -a : a; }
#endif

/// True for everything but NaN and the infinities.
KB_HD constexpr bool is_finite(float value) {
  return (float_bits(value) & 0x7f800000u) != 0x7f800000u;
}

/// Returns e^x within 1.4 ulp: 0 below -87.3, infinity above 88.7, NaN for NaN.
/// Cody-Waite reduction by ln 2 in two parts, then a minimax polynomial of (e^r - 1 - r) / r^2
/// on |r| <= ln(2)/2 (fitted for this file by weighted least squares).
KB_HD constexpr float exp_f32(float x) {
  if (!(x == x)) return x;
  if (x > 88.7f) return float_from_bits(0x7f800000u);
  if (x < -87.3f) return 0.0f;
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const float n = (x * 1.44269504f + shift) - shift;
  float r = x - n * 0.693359375f;  // exact: the constant has 10 bits, n at most 8
  r = r - n * -2.12194440e-4f;
  float p = 0.0013814548f;
  p = p * r + 0.008368747f;
  p = p * r + 0.04166839f;
  p = p * r + 0.1666652f;
  p = p * r + 0.49999994f;
  const float t = (p * (r * r) + r) + 1.0f;
  // n reaches 128, one beyond the largest exponent, hence two steps.
  const auto exponent = static_cast<int32_t>(n);
  const int32_t half = exponent / 2;
  const float low = float_from_bits(static_cast<uint32_t>(half + 127) << 23);
  const float high = float_from_bits(static_cast<uint32_t>(exponent - half + 127) << 23);
  return t * low * high;
}

/// Returns the logistic function 1 / (1 + e^-x), in [0, 1].
KB_HD constexpr float sigmoid(float x) { return 1.0f / (1.0f + exp_f32(-x)); }

/// Returns the natural logarithm within 1 ulp: minus infinity for 0, NaN for negative values.
/// The exponent by its bits, then a minimax polynomial of (ln(1 + f) - f + f^2 / 2) / f^3 on
/// 0.7 < 1 + f < 1.42 (fitted for this file by weighted least squares).
KB_HD constexpr float log_f32(float x) {
  if (!(x > 0)) return x == 0 ? float_from_bits(0xff800000u) : float_from_bits(0x7fc00000u);
  if (x > 3.4028235e38f) return x;
  const bool subnormal = x < 1.17549435e-38f;
  const uint32_t bits = float_bits(subnormal ? x * 8388608.0f : x) - 0x3f3504f3u;  // by 0.7
  const auto exponent =
      static_cast<float>(static_cast<int32_t>(bits) >> 23) - (subnormal ? 23.0f : 0.0f);
  const float f = float_from_bits((bits & 0x007fffffu) + 0x3f3504f3u) - 1.0f;
  float p = -0.0763321817f;
  p = p * f + 0.127620772f;
  p = p * f - 0.13160871f;
  p = p * f + 0.142017409f;
  p = p * f - 0.166232899f;
  p = p * f + 0.200012252f;
  p = p * f - 0.250008225f;
  p = p * f + 0.333333313f;
  const float square = f * f;
  const float rest = (p * (square * f) + exponent * -2.12194440e-4f) - square * 0.5f;
  return (f + rest) + exponent * 0.693359375f;
}

/// Sine and cosine of an angle: sin^2 + cos^2 is 1.
struct SinCos {
  float sin = 0, cos = 1;
};

/// Returns sine and cosine of an angle in radians, with errors up to 1e-7 below 10^4, and 3e-7
/// below 2^14. Beyond, where floats are far apart, and for values that are not finite, returns
/// sine and cosine of 0.
/// Cody-Waite reduction by pi/2 in three parts, then minimax polynomials of sin(r) / r and cos(r)
/// on |r| <= pi/4 (fitted for this file by weighted least squares).
KB_HD constexpr SinCos sin_cos_f32(float x) {
  if (!(x >= -16384.0f && x <= 16384.0f)) return {};
  const float shift = 12582912.0f;  // 1.5 * 2^23: adding it rounds to the nearest integer
  const float n = (x * 0.636619772f + shift) - shift;
  float r = x - n * 1.5703125f;  // exact: the constant has 8 bits, n at most 14
  r = r - n * 4.837512969970703125e-4f;
  r = r - n * 7.54978995489188216e-8f;
  const float t = r * r;
  float s = -0.000195146902f;
  s = s * t + 0.00833215658f;
  s = s * t - 0.166666552f;
  const float sine = s * (t * r) + r;
  float c = 2.44324492e-05f;
  c = c * t - 0.00138873106f;
  c = c * t + 0.0416666456f;
  const float cosine = c * (t * t) + (1.0f - t * 0.5f);
  const auto quarter = static_cast<uint32_t>(static_cast<int32_t>(n)) & 3u;
  const float a = (quarter & 1u) != 0 ? cosine : sine, b = (quarter & 1u) != 0 ? sine : cosine;
  return {(quarter & 2u) != 0 ? -a : a, quarter == 1 || quarter == 2 ? -b : b};
}

/// Returns the angle of a direction in radians, -pi..pi, within 3 ulp; 0 if both are 0.
/// A minimax polynomial of atan(t) / t on |t| <= tan(pi/8) (fitted for this file by weighted least
/// squares). @pre both are finite.
KB_HD constexpr float atan2_f32(float y, float x) {
  const float across = x < 0 ? -x : x, up = y < 0 ? -y : y;
  const float longer = across < up ? up : across, shorter = across < up ? across : up;
  if (!(longer > 0)) return 0.0f;
  float t = shorter / longer;
  const bool steep = t > 0.414213562f;
  if (steep) t = (t - 1.0f) / (t + 1.0f);
  const float square = t * t;
  float p = -0.0607367903f;
  p = p * square + 0.10592103f;
  p = p * square - 0.142433137f;
  p = p * square + 0.19998461f;
  p = p * square - 0.333333164f;
  float angle = p * (square * t) + t;
  if (steep) angle = angle + 0.785398163f;
  if (across < up) angle = 1.57079633f - angle;
  if (x < 0) angle = 3.14159265f - angle;
  return y < 0 ? -angle : angle;
}

/// Returns the square root, rounded to the nearest: the same bits on every device.
KB_HD inline float square_root(float x) {
#ifdef __CUDA_ARCH__
  return __fsqrt_rn(x);
#else
  return __builtin_sqrtf(x);
#endif
}

/// Converts IEEE 754 binary16 to binary32, exactly, subnormals, infinities and NaN included.
KB_HD constexpr float half_to_float(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000u) << 16;
  const uint32_t exponent = (half >> 10) & 0x1fu;
  const uint32_t fraction = half & 0x3ffu;
  if (exponent == 0x1f) return float_from_bits(sign | 0x7f800000u | (fraction << 13));
  if (exponent != 0) return float_from_bits(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 5.9604644775390625e-8f;  // 2^-24
  return float_from_bits(sign | float_bits(magnitude));
}

/// Converts binary32 to binary16, rounded to nearest even. NaN for NaN, infinity from 65520.
KB_HD constexpr uint16_t float_to_half(float value) {
  const uint32_t bits = float_bits(value), magnitude = bits & 0x7fffffffu;
  const uint32_t sign = (bits >> 16) & 0x8000u;
  uint32_t half = 0;
  if (magnitude > 0x7f800000u) half = 0x7e00u;
  else if (magnitude >= 0x477ff000u) half = 0x7c00u;
  // Halves below 2^-14 are 2^-24 apart, like the floats that follow 0.5.
  else if (magnitude < 0x38800000u)
    half = float_bits(float_from_bits(magnitude) + 0.5f) - 0x3f000000u;
  else half = (magnitude - 0x38000000u + 0xfffu + ((magnitude >> 13) & 1u)) >> 13;
  return static_cast<uint16_t>(sign | half);
}

/// Converts bfloat16 to binary32: the upper half of the same bits.
KB_HD constexpr float bfloat16_to_float(uint16_t value) {
  return float_from_bits(static_cast<uint32_t>(value) << 16);
}

}  // namespace keepbox

namespace keepbox {

// Data types, and the conversion of a tensor element to float.

enum class DataType : uint8_t {
  kInt8,
  kInt16,
  kInt32,
  kInt64,
  kUInt8,
  kUInt16,
  kUInt32,
  kUInt64,
  kFloat16,
  kBFloat16,
  kFloat32,
  kFloat64,
};
inline constexpr uint32_t kDataTypes = static_cast<uint32_t>(DataType::kFloat64) + 1;

/// Reads a T at `bytes`, which need not be aligned.
template <class T>
KB_HD T read_as(const void* bytes) {
  T value;
  memcpy(&value, bytes, sizeof value);
  return value;
}

/// Reads an element of that type at `bytes`, rounded to the nearest float.
KB_HD inline float load_element(DataType type, const void* bytes) {
  switch (type) {
    case DataType::kInt8: return static_cast<float>(read_as<int8_t>(bytes));
    case DataType::kInt16: return static_cast<float>(read_as<int16_t>(bytes));
    case DataType::kInt32: return static_cast<float>(read_as<int32_t>(bytes));
    case DataType::kInt64: return static_cast<float>(read_as<int64_t>(bytes));
    case DataType::kUInt8: return static_cast<float>(read_as<uint8_t>(bytes));
    case DataType::kUInt16: return static_cast<float>(read_as<uint16_t>(bytes));
    case DataType::kUInt32: return static_cast<float>(read_as<uint32_t>(bytes));
    case DataType::kUInt64: return static_cast<float>(read_as<uint64_t>(bytes));
    case DataType::kFloat16: return half_to_float(read_as<uint16_t>(bytes));
    case DataType::kBFloat16: return bfloat16_to_float(read_as<uint16_t>(bytes));
    case DataType::kFloat32: return read_as<float>(bytes);
    case DataType::kFloat64: return static_cast<float>(read_as<double>(bytes));
  }
  return 0;
}

}  // namespace keepbox
