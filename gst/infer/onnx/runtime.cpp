// SPDX-License-Identifier: LGPL-2.1-or-later
// Finds ONNX Runtime, loads it without its lines about schemas, and routes its log to GStreamer's.
#include "gst/infer/onnx/runtime.h"

#include <gst/gst.h>
#include <onnxruntime_c_api.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <iostream>
#include <map>
#include <mutex>
#include <streambuf>
#include <string_view>
#include <thread>

#include "core/base/infile.h"
#include "gst/base/error.h"

GST_DEBUG_CATEGORY_EXTERN(tensorinfer_debug);

namespace keepbox {
namespace {

/// The API version that has all functions used here. The table only grows at its end, so that a
/// newer header is compatible with an older library.
constexpr uint32_t kApiVersion = 16;
static_assert(ORT_API_VERSION >= kApiVersion);
// The newest of them is the last of version 16 but one.
static_assert(offsetof(OrtApi, UpdateCUDAProviderOptionsWithValue) / sizeof(void*) == 263);

constexpr const char* kVariable = "KEEPBOX_ONNXRUNTIME";
constexpr const char* kInstall =
    "install ONNX Runtime (pip install onnxruntime, for CUDA onnxruntime-gpu; Debian: "
    "libonnxruntime1.21 or similar), "
    "or set KEEPBOX_ONNXRUNTIME in the environment to its libonnxruntime.so";
/// A model of one operator, as a file has it: version 8 of the format, operators of version 13.
constexpr unsigned char kSmallestModel[] = {
    0x08, 8,                                                                    // ir_version
    0x3a, 51,                                                                   // graph
    0x0a, 16, 0x0a, 1,   'x', 0x12, 1,   'y',                                   // node: x, y
    0x22, 8,  'I',  'd', 'e', 'n',  't', 'i',  't', 'y',                        // its operator
    0x12, 1,  'g',                                                              // name
    0x5a, 13, 0x0a, 1,   'x', 0x12, 8,   0x0a, 6,   0x08, 1, 0x12, 2, 0x0a, 0,  // input: float, [?]
    0x62, 13, 0x0a, 1,   'y', 0x12, 8,   0x0a, 6,   0x08, 1, 0x12, 2, 0x0a, 0,  // output
    0x42, 2,  0x10, 13};                                                        // opset_import
// Some distributions name the library by its full version.
constexpr int kOldestName = 16, kNewestName = 60;

void log(void*, OrtLoggingLevel level, const char* category, const char*, const char* where,
         const char* message) {
  const GstDebugLevel levels[] = {GST_LEVEL_LOG, GST_LEVEL_DEBUG, GST_LEVEL_INFO, GST_LEVEL_WARNING,
                                  GST_LEVEL_ERROR};
  GST_CAT_LEVEL_LOG(tensorinfer_debug, levels[std::clamp(static_cast<int>(level), 0, 4)], nullptr,
                    "%s: %s (%s)", category, message, where);
}

std::vector<std::string> names_to_try() {
  if (const char* set = g_getenv(kVariable); set != nullptr && *set != '\0') return {set};
  std::vector<std::string> names{"libonnxruntime.so.1", "libonnxruntime.so"};
  for (int minor = kNewestName; minor >= kOldestName; --minor)
    names.push_back("libonnxruntime.so.1." + std::to_string(minor));
  return names;
}

std::string one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

/// Returns the error for a library that is not loaded, which need not be missing.
std::unexpected<Error> not_loaded(const std::string& name, const std::string& reason) {
  const std::string hint = opening_hint(reason, kInstall);
  const std::string what = hint == kInstall ? "was not found" : "cannot be loaded";
  return file_error("ONNX Runtime " + what + " (" + name + "): " + reason, hint);
}

/// Returns the first reason that differs from the first name's, such as of a library that exists
/// but cannot be loaded. Most reasons begin with the name of the library.
const std::string& most_informative(const std::vector<std::string>& names,
                                    const std::vector<std::string>& reasons) {
  const auto rest = [&](size_t i) {
    const std::string& reason = reasons[i];
    return reason.starts_with(names[i]) ? reason.substr(names[i].size()) : reason;
  };
  for (size_t i = 1; i < reasons.size(); ++i)
    if (rest(i) != rest(0)) return reasons[i];
  return reasons.front();
}

}  // namespace

Result<const OnnxRuntime*> OnnxRuntime::load() {
  static std::mutex lock;
  static auto& loaded = *new std::map<std::string, const OnnxRuntime*>;
  const std::lock_guard guard(lock);
  if (tensorinfer_debug == nullptr)  // no element was created yet
    GST_DEBUG_CATEGORY_INIT(tensorinfer_debug, "tensorinfer", 0, "inference with ONNX Runtime");
  const auto names = names_to_try();
  if (const auto found = loaded.find(names.front()); found != loaded.end()) return found->second;
  const WithoutSchemaLines filter;
  std::vector<std::string> reasons;
  for (const std::string& name : names) {
    LateLibrary file(name.c_str());
    if (!file.loaded()) {
      reasons.push_back(file.why_not());
      continue;
    }
    auto opened = open(file);
    if (!opened) {
      opened.error().put_in(name);
      return opened;
    }
    GST_CAT_INFO(tensorinfer_debug, "%s from %s", (*opened)->name().c_str(), name.c_str());
    return loaded[names.front()] = *opened;
  }
  return not_loaded(names.front(), most_informative(names, reasons));
}

Result<const OnnxRuntime*> OnnxRuntime::open(LateLibrary& library) {
  const OrtApiBase* (*base)() = library.find("OrtGetApiBase");
  if (base == nullptr) return file_error("The library is not ONNX Runtime", kInstall);
  const OrtApi* api = base()->GetApi(kApiVersion);
  if (api == nullptr)
    return file_error(std::string("ONNX Runtime ") + base()->GetVersionString() +
                          " is too old: 1." + std::to_string(kApiVersion) + " or newer is needed",
                      kInstall);
  auto runtime = std::unique_ptr<OnnxRuntime>(new OnnxRuntime(api, base()->GetVersionString()));
  KB_TRY(runtime->start());
  runtime->register_schemas();
  return runtime.release();
}

/// Makes a first session, in which the library registers the schemas of operators. Debian's does so
/// twice, once by its libonnx, and writes two lines about each to std::cerr.
void OnnxRuntime::register_schemas() const {
  OrtSessionOptions* options = nullptr;
  if (OrtStatus* failed = api_->CreateSessionOptions(&options)) return api_->ReleaseStatus(failed);
  const OnnxOwned<OrtSessionOptions> owner(options, api_->ReleaseSessionOptions);
  OrtSession* session = nullptr;
  OrtStatus* failed = api_->SetIntraOpNumThreads(options, 1);
  if (failed == nullptr)
    failed = api_->CreateSessionFromArray(env_, kSmallestModel, sizeof kSmallestModel, options,
                                          &session);
  if (failed == nullptr) return api_->ReleaseSession(session);
  GST_CAT_WARNING(tensorinfer_debug, "%s", api_->GetErrorMessage(failed));
  api_->ReleaseStatus(failed);
}

Status OnnxRuntime::start() {
  KB_TRY(check(
      api_->CreateEnvWithCustomLogger(log, nullptr, ORT_LOGGING_LEVEL_WARNING, "keepbox", &env_),
      name_ + " does not start", kInstall));
  KB_TRY(check(api_->GetAllocatorWithDefaultOptions(&allocator_), "ONNX Runtime has no allocator",
               kInstall));
  char** names = nullptr;
  int count = 0;
  KB_TRY(check(api_->GetAvailableProviders(&names, &count),
               "ONNX Runtime does not list its providers", kInstall));
  providers_.assign(names, names + count);
  return check(api_->ReleaseAvailableProviders(names, count),
               "ONNX Runtime does not list its providers", kInstall);
}

bool OnnxRuntime::has_provider(const std::string& name) const {
  return std::ranges::contains(providers_, name);
}

Status OnnxRuntime::check(OrtStatus* status, const std::string& what, std::string hint) const {
  if (status == nullptr) return {};
  const std::string why = one_line(api_->GetErrorMessage(status));
  api_->ReleaseStatus(status);
  return file_error(what + ": " + why, opening_hint(why, std::move(hint)));
}

void OnnxRuntime::terminate(OrtRunOptions* options, bool on) const {
  OrtStatus* failed =
      on ? api_->RunOptionsSetTerminate(options) : api_->RunOptionsUnsetTerminate(options);
  if (failed != nullptr) api_->ReleaseStatus(failed);
}

std::string OnnxRuntime::taken_text(char* text) const {
  if (text == nullptr) return {};
  std::string out(text);
  if (OrtStatus* status = api_->AllocatorFree(allocator_, text)) api_->ReleaseStatus(status);
  return out;
}

class SchemaLineFilter final : public std::streambuf {
 public:
  explicit SchemaLineFilter(std::streambuf* to) : to_(to) {}

