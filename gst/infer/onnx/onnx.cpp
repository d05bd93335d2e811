// SPDX-License-Identifier: LGPL-2.1-or-later
// Sessions of ONNX Runtime behind the interface of all runtimes.
#include "gst/infer/onnx/onnx.h"

#include <utility>

#include "gst/infer/facts/modelports.h"
#include "gst/infer/onnx/session.h"

namespace keepbox {
namespace {

/// Values are in one vector of plain pointers, as the runtime takes them, so that a batch allocates
/// no second one.
class OnnxBoundRun : public BoundRun {
 public:
  OnnxBoundRun(const OnnxSession& session, const OrtRunOptions* options)
      : session_(session),
        options_(options),
        values_(session.declaration().inputs.size(), nullptr) {}
  OnnxBoundRun(const OnnxBoundRun&) = delete;
  OnnxBoundRun& operator=(const OnnxBoundRun&) = delete;
  ~OnnxBoundRun() override {
    for (OrtValue* value : values_) session_.runtime().release(value);
  }

  Status bind(size_t input, std::span<std::byte> data, DataType type,
              std::span<const int64_t> dims) override {
    KB_ASSIGN(auto value, session_.tensor(data.data(), data.size(), type, dims));
    session_.runtime().release(std::exchange(values_[input], value.release()));
    return {};
  }

  Result<std::vector<ModelOutput>> run() const override { return session_.run(values_, options_); }

 private:
  const OnnxSession& session_;
  const OrtRunOptions* options_;
  std::vector<OrtValue*> values_;  // by index; owned
};

class OnnxRuns : public ModelRuns {
 public:
  OnnxRuns(const OnnxSession& session, OnnxRunOptions options)
      : session_(session), options_(std::move(options)) {}

  std::unique_ptr<BoundRun> make() const override {
    return std::make_unique<OnnxBoundRun>(session_, options_.get());
  }
  void terminate(bool on) override { session_.runtime().terminate(options_.get(), on); }

 private:
  const OnnxSession& session_;
  OnnxRunOptions options_;
};

}  // namespace

Result<std::unique_ptr<ModelRuns>> OnnxSession::runs() const {
  KB_ASSIGN(auto options, run_options());
  return std::make_unique<OnnxRuns>(*this, std::move(options));
}

Result<const ModelRuntime*> load_onnx_runtime() { return OnnxRuntime::load(); }

Result<std::unique_ptr<ModelSession>> open_onnx_session(const SessionSpec& spec,
                                                        const std::string* model) {
  return OnnxSession::open(spec, nullptr, model);
}

Result<HostRun> HostRun::create(const ModelSession& session, const ModelRuns& runs,
                                const ModelFacts& facts, std::span<std::byte> pictures,
                                unsigned batch) {
  HostRun out;
  out.run_ = runs.make();
  const auto& ports = session.declaration().inputs;
  KB_TRY(out.run_->bind(facts.image_input, pictures, facts.input.type,
                        bound_dims(ports[facts.image_input], facts.input, batch)));
  for (const SizeInput& extra : facts.size_inputs) {
    const ModelPort& port = ports[extra.index];
    KB_ASSIGN(auto made, make_extra(port, extra.kind, facts.input.size, batch));
    KB_TRY(out.run_->bind(extra.index, made.values, *port.type, made.dims));
    out.extras_.push_back(std::move(made.memory));
  }
  return out;
}

}  // namespace keepbox
