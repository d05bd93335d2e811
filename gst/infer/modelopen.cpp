// SPDX-License-Identifier: LGPL-2.1-or-later
// Opens a model on its provider, on the CPU if a GPU fails, and for the size of frames.
#include <format>
#include <utility>

#include "gst/base/error.h"
#include "gst/infer/model.h"
#include "gst/infer/provider.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
namespace {

/// Posts progress messages while a provider builds engines, which may take minutes.
class EngineProgress {
 public:
  EngineProgress(GstElement* element, const ProviderChoice& provider)
      : element_(provider.tensorrt() ? element : nullptr) {
    post(GST_PROGRESS_TYPE_START,
         "building TensorRT engines, or reading those of an earlier start");
  }
  ~EngineProgress() { post(GST_PROGRESS_TYPE_ERROR, "TensorRT cannot run the model"); }
  EngineProgress(const EngineProgress&) = delete;
  EngineProgress& operator=(const EngineProgress&) = delete;

  void done() {
    post(GST_PROGRESS_TYPE_COMPLETE, "TensorRT engines are ready");
    element_ = nullptr;
  }

 private:
  void post(GstProgressType type, const char* text) const {
    if (element_ == nullptr) return;
    gst_element_post_message(element_,
                             gst_message_new_progress(GST_OBJECT(element_), type, "engine", text));
  }

  GstElement* element_;
};

}  // namespace

void Model::offer_context(const InferProps& props) {
  const auto provider = choose_provider(props);
  if (!provider || !provider->cuda() || !cuda_available()) return;
  const auto context = cuda_.offer_primary(element_, props.device_id);
  if (!context)
    GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "%s", context.error().message().c_str());
}

Status Model::start(const InferProps& props) {
  tried_.reset();
  warned_.clear();
  left_device_ = false;
  interrupt(false);
  KB_ASSIGN(tiles_, tile_grid(props));
  KB_ASSIGN(auto rules, object_rules(props));
  objects_ = rules ? std::optional<Objects>(std::move(*rules)) : std::nullopt;
  KB_ASSIGN(const ProviderChoice provider, choose_provider(props));
  return open(props, provider);
}

/// Falls back to the CPU if a GPU that was chosen automatically fails.
Status Model::open(const InferProps& props, const ProviderChoice& provider) {
  props_ = props;
  Status opened = open_on(props, provider);
  if (!opened && is_automatic(props) && provider.cuda()) return leave_device(opened.error());
  if (!opened) return opened;
  return opened_on(provider);
}

Status Model::leave_device(const Error& why) {
  take(nullptr);
  const ProviderChoice provider{"cpu", why.message()};
  KB_TRY(open_on(props_, provider));
  post_warning(element_, {why.kind, why.expected, why.found,
                          "the model runs on the CPU; to run it on the GPU, " + why.hint});
  return opened_on(provider);
}

Status Model::opened_on(const ProviderChoice& provider) {
  const InferProps& props = props_;
  const auto runtime = OnnxRuntime::load(props.runtime_library);
  setup_ = {.provider = provider.name,
            .reason = provider.reason,
            .runtime = (*runtime)->name(),
            .recognized = facts_.remark,
            .graph = inferencer_->graph()};
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "%s on %s (%s): %s", props.model_file.c_str(),
                      provider.name.c_str(), provider.reason.c_str(), facts_.remark.c_str());
  return {};
}

/// @param size of an input whose size follows the frames'; empty: as properties and model define.
Result<std::unique_ptr<Inferencer>> Model::load(const ProviderChoice& provider, Size size) {
  KB_ASSIGN(SessionSpec spec, session_spec(props_, provider, size));
  if (!provider.cuda()) return make_host_inferencer(spec);
  KB_TRY(check_cuda(props_, provider));
  KB_ASSIGN(const CudaContext context, cuda_.offer_primary(element_, props_.device_id));
  spec.device = cuda_device_of(context);
  return make_cuda_inferencer(spec, context);
}

Status Model::open_on(const InferProps& props, const ProviderChoice& provider) {
  KB_ASSIGN(auto info, find_model_info(props.model_file));
  EngineProgress progress(element_, provider);
  KB_ASSIGN(auto made, load(provider, {}));
  ModelClaims claims = made->claims();
  claims.info = std::move(info);
  claims_ = std::move(claims);
  KB_TRY(settle(nullptr));
  KB_TRY(made->set_model(facts_));
  progress.done();
  take(std::move(made));
  provider_ = provider;
  loaded_ = facts_.input.size;
  return {};
}

/// Fits the input to the frames if its size follows theirs, and loads the model for that size.
Status Model::follow_frames(const Picture& picture) {
  if (facts_.rectangle_stride == 0) return {};
  facts_.input = rectangle_of(picture, facts_.input, facts_.rectangle_stride);
  const Size size = facts_.input.size;
  facts_.remark += std::format("; {}x{} for these frames", size.width, size.height);
  if (size == loaded_) return {};
  EngineProgress progress(element_, provider_);
  KB_ASSIGN(auto made, load(provider_, size));
  KB_TRY(made->set_model(facts_));
  progress.done();
  drain();
  take(std::move(made));
  loaded_ = size;
  return {};
}

/// Warns if batches were asked for and cannot be run.
void Model::check_batches() {
  const std::string why = inferencer_->why_single();
  if (why.empty()) return;
  GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "frames run one by one: %s", why.c_str());
  if (props_.batch_size > 1 && warned_.insert(why).second)
    post_warning(element_, {ErrorKind::kUnsupported,
                            "a model that can run batches, for batch-size=" +
                                std::to_string(props_.batch_size),
                            why, "export it with a dynamic batch, or set batch-size=1"});
}

}  // namespace keepbox
