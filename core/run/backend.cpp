// SPDX-License-Identifier: LGPL-2.1-or-later
// Selection of a backend.
#include "core/run/backend.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace keepbox {
namespace {

std::string names() {
  std::string text = "auto";
  for (const Backend& backend : backends()) text += ", " + std::string(backend.name);
  return text;
}

std::string_view memory_name(MemorySpace memory) {
  return memory == MemorySpace::kCuda ? "CUDA memory" : "system memory";
}

Status usable(const Backend& backend, const Plan& plan, MemorySpace memory) {
  if (backend.memory != memory)
    return reject(ErrorKind::kUnsupported,
                  "backend=" + std::string(backend.name) + " cannot read tensors in " +
                      std::string(memory_name(memory)),
                  "set backend=auto");
  return backend.supports(plan);
}

/// Checks a backend of the user's choice, which may copy tensors from system memory.
Status usable_by_name(const Backend& backend, const Plan& plan, MemorySpace memory) {
  return usable(backend, plan, memory == MemorySpace::kSystem ? backend.memory : memory);
}

}  // namespace

const Backend* find_backend(std::string_view name) {
  const auto found = std::ranges::find(backends(), name, &Backend::name);
  return found == backends().end() ? nullptr : &*found;
}

namespace {

/// Adds the instruction set to the reason, if there is a choice.
Selection chosen(const Backend& backend, std::string reason) {
  if (backend.variant != nullptr) reason += ", " + std::string(backend.variant());
  return {&backend, std::move(reason)};
}

}  // namespace

std::string_view wanted_backend(std::string_view name) {
  const char* forced = std::getenv("KEEPBOX_BACKEND");
  return name == "auto" && forced != nullptr && *forced != '\0' ? forced : name;
}

Result<Selection> select_backend(std::string_view name, const Plan& plan, MemorySpace memory) {
  const std::string_view wanted = wanted_backend(name);
  if (wanted != "auto") {
    const Backend* backend = find_backend(wanted);
    if (backend == nullptr)
      return reject(ErrorKind::kInvalid, "backend=" + std::string(wanted) + " is unknown",
                    "set backend= to one of " + names());
    KB_TRY(usable_by_name(*backend, plan, memory));
    return chosen(*backend, name == "auto" ? "set by KEEPBOX_BACKEND" : "set by backend=");
  }
  if (!std::ranges::contains(backends(), memory, &Backend::memory))
    return reject(ErrorKind::kUnsupported,
                  "This build has no backend for " + std::string(memory_name(memory)),
                  "copy the data to system memory, or build keepbox with CUDA");
  std::optional<Error> why;  // of the backend that came closest
  for (const Backend& backend : backends()) {
    const Status status = usable(backend, plan, memory);
    if (status)
      return chosen(backend,
                    "first that runs this plan on tensors in " + std::string(memory_name(memory)));
    if (!why || backend.memory == memory) why = status.error();
  }
  return std::unexpected(*why);
}

}  // namespace keepbox
