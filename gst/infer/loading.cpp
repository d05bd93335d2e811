// SPDX-License-Identifier: LGPL-2.1-or-later
// Loads a model on a thread of its own, and tries it.
#include "gst/infer/loading.h"

#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <cstdlib>
#include <thread>
#include <vector>

#include "core/plan/plan.h"
#include "core/recognition/recognise.h"
#include "gst/base/error.h"
#include "gst/infer/cuda/pinnedpool.h"
#include "gst/infer/facts/metadata.h"
#include "gst/infer/onnx/openbatch.h"
#include "gst/infer/run/pictures.h"

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
struct ModelLoader::Load {
  Load(GstElement* element, const ProviderChoice& on, const LoadOrder& order, Size of)
      : size(of),
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
  // written by the work, read after its end
  const std::shared_ptr<std::string> labels = std::make_shared<std::string>();
  BackgroundResult<LoadedModel> result;
  std::jthread watch;  // ends first
};

void ModelLoader::offer_context(const InferProps& props) {
  const auto provider = choose_provider(props);
  if (!provider || !provider->cuda() || !cuda_available()) return;
  const auto context = cuda_->offer_primary(element_, props.device_id);
  if (!context)
    GST_CAT_INFO_OBJECT(tensorinfer_debug, element_, "%s", context.error().message().c_str());
}

bool ModelLoader::offer_pool(GstQuery* query) {
  if (!provider_.cuda() || !cuda_available()) return false;
  const auto context = cuda_->offer_primary(element_, props_.device_id);
  return context && offer_pinned_pool(query, *context);
}

Status ModelLoader::start(const InferProps& props) {
  trial_.found.reset();
  left_.reset();
  props_ = props;
  KB_ASSIGN(provider_, choose_provider(props));
  const Status begun = begin({}, nullptr);
  if (begun || !is_automatic(props) || !provider_.cuda()) return begun;
  return leave_device(begun.error());
}

void ModelLoader::stop() {
  load_.reset();
  trial_.work.reset();
}

void ModelLoader::interrupt(bool on) {
  const std::lock_guard guard(lock_);
  interrupted_ = on;
  if (awaited_ != nullptr) awaited_->interrupt(on);
}

/// Begins a load, after checks that take no time.
/// @param size of an input whose size follows the frames'; empty: as properties and model define.
Status ModelLoader::begin(Size size, const ModelFacts* facts) {
  load_.reset();
  LoadOrder order{.props = props_, .spec = {}, .context = {}, .facts = {}};
  if (facts != nullptr) order.facts = *facts;
  KB_ASSIGN(const OnnxRuntime* runtime, OnnxRuntime::load());
  setup_ = {.provider = provider_.name,
            .reason = provider_.reason,
            .runtime = runtime->name(),
            .recognized = {}};
  KB_TRY(check_model_file(props_.model_file));
  KB_ASSIGN(order.spec, session_spec(props_, provider_, size));
  if (provider_.cuda()) {
    KB_TRY(check_cuda());
    KB_ASSIGN(order.context, cuda_->offer_primary(element_, props_.device_id));
    order.spec.device = cuda_device_of(order.context);
  }
  load_ = std::make_shared<Load>(element_, provider_, order, size);
  return {};
}

