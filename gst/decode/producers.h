// SPDX-License-Identifier: LGPL-2.1-or-later
// Which of a frame's tensors came from one model.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gst/tensors/tensors.h"

namespace keepbox {

/// Tensors of a frame that belong together, and their source.
struct Production {
  SharedTensorSource source;     // nullptr: nobody says
  std::vector<uint32_t> tensors;  // numbers in listed()
};

/// The listed tensors by their sources, in the order in which they came; those without one are
/// together. At least one, if it is empty. With ids they are one: the source is that of the first
/// that is named. Those that say the wanted detector come first.
std::vector<Production> productions(const FrameTensors& tensors, std::span<const std::string> ids,
                                    std::string_view detector);

/// Its model, for messages: "best (a/best.onnx)", of the file's path the end.
std::string to_string(const Production& production);

/// What is known of tensors without reading them, for plans. @param which numbers in listed().
std::vector<TensorView> forms_of(const FrameTensors& tensors, std::span<const uint32_t> which);

}  // namespace keepbox
