// SPDX-License-Identifier: LGPL-2.1-or-later
// Groups tensors by source.
#include "gst/decode/producers.h"

#include <algorithm>
#include <filesystem>
#include <numeric>
#include <tuple>

namespace keepbox {
namespace {

/// Returns the index of the first listed tensor that is named, or 0.
size_t first_named(std::span<const TensorView> listed, std::span<const std::string> ids) {
  for (const std::string& id : ids) {
    const auto found = std::ranges::find(listed, std::string_view(id), &TensorView::id);
    if (found != listed.end()) return static_cast<size_t>(found - listed.begin());
  }
  return 0;
}

}  // namespace

std::vector<ProducerTensors> by_tensor_producer(const FrameTensors& tensors,
                                                std::span<const std::string> ids,
                                                std::string_view detector) {
  const auto count = static_cast<uint32_t>(tensors.listed().size());
  if (count == 0 || !ids.empty()) {
    ProducerTensors all{.tensors = std::vector<uint32_t>(count)};
    std::iota(all.tensors.begin(), all.tensors.end(), 0u);
    if (count != 0) all.source = tensors.source(first_named(tensors.listed(), ids));
    return {std::move(all)};
  }
  std::vector<ProducerTensors> out;
  for (uint32_t i = 0; i < count; ++i) {
    SharedProvenance source = tensors.source(i);
    auto there = std::ranges::find_if(
        out, [&](const ProducerTensors& each) { return same_source(each.source, source); });
    if (there == out.end()) there = out.insert(out.end(), {.source = std::move(source)});
    there->tensors.push_back(i);
  }
  std::ranges::stable_partition(out, [&](const ProducerTensors& each) {
    return each.source != nullptr && each.source->detector == detector;
  });
  return out;
}

std::string to_string(const ProducerTensors& produced) {
  if (produced.source == nullptr) return "an unnamed model";
  const auto& [model, path] = std::tie(produced.source->model, produced.source->file);
  const std::filesystem::path file(path);
  if (path.empty()) return model;
  return model + " (" + (file.parent_path().filename() / file.filename()).string() + ")";
}

std::vector<TensorView> forms_of(const FrameTensors& tensors, std::span<const uint32_t> which) {
  std::vector<TensorView> out;
  for (const uint32_t number : which) out.push_back(form_of(tensors.listed()[number]));
  return out;
}

}  // namespace keepbox
