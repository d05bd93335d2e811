// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens a model on its provider, on the CPU if a GPU fails, and for the size of frames.
#include <algorithm>
#include <format>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "gst/base/error.h"
#include "gst/infer/cuda/pinnedpool.h"
#include "gst/infer/engineprogress.h"
#include "gst/infer/facts/metadata.h"
#include "gst/infer/facts/trial.h"
#include "gst/infer/model.h"
#include "gst/infer/onnx/onnx.h"
#include "gst/infer/provider.h"
#include "gst/infer/settings/infersettings.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {

namespace {

/// Posts the message "tensorinfer-model" with the fields "file", "error" and "labels".
void post_end(GstElement* element, const std::string& file, const std::string& error,
              const std::string& labels) {
  GstStructure* about = gst_structure_new("tensorinfer-model", "file", G_TYPE_STRING, file.c_str(),
                                          "error", G_TYPE_STRING, error.c_str(), "labels",
                                          G_TYPE_STRING, labels.c_str(), nullptr);
  gst_element_post_message(element, gst_message_new_element(GST_OBJECT(element), about));
}

/// Returns the class names in a model's metadata as a label file has them, one per line.
std::string label_lines(const ModelDeclaration& declaration) {
  std::string lines;
  for (std::string name : read_metadata(declaration.metadata).labels) {
    std::ranges::replace(name, '\n', ' ');
    lines += name + '\n';
  }
  return lines;
}

}  // namespace

/// A load in the background, and a thread of the element that posts a message at its end. It is no
/// error if the CPU follows.
struct Model::Load {
  Load(GstElement* element, const ProviderChoice& on, const LoadOrder& order, Size of)
      : size(of),
        progress(element, on),
        result([order, to = labels] {
          auto model = load_model(order);
          if (model) *to = label_lines(model->declaration);
          return model;
        }),
        watch([this, element, file = order.props.model_file,
               last = !on.cuda() || !is_automatic(order.props)] {
          if (const auto error = result.work().end())
            post_end(element, file, last ? *error : "", *labels);
        }) {}
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;
  ~Load() { result.work().leave(); }

  const Size size;
  EngineProgress progress;
  // written by the work, read after its end
  const std::shared_ptr<std::string> labels = std::make_shared<std::string>();
  BackgroundResult<LoadedModel> result;
  std::jthread watch;  // ends first
};

void Model::offer_context(const InferProps& props) {
  const auto provider = choose_provider(props);
  if (!provider || !provider->cuda() || !cuda_available()) return;
  const auto context = cuda_->offer_primary(element_, props.device_id);
  if (!context)
    GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "%s", context.error().message().c_str());
}

bool Model::offer_pool(GstQuery* query) {
  if (!provider_.cuda() || !cuda_available()) return false;
  const auto context = cuda_->offer_primary(element_, props_.device_id);
  return context && offer_pinned_pool(query, *context);
}

Status Model::start(const InferProps& props) {
  warnings_->clear();
  return begin_with(props);
}

Status Model::begin_with(const InferProps& props) {
  tried_.reset();
  left_.reset();
  left_device_ = prepared_ = false;
  interrupt(false);
  KB_ASSIGN(auto rules, object_rules(props));
  objects_ = rules ? std::optional<Objects>(std::move(*rules)) : std::nullopt;
  props_ = props;
  max_pending_ = props.lookahead + 1;
  KB_ASSIGN(tiles_, tile_grid(props));
  KB_ASSIGN(provider_, choose_provider(props));
  const Status begun = begin_load({}, nullptr);
  if (begun || !is_automatic(props) || !provider_.cuda()) return begun;
  return leave_device(begun.error());
}

/// Begins to load the model, after checks that take no time.
/// @param size of an input whose size follows the frames'; empty: as properties and model define.
Status Model::begin_load(Size size, const ModelFacts* facts) {
  load_.reset();
  LoadOrder order{.props = props_, .spec = {}, .context = {}, .facts = {}};
  if (facts != nullptr) order.facts = *facts;
  KB_ASSIGN(const ModelRuntime* runtime, load_onnx_runtime(props_.runtime_library));
  setup_ = {.provider = provider_.name,
            .reason = provider_.reason,
            .runtime = runtime->name(),
            .recognized = {}};
  KB_TRY(check_model_file(props_.model_file));
  KB_ASSIGN(order.spec, session_spec(props_, provider_, size));
  if (provider_.cuda()) {
    KB_TRY(check_cuda(props_, provider_));
    KB_ASSIGN(order.context, cuda_->offer_primary(element_, props_.device_id));
    order.spec.device = cuda_device_of(order.context);
  }
  load_ = std::make_shared<Load>(element_, provider_, order, size);
  return {};
}

