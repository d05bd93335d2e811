// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads a model on a thread of its own, and tries it.
#pragma once

#include <gst/gst.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

#include "core/base/result.h"
#include "gst/infer/facts/modelfacts.h"
#include "gst/infer/onnx/session.h"
#include "gst/infer/properties.h"
#include "gst/infer/run/inferencer.h"
#include "gst/infer/settings.h"
#include "gst/tensors/cudascope.h"

namespace keepbox {

// Loads a model without its element, so that another thread can do it.

/// A model that is ready for frames.
struct LoadedModel {
  std::unique_ptr<Inferencer> inferencer;
  ModelDeclaration declaration;
};

/// All that a load needs.
struct LoadOrder {
  InferProps props;
  SessionSpec spec;
  CudaContext context;              // of the device; none for the host
  std::optional<ModelFacts> facts;  // if they are settled; else by the properties and the model
};

/// Loads a model and prepares its runs, which takes seconds. Errors name the file or the property.
Result<LoadedModel> load_model(const LoadOrder& order);

/// Settles a model by the properties. @param family see settle_model().
Result<ModelFacts> settle_by(const InferProps& props, const ModelDeclaration& declaration,
                             const FamilyOfModel* family = nullptr);

// Work that takes seconds, in a separate thread that the caller need not wait for.

/// A thread that runs one function. If the object is destroyed before the end, the function goes on
/// in the background. The process does not exit before its end.
class BackgroundThread {
 public:
  /// @param work owns all that it uses, and returns why it failed, or "". Libraries that it uses
  /// are loaded already.
  explicit BackgroundThread(std::function<std::string()> work);

  /// Waits until the work is complete; false if it was interrupted.
  bool wait() const;
  /// Makes wait() return while `on`, also if it waits already. From any thread.
  void interrupt(bool on) const;

  /// Waits until the work is complete, and returns what it returned; none after leave(). For a
  /// thread that interrupt() does not affect.
  std::optional<std::string> end() const;
  /// Makes end() return. From any thread.
  void leave() const;

 private:
  struct Shared;
  std::shared_ptr<Shared> shared_;
};

/// BackgroundThread work with a result, which is destroyed in the background if it is not taken.
template <class T>
class BackgroundResult {
 public:
  explicit BackgroundResult(std::function<Result<T>()> work)
      : work_([work = std::move(work), to = result_] {
          const Result<T>& result = to->emplace(work());
          return result ? std::string() : result.error().message();
        }) {}

  const BackgroundThread& work() const { return work_; }

  /// Waits for the result. Call it until it succeeds or fails otherwise than by kInterrupted.
  Result<T> take() {
    if (!work_.wait())
      return reject(ErrorKind::kInterrupted,
                    "Loading the model was interrupted by a flush or a stop");
    return std::move(**result_);
  }

 private:
  std::shared_ptr<std::optional<Result<T>>> result_ = std::make_shared<std::optional<Result<T>>>();
  BackgroundThread work_;
};

// A trial run of a model whose files do not identify it: its tensors are recognised by names,
// shapes and values, like those of frames.

/// Runs the model once on a generated picture, on the CPU. @return the family, and whether it is
/// certain; an error if the model does not run, or if its tensors fit no family or several.
Result<FamilyOfModel> try_model(SessionSpec spec, const ModelDeclaration& declaration,
                                const ModelFacts& facts);

// The load of an element's model, and what is decided while it goes on.

/// The setup of the model, settled at the start.
struct InferSetup {
  std::string provider;  // "cpu", "cuda", or another
  std::string reason;    // why it was chosen
  std::string runtime;   // "ONNX Runtime 1.21.0"
  std::string recognized;
  bool graph = false;
};

/// Loads the model of one element in the background, on the CPU if a GPU that was chosen
/// automatically fails, and tries it. Only interrupt() may be called from other threads.
class ModelLoader {
 public:
  /// @param element posts the messages and outlives this. @param like another loader, whose trial
  /// run counts here too, and which outlives this; nullptr: none.
  ModelLoader(GstElement* element, std::shared_ptr<SharedCuda> cuda, const ModelLoader* like)
      : element_(element), cuda_(std::move(cuda)), like_(like) {}

  /// See Model.
  void offer_context(const InferProps& props);
  bool offer_pool(GstQuery* query);

  /// Begins to load the model. Afterwards props() and setup() are those of the load.
  Status start(const InferProps& props);
  /// Leaves work that is not complete.
  void stop();
  /// Makes the functions that wait fail while `on`, also those that wait already. From any thread.
  void interrupt(bool on);
  bool interrupted() const { return interrupted_; }

  const InferProps& props() const { return props_; }
  const ProviderChoice& provider() const { return provider_; }
  const InferSetup& setup() const { return setup_; }

  /// Waits for the model; on the CPU if a GPU that was chosen automatically fails.
  Result<LoadedModel> open();
  /// Loads the model for another size of the input, and waits for it.
  Result<LoadedModel> open_for(Size size, const ModelFacts& facts) { return loaded(size, &facts); }

  /// True if the error is that of a device that was chosen automatically.
  bool may_leave_device(const Error& error) const;
  /// Begins to load the model for the CPU instead.
  Status leave_device(const Error& why);
  /// Warns once of a device that was left.
  void warn_of_left_device();

  /// Runs the model on a picture, to recognise its family, unless that was done since the start.
  /// An error if it was interrupted.
  Status try_family(const ModelDeclaration& declaration, const ModelFacts& facts);
  /// Returns the family that was found. @pre try_family() succeeded.
  const Result<FamilyOfModel>& tried() const { return *trial_.found; }

 private:
  struct Load;
  struct Trial {
    std::shared_ptr<BackgroundResult<FamilyOfModel>> work;
    std::optional<Result<FamilyOfModel>> found;
  };

  Status begin(Size size, const ModelFacts* facts);
  Result<LoadedModel> loaded(Size size, const ModelFacts* facts);
  template <class T>
  Result<T> await(BackgroundResult<T>& result);

  GstElement* element_;
  std::shared_ptr<SharedCuda> cuda_;
  const ModelLoader* like_;
  std::mutex lock_;                            // guards the next one, and changes of the one after
  const BackgroundThread* awaited_ = nullptr;  // by the streaming thread
  std::atomic<bool> interrupted_ = false;
  InferProps props_;
  ProviderChoice provider_;
  InferSetup setup_;
  std::shared_ptr<Load> load_;  // while it goes on
  Trial trial_;
  std::optional<Error> left_;  // why a device was left, until a warning is posted
};

}  // namespace keepbox