  std::streambuf* to() const { return to_; }
  /// Passes the rest of a line, and from now on everything.
  void end() {
    to_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    line_.clear();
    thread_ = std::thread::id();
  }

 protected:
  std::streamsize xsputn(const char* text, std::streamsize count) override {
    if (std::this_thread::get_id() != thread_) return to_->sputn(text, count);
    for (const char each : std::string_view(text, static_cast<size_t>(count))) add(each);
    return count;
  }
  int_type overflow(int_type value) override {
    if (traits_type::eq_int_type(value, traits_type::eof())) return traits_type::not_eof(value);
    const char text = traits_type::to_char_type(value);
    return xsputn(&text, 1) == 1 ? value : traits_type::eof();
  }
  int sync() override { return to_->pubsync(); }

 private:
  void add(char next) {
    line_ += next;
    if (next != '\n') return;
    const bool schema = line_.starts_with("Schema error");
    if (!schema && !(dropped_ && line_ == "\n"))
      to_->sputn(line_.data(), static_cast<std::streamsize>(line_.size()));
    dropped_ = schema;
    line_.clear();
  }

  std::streambuf* const to_;
  std::atomic<std::thread::id> thread_ = std::this_thread::get_id();
  std::string line_;      // of that thread
  bool dropped_ = false;  // the line before was of that kind
};

// The filter is never destroyed, because another thread may be writing through it.
WithoutSchemaLines::WithoutSchemaLines() {
  if (std::cerr.rdbuf() == nullptr) return;  // silenced by the application
  filter_ = new SchemaLineFilter(std::cerr.rdbuf());
  std::cerr.rdbuf(filter_);
}

WithoutSchemaLines::~WithoutSchemaLines() {
  if (filter_ == nullptr) return;
  if (std::cerr.rdbuf() == filter_) std::cerr.rdbuf(filter_->to());
  filter_->end();
}

}  // namespace keepbox
