// SPDX-License-Identifier: LGPL-2.1-or-later
// A model in system memory, shared by elements, with its batches.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "gst/infer/batch/batches.h"
#include "gst/infer/inferencer.h"
#include "gst/infer/modelsession.h"

namespace keepbox {

/// Memory of inputs, aligned for vector loads, and zero at first.
class InputMemory {
 public:
  static constexpr size_t kAlignment = 64;

  Status allocate(size_t bytes);
  std::byte* data() const { return data_.get(); }
  size_t bytes() const { return bytes_; }

 private:
  struct Free {
    void operator()(std::byte* data) const;
  };
  std::unique_ptr<std::byte, Free> data_;
  size_t bytes_ = 0;
};

/// A session, and the batches of its elements if it runs any.
class HostModel : public std::enable_shared_from_this<HostModel> {
 public:
  static Result<std::shared_ptr<HostModel>> open(const SessionSpec& spec);

  const SessionSpec& spec() const { return spec_; }
  /// Returns the session, which prepare() may replace; to be called after it.
  const ModelSession& session() const { return *session_; }
  const ModelDeclaration& declaration() const { return declaration_; }

  /// Makes batches if the spec or the model requires them. The first caller makes them, later
  /// callers share them; kInvalid if their input differs. If the model cannot run several pictures,
  /// they run one by one.
  Status prepare(const ModelFacts& facts);
  /// Returns why several pictures cannot run together; none if they can, or if it was not tried.
  const std::optional<Error>& no_batch_reason() const { return no_batch_reason_; }

  /// Returns nullptr if pictures run one by one.
  std::shared_ptr<Batches> batches();
  /// Returns the memory of a place's input.
  std::byte* input(const Batches::Slot& place) const;

 private:
  class Engine;

  HostModel(SessionSpec spec, std::unique_ptr<ModelSession> session);
  Status make_batches(const ModelFacts& facts, unsigned capacity);
  Status open_batch(const ModelFacts& facts);

  const SessionSpec spec_;
  std::unique_ptr<ModelSession> session_;
  const ModelDeclaration declaration_;  // a copy: the session may be replaced by an opened one
  std::mutex lock_;                     // guards prepare()
  InputForm form_;
  bool prepared_ = false;
  std::optional<Error> no_batch_reason_;
  std::unique_ptr<Engine> engine_;
  std::unique_ptr<Batches> batches_;  // ends first
};

/// Wraps an output in a buffer. @param owner keeps the data alive.
OwnedBuffer wrapped_output(std::shared_ptr<const void> owner, std::byte* data, size_t bytes);

}  // namespace keepbox
