// SPDX-License-Identifier: LGPL-2.1-or-later
// Devices of a decoder, by the backends that this build has.
#include "decode/device.h"

#include <algorithm>

namespace keepbox {
namespace {

const Devices* devices() {
  const auto all = backends();
  const auto found =
      std::ranges::find_if(all, [](const Backend& each) { return each.devices != nullptr; });
  return found == all.end() ? nullptr : found->devices;
}

std::unexpected<Error> no_cuda() {
  return reject(ErrorKind::kNoResource, "This build of keepbox has no CUDA",
                "copy the tensors to host memory, or install a build with CUDA");
}

}  // namespace

CurrentDevice::CurrentDevice(int device) {
  if (device < 0 || devices() == nullptr) return;
  const auto previous = devices()->exchange(device);
  if (previous) previous_ = *previous;
  else status_ = std::unexpected(previous.error());
}

CurrentDevice::~CurrentDevice() {
  if (previous_ >= 0) (void)devices()->exchange(previous_);
}

Result<int> device_for(std::span<const TensorView> tensors, std::string_view backend, int wanted) {
  const TensorView& first = tensors.front();
  if (first.space == MemorySpace::kSystem) {
    const Backend* chosen = find_backend(backend);
    const bool on_device = chosen != nullptr && chosen->memory != MemorySpace::kSystem;
    return on_device ? std::max(wanted, 0) : -1;
  }
  if (devices() == nullptr) return no_cuda();
  return devices()->device_of(first.data);
}

Status download(const TensorView& from, std::span<std::byte> to) {
  if (devices() == nullptr) return no_cuda();
  return devices()->download(from, to);
}

void* named_stream(void* stream) {
  return stream != nullptr || devices() == nullptr ? stream : devices()->default_stream();
}

KeepboxDecodeFunnel public_funnel(const Funnel& funnel) {
  return {.anchors = funnel.anchors,
          .above_threshold = funnel.above_threshold,
          .not_finite = funnel.not_finite,
          .after_class_filter = funnel.after_class_filter,
          .after_top_k = funnel.after_top_k,
          .kept = funnel.kept,
          .clipped_away = funnel.clipped_away,
          .filtered_out = funnel.filtered_out};
}

}  // namespace keepbox
