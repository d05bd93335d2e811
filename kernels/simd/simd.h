// SPDX-License-Identifier: LGPL-2.1-or-later
// The vector backend: one source for all instruction sets (Highway), chosen at run time.
#pragma once

#include <string_view>
#include <vector>

#include "core/backend.h"

namespace keepbox::simd {

Backend backend();

/// Reads planes and rows of class scores in float32, float16, bfloat16 and quantised integers of 8
/// and 16 bits, with or without objectness, once; rows with one score go to decode_ready(), what else
/// there is to the reference's code.
uint32_t decode(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                AnchorRange anchors, std::span<Candidate> out, Funnel& funnel);

/// The same for rows with one score each, of which it reads boxes and classes only where the score
/// passes.
uint32_t decode_ready(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
                      AnchorRange anchors, std::span<Candidate> out, Funnel& funnel);

uint32_t select(const Plan& plan, std::span<const Candidate> candidates,
                std::span<SortSlot> slots, std::span<Candidate> ordered);

uint32_t nms(const Plan& plan, std::span<Candidate> candidates, std::span<uint32_t> kept,
             const NmsScratch& scratch);

/// Vectors of float32 in planes; others go to the reference's code.
void masks(const Plan& plan, std::span<const TensorView> tensors, uint32_t image,
           std::span<const float> factors, std::span<const MaskPlace> places, const MaskRoom& out);

Result<std::unique_ptr<InputMaker>> input_maker(const InputPlan& plan);

/// The instruction set in use: "AVX2", "NEON", ...
std::string_view target();

/// For tests: the instruction sets that this machine has, and the use of one of them alone until
/// the next call. "" goes back to the best one. Not for other threads to run meanwhile.
std::vector<std::string_view> targets();
void force_target(std::string_view name);

}  // namespace keepbox::simd