/// Waits for work in the background. interrupt() ends the wait, not the work.
template <class T>
Result<T> Model::await(BackgroundResult<T>& result) {
  const auto set = [&](const BackgroundThread* work) {
    const std::lock_guard guard(lock_);
    awaited_ = work;
    if (work != nullptr) work->interrupt(interrupted_);
  };
  set(&result.work());
  Result<T> out = result.take();
  set(nullptr);
  return out;
}

/// Returns the model of that size once it is loaded. An interrupted load is continued.
Result<LoadedModel> Model::loaded(Size size, const ModelFacts* facts) {
  if (!load_ || load_->size != size) KB_TRY(begin_load(size, facts));
  auto model = await(load_->result);
  if (!model && model.error().kind == ErrorKind::kInterrupted) return model;
  if (model) load_->progress.done();
  else load_->progress.failed();
  load_.reset();
  return model;
}

/// Falls back to the CPU if a GPU that was chosen automatically fails.
Status Model::open() {
  if (inferencer_) return {};
  auto model = loaded({}, nullptr);
  if (!model && provider_.cuda() && may_leave_device(model.error())) {
    KB_TRY(leave_device(model.error()));
    model = loaded({}, nullptr);
  }
  KB_TRY(model);
  return opened(std::move(*model));
}

/// Adds to the error of a GPU that the model runs on the CPU.
static Error on_cpu(Error why) {
  why.hint = "the model runs on the CPU; to run it on the GPU, " + why.hint;
  return why;
}

/// Loads the model for the CPU instead.
Status Model::leave_device(const Error& why) {
  left_ = why;
  provider_ = {"cpu", why.message()};
  return begin_load({}, nullptr);
}

Status Model::opened(LoadedModel model) {
  declaration_ = std::move(model.declaration);
  KB_TRY(settle(nullptr));
  take(std::move(model.inferencer));
  loaded_ = facts_.input.size;
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "%s on %s (%s): %s", props_.model_file.c_str(),
                      provider_.name.c_str(), provider_.reason.c_str(), facts_.remark.c_str());
  if (const auto why = std::exchange(left_, std::nullopt)) post_warning(element_, on_cpu(*why));
  return {};
}

/// Runs the model on a picture, to recognise its family.
Status Model::try_family() {
  if (!tried_ && like_ != nullptr) tried_ = like_->tried_;
  if (tried_) return {};
  if (!trial_)
    trial_ = std::make_shared<Trial>([spec = trial_spec(props_), declaration = declaration_,
                                      facts = facts_]() -> Result<FamilyOfModel> {
      return try_model(spec, declaration, facts);
    });
  Result<FamilyOfModel> found = await(*trial_);
  if (!found && found.error().kind == ErrorKind::kInterrupted)
    return std::unexpected(found.error());
  tried_ = std::move(found);
  trial_.reset();
  return {};
}

/// Fits the input to the frames if its size follows theirs, and loads the model for that size.
Status Model::follow_frames(const Picture& picture) {
  if (facts_.rectangle_stride == 0) return {};
  facts_.input = rectangle_of(picture, facts_.input, facts_.rectangle_stride);
  const Size size = facts_.input.size;
  facts_.remark += std::format("; {}x{} for these frames", size.width, size.height);
  if (size == loaded_) return {};
  KB_ASSIGN(LoadedModel made, loaded(size, &facts_));
  drain();
  take(std::move(made.inferencer));
  loaded_ = size;
  return {};
}

/// Warns if batches were asked for and cannot be run.
void Model::check_batches() {
  const std::optional<Error> why = inferencer_->no_batch_reason();
  if (!why) return;
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "frames run one by one: %s",
                      why->message().c_str());
  warnings_->no_batches(props_, *why);
}

}  // namespace keepbox
