// SPDX-License-Identifier: LGPL-2.1-or-later
// Remembers why devices are not used.
#include "gst/decode/devicechoice.h"

#include <algorithm>

#include "gst/base/enums.h"
#include "gst/base/error.h"
#include "gst/decode/decodelog.h"
#include "gst/decode/settings/decodeenums.h"

namespace keepbox {
namespace {

constexpr const char* kWithoutDevice = "set backend=auto";

bool is_device_failure(const Status& status) {
  return !status && status.error().kind == ErrorKind::kNoResource;
}

}  // namespace

bool DeviceChoice::is_device(std::string_view name) {
  const Backend* backend = find_backend(name);
  return backend != nullptr && backend->memory != MemorySpace::kSystem;
}

void DeviceChoice::set_props(const DecodeProps& props) {
  if (props.cuda_device_id != index_) device_->clear();
  index_ = props.cuda_device_id;
  const std::string chosen = nick_of(backend_type(), props.backend);
  if (chosen != chosen_) avoided_.clear();
  chosen_ = chosen;
  in_force_ = wanted_backend(chosen_);
}

void DeviceChoice::start() {
  failed_ = false;
  in_force_ = wanted_backend(chosen_);  // the environment may have changed
  avoided_.clear();
  logged_.clear();
}

Status DeviceChoice::check() {
  if (!is_forced()) return {};
  const auto context = device_->ensure(element_, index_, kWithoutDevice);
  failed_ = !context;
  KB_TRY(context);
  return {};
}

MemorySpace DeviceChoice::wanted_memory() const {
  const MemorySpace memory = device_->memory();
  const bool wanted = automatic() ? avoided_.empty() && unsupported_.empty() &&
                                        std::ranges::contains(backends(), memory, &Backend::memory)
                                  : is_forced();
  return wanted ? memory : MemorySpace::kSystem;
}

Status DeviceChoice::map(FrameTensors& tensors, std::span<const uint32_t> which,
                         MemorySpace preferred) {
  Status mapped = tensors.map(which, preferred);
  downloaded_ = downloaded_ || tensors.downloaded();
  failed_ = is_device_failure(mapped);
  return mapped;
}

Result<DeviceContext> DeviceChoice::context_for(const FrameTensors& tensors) {
  if (tensors.context()) {
    device_->adopt(tensors.context());
    return tensors.context();
  }
  if (!is_forced()) return DeviceContext();
  return device_->ensure(element_, index_, kWithoutDevice);
}

Result<Selection> DeviceChoice::select(const Plan& plan, MemorySpace memory) const {
  auto selection = select_backend(chosen_, plan, memory);
  const std::string& why = avoided_.empty() ? unsupported_ : avoided_;
  if (selection && !why.empty()) selection->reason += "; not on the GPU: " + why;
  return selection;
}

void DeviceChoice::log_unsupported() {
  if (unsupported_ != logged_ && !unsupported_.empty())
    GST_CAT_WARNING_OBJECT(decode_log(), element_, "decoding on the CPU: %s", unsupported_.c_str());
  logged_ = unsupported_;
}

void DeviceChoice::leave(const Error& error) {
  avoid(error);
  Error warning = error;
  warning.hint += warning.hint.empty() ? "" : "; ";
  warning.hint += "this and later frames are decoded on the CPU";
  post_warning(element_, warning);
}

void DeviceChoice::note_failure(const Status& status) {
  failed_ = is_forced() && is_device_failure(status);
}

}  // namespace keepbox