/// Waits for work in the background. interrupt() ends the wait, not the work.
template <class T>
Result<T> ModelLoader::await(BackgroundResult<T>& result) {
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
Result<LoadedModel> ModelLoader::loaded(Size size, const ModelFacts* facts) {
  if (!load_ || load_->size != size) KB_TRY(begin(size, facts));
  auto model = await(load_->result);
  if (!model && model.error().kind == ErrorKind::kInterrupted) return model;
  load_.reset();
  return model;
}

Result<LoadedModel> ModelLoader::open() {
  auto model = loaded({}, nullptr);
  if (model || !provider_.cuda() || !may_leave_device(model.error())) return model;
  KB_TRY(leave_device(model.error()));
  return loaded({}, nullptr);
}

bool ModelLoader::may_leave_device(const Error& error) const {
  return !interrupted_ && error.kind == ErrorKind::kNoResource && is_automatic(props_);
}

Status ModelLoader::leave_device(const Error& why) {
  left_ = why;
  provider_ = {"cpu", why.message()};
  return begin({}, nullptr);
}

void ModelLoader::warn_of_left_device() {
  auto why = std::exchange(left_, std::nullopt);
  if (!why) return;
  why->hint = "the model runs on the CPU; to run it on the GPU, " + why->hint;
  post_warning(element_, *why);
}

Status ModelLoader::try_family(const ModelDeclaration& declaration, const ModelFacts& facts) {
  if (!trial_.found && like_ != nullptr) trial_.found = like_->trial_.found;
  if (trial_.found) return {};
  if (!trial_.work)
    trial_.work = std::make_shared<BackgroundResult<FamilyOfModel>>(
        [spec = trial_spec(props_), declaration, facts]() -> Result<FamilyOfModel> {
          return try_model(spec, declaration, facts);
        });
  Result<FamilyOfModel> found = await(*trial_.work);
  if (!found && found.error().kind == ErrorKind::kInterrupted)
    return std::unexpected(found.error());
  trial_.found = std::move(found);
  trial_.work.reset();
  return {};
}

Result<LoadedModel> load_model(const LoadOrder& order) {
  KB_ASSIGN(auto info, find_model_info(order.props.model_file));
  KB_ASSIGN(auto inferencer, order.context ? make_cuda_inferencer(order.spec, order.context)
                                           : make_host_inferencer(order.spec));
  LoadedModel out{.inferencer = std::move(inferencer), .declaration = {}};
  out.declaration = out.inferencer->declaration();
  out.declaration.info = std::move(info);
  if (order.facts) {
    KB_TRY(out.inferencer->set_model(*order.facts));
  } else {
    KB_ASSIGN(const ModelFacts facts, settle_by(order.props, out.declaration));
    KB_TRY(out.inferencer->set_model(facts));
  }
  return out;
}

Result<ModelFacts> settle_by(const InferProps& props, const ModelDeclaration& declaration,
                             const FamilyOfModel* family) {
  KB_ASSIGN(const InputSettings settings, input_settings(props));
  auto facts = settle_model(declaration, settings, family);
  if (!facts) facts.error().add("for " + props.model_file);
  return facts;
}

namespace {

/// The threads that have not ended. Never destroyed, because they use it.
struct Running {
  std::mutex lock;
  std::condition_variable changed;
  unsigned threads = 0;
  const pid_t process = getpid();

  void add(int change) {
    const std::lock_guard guard(lock);
    threads += static_cast<unsigned>(change);
    changed.notify_all();
  }
};

Running& running() {
  static auto& only = *new Running;
  return only;
}

/// Called before the destructors of libraries that were loaded before the first thread began. A
/// forked child has none of the threads, and would wait for ever.
void wait_for_all() {
  if (getpid() != running().process) return;
  std::unique_lock lock(running().lock);
  running().changed.wait(lock, [] { return running().threads == 0; });
}

}  // namespace

struct BackgroundThread::Shared {
  std::mutex lock;
  std::condition_variable changed;
  std::string failure;
  bool done = false, interrupted = false, left = false;
};

BackgroundThread::BackgroundThread(std::function<std::string()> work)
    : shared_(std::make_shared<Shared>()) {
  [[maybe_unused]] static const int registered = std::atexit(wait_for_all);
  running().add(1);
  std::thread([work = std::move(work), shared = shared_]() mutable {
    std::string failure = work();
    {
      const std::lock_guard guard(shared->lock);
      shared->failure = std::move(failure);
      shared->done = true;
    }
    shared->changed.notify_all();
    work = nullptr;  // with a result that was left
    shared.reset();
    running().add(-1);
  }).detach();
}

bool BackgroundThread::wait() const {
  std::unique_lock lock(shared_->lock);
  shared_->changed.wait(lock, [&] { return shared_->done || shared_->interrupted; });
  return shared_->done;
}

void BackgroundThread::interrupt(bool on) const {
  const std::lock_guard guard(shared_->lock);
  shared_->interrupted = on;
  shared_->changed.notify_all();
}

std::optional<std::string> BackgroundThread::end() const {
  std::unique_lock lock(shared_->lock);
  shared_->changed.wait(lock, [&] { return shared_->done || shared_->left; });
  return shared_->done ? std::optional(shared_->failure) : std::nullopt;
}

void BackgroundThread::leave() const {
  const std::lock_guard guard(shared_->lock);
  shared_->left = true;
  shared_->changed.notify_all();
}

namespace {

OwnedBuffer drawn(const GstVideoInfo& info) {
  OwnedBuffer buffer(gst_buffer_new_allocate(nullptr, info.size, nullptr));
  GstMapInfo map;
  if (buffer == nullptr || !gst_buffer_map(buffer.get(), &map, GST_MAP_WRITE)) return nullptr;
  const gint width = GST_VIDEO_INFO_WIDTH(&info), stride = GST_VIDEO_INFO_PLANE_STRIDE(&info, 0);
  for (gint y = 0; y < GST_VIDEO_INFO_HEIGHT(&info); ++y)
    for (gint x = 0; x < 3 * width; ++x)
      map.data[gsize(y) * gsize(stride) + gsize(x)] =
          pixel_of_squares(guint(x / 3), guint(y))[size_t(x % 3)];
  gst_buffer_unmap(buffer.get(), &map);
  return buffer;
}

Result<std::vector<InferredTensor>> run_once(const SessionSpec& spec, const ModelFacts& facts) {
  KB_ASSIGN(auto inferencer, make_host_inferencer(spec));
  KB_TRY(inferencer->set_model(facts));
  GstVideoInfo info;
  gst_video_info_set_format(&info, GST_VIDEO_FORMAT_RGB, facts.input.size.width,
                            facts.input.size.height);
  KB_ASSIGN(const auto form, frame_form_of(info));
  KB_ASSIGN(Pictures pictures,
            plan_pictures(form, {.size = facts.input.size}, {}, facts.input, facts.resize));
  KB_TRY(inferencer->set_frames(std::move(pictures), info, 1));
  const OwnedBuffer picture = drawn(info);
  if (picture == nullptr)
    return reject(ErrorKind::kNoResource, "Not enough memory for a picture of the model's size");
  KB_ASSIGN(const auto pending, inferencer->begin(picture.get(), 0, {}));
  return pending->finish();
}

/// Keeps the tensors' memory mapped.
class Mapped {
 public:
  explicit Mapped(const std::vector<InferredTensor>& tensors) : tensors_(tensors) {
    maps_.resize(tensors.size());
    for (size_t i = 0; i < tensors.size(); ++i)
      if (!gst_buffer_map(tensors[i].data.get(), &maps_[i], GST_MAP_READ)) maps_[i].data = nullptr;
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    for (size_t i = 0; i < maps_.size(); ++i)
      if (maps_[i].data != nullptr) gst_buffer_unmap(tensors_[i].data.get(), &maps_[i]);
  }

  std::vector<TensorView> views(const ModelDeclaration& declaration) const {
    std::vector<TensorView> out;
    for (size_t i = 0; i < tensors_.size(); ++i)
      out.push_back({.id = declaration.outputs[i].name,
                     .data = maps_[i].data,
                     .bytes = maps_[i].size,
                     .type = tensors_[i].type,
                     .shape = tensors_[i].shape});
    return out;
  }

 private:
  const std::vector<InferredTensor>& tensors_;
  std::vector<GstMapInfo> maps_;
};

}  // namespace

Result<FamilyOfModel> try_model(SessionSpec spec, const ModelDeclaration& declaration,
                                const ModelFacts& facts) {
  spec.provider = "cpu";
  KB_ASSIGN(const auto tensors, run_once(spec, facts));
  const Mapped mapped(tensors);
  Settings settings;
  settings.frame.size = facts.input.size;
  settings.label_count = static_cast<uint32_t>(facts.labels.size());
  KB_ASSIGN(const auto plan, make_plan(settings, mapped.views(declaration)));
  return FamilyOfModel{.name = std::string(plan.spec->name),
                       .input = plan.spec->input,
                       .caveat = std::string(plan.spec->input.caveat),
                       .why = "a trial run: " + plan.remark,
                       .sure = plan.basis != Basis::kShape};
}

}  // namespace keepbox
