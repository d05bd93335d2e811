// SPDX-License-Identifier: LGPL-2.1-or-later
// Empty CUDA adapter for builds without CUDA.
#include "tests/parity/cuda_subject.h"
#include "tests/parity/inputs.h"

namespace keepbox::test {

std::vector<std::string> cuda_subjects() { return {}; }
Backend cuda_subject(const std::string&) { return {}; }
Backend circle_subject(const std::string&) { return {}; }
OnDevice::OnDevice(std::span<const TensorView> views) : views_(views.begin(), views.end()) {}
OnDevice::~OnDevice() = default;
Result<KeptOf> suppressed_on_device(Suppressor&, const BoxTable&, bool) {
  return reject(ErrorKind::kUnsupported, "no CUDA");
}
Made make_on_device(const Backend&, const InputCase&, MakerOf) {
  return std::unexpected("no CUDA");
}

}  // namespace keepbox::test
