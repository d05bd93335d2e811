// SPDX-License-Identifier: LGPL-2.1-or-later
// Properties that always hold for plans, boxes and errors; violated() if they do not.
#pragma once

#include <span>

#include "core/run/processor.h"

namespace keepbox::fuzz {

/// Checks that an error has a statement, or its expected and found texts. @param where for the
/// message
void check_error(const Error& error, const char* where);

/// Checks boxes, keypoints and masks of a run: in order, within all limits, on the frame, readable.
void check_boxes(const Processor& processor);

/// Checks that both are equal to the bit. @param where what they were run for
void check_same(const Processor& want, const Processor& got, const char* where);

/// Checks that suppressing the kept boxes keeps all of them, for methods that do not change boxes.
void check_nms_of_nms(const Plan& plan, const Backend& backend,
                      std::span<const TensorView> tensors);

}  // namespace keepbox::fuzz
