// SPDX-License-Identifier: LGPL-2.1-or-later
// Decodes an image on several threads.
#pragma once

#include <span>

#include "core/run/backend.h"

namespace keepbox {

/// A decode kernel and its arguments.
struct DecodeCall {
  decltype(HostKernels::decode) decode;
  const Plan& plan;
  std::span<const TensorView> tensors;
  uint32_t image;
};

/// Decodes an image in one part per thread with enough work, and returns the number of candidates.
/// @param threads null for a single part. @param out plan.rules.candidates.
uint32_t decode_parts(const DecodeCall& call, ThreadPool* threads, std::span<Candidate> out,
                      Funnel& funnel);

}  // namespace keepbox
