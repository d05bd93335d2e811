// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups a frame's tensors by the model that produced them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gst/tensors/tensors.h"

namespace keepbox {

/// Tensors of a frame that have the same source.
struct ProducerTensors {
  SharedProvenance source;        // nullptr if unknown
  std::vector<uint32_t> tensors;  // indices in listed()
};

/// Groups the listed tensors by source, in order of appearance; those without a source form one
/// group. Returns at least one group, which may be empty. With ids there is a single group, with
/// the source of the first tensor that is named. Groups that declare the wanted detector come
/// first.
std::vector<ProducerTensors> by_tensor_producer(const FrameTensors& tensors,
                                                std::span<const std::string> ids,
                                                std::string_view detector);

/// Returns the model for messages, such as "best (a/best.onnx)" with the end of the file's path.
std::string to_string(const ProducerTensors& produced);

/// Returns the properties of tensors that are known without reading them. @param which indices in
/// listed().
std::vector<TensorView> forms_of(const FrameTensors& tensors, std::span<const uint32_t> which);

}  // namespace keepbox
