// SPDX-License-Identifier: LGPL-2.1-or-later
// The backend of SIMD kernels by Highway, and their functions.
#pragma once

#include <string_view>
#include <vector>

#include "core/formula/mask.h"
#include "core/run/backend.h"

namespace keepbox::simd {

Backend backend();

/// Reads planes and rows of class scores in float32, float16, bfloat16 and quantised 8-bit and
/// 16-bit integers, with or without objectness, in one pass. Rows with one score use
/// decode_ready(); all other layouts fall back to reference::decode().
uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel);

/// Decodes rows with one score each; reads boxes and classes only if the score passes.
uint32_t decode_ready(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                      AnchorRange anchors, std::span<Candidate> out, Funnel& funnel);

uint32_t select(const Plan& plan, std::span<const Candidate> candidates, std::span<SortSlot> slots,
                std::span<Candidate> ordered);

uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch);

/// Computes float32 masks of planar prototypes; others fall back to the reference.
void masks(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
           std::span<const float> factors, std::span<const MaskRect> places, const MaskOutput& out);

/// Enlarges masks up to 16 pixels at once.
void enlarge(const Plan& plan, uint32_t image, const MaskRects& places, const float* sums,
             uint32_t* bits);

Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan);

/// Returns the instruction set in use: "AVX2", "NEON", ...
std::string_view target();

/// Returns the instruction sets of this machine; force_target() selects one of them until the next
/// call, "" the best one. Only for tests. Not thread-safe.
std::vector<std::string_view> targets();
void force_target(std::string_view name);

}  // namespace keepbox::simd
