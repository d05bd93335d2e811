// SPDX-License-Identifier: LGPL-2.1-or-later
// What always holds of plans, boxes and errors; violated() where it does not.
#pragma once

#include <span>

#include "core/processor.h"

namespace keepbox::fuzz {

/// Says what is expected and what was found. @param where for the message
void check_error(const Error& error, const char* where);

/// Boxes, points and masks of a run: in order, within all limits, on the frame, readable.
void check_boxes(const Processor& processor);

/// The same of both, to the bit. @param where what they were run for
void check_same(const Processor& want, const Processor& got, const char* where);

/// What is kept of what was kept is all of it, where the method keeps boxes as they are.
void check_nms_of_nms(const Plan& plan, const Backend& backend,
                      std::span<const TensorView> tensors);

}  // namespace keepbox::fuzz
