// SPDX-License-Identifier: LGPL-2.1-or-later
// Runs pipelines and observes their pads.
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "tests/bench/infer/infer.h"
#include "tests/bench/infer/infer_stats.h"
#include "tests/bench/infer/infer_stream.h"

namespace keepbox::test {
namespace {

constexpr auto kFramePeriod = std::chrono::duration<double>(1 / kFramesPerSecond);
constexpr size_t kSampledOnGpu = 8;
constexpr auto kPatience = std::chrono::seconds(300);

class Run {
 public:
  Run(const Options& options, const Way& way, int streams, int count)
      : options_(options), way_(way), count_(count), streams_(streams) {}
  ~Run();

  std::string build(const Frames& frames);
  /// Plays. @return an error, or nothing at EOS.
  std::string play();
  Figures figures() const;

  void pass_gate(Stream& stream, GstBuffer* buffer);
  void enter(Stream& stream, GstBuffer* buffer) {
    if (started_) stream.enter(buffer);
  }
  void leave(Stream& stream, GstBuffer* buffer) {
    stream.leave(buffer, way_.cuda ? kSampledOnGpu : 1);
  }

 private:
  using Handler = void (*)(Run&, Stream&, GstBuffer*);
  void watch(Stream& stream, const std::string& element, const char* pad, Handler handler);
  void prepare(Stream& stream, const Frames& frames);
  void meet();
  void begin_warmup();
  void start();
  void load(GstBus* bus);
  Owned<GstElement> element(const std::string& name) const {
    return Owned<GstElement>(gst_bin_get_by_name(GST_BIN(pipeline_.get()), name.c_str()));
  }
  Sums sums() const {
    Sums out;
    for (const Stream& stream : streams_) out.add(stream.infer.get(), stream.boxes.get());
    return out;
  }

  const Options& options_;
  const Way& way_;
  int count_;
  std::vector<Stream> streams_;
  Owned<GstElement> pipeline_;
  std::mutex lock_;
  std::condition_variable go_;
  size_t waiting_ = 0;
  std::atomic<bool> started_ = false;
  bool over_ = false;
  bool loaded_ = true;  // sources in real time may begin
  Clock::time_point warmup_start_, start_;
  Sums at_start_, at_end_;
  std::unique_ptr<GpuMeter> meter_;
  double cpu_seconds_ = 0, gpu_percent_ = -1;
};

Run::~Run() {
  if (pipeline_) gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
}

void Run::watch(Stream& stream, const std::string& name, const char* pad_name, Handler handler) {
  struct Call {
    Run& run;
    Stream& stream;
    Handler handler;
  };
  const auto owner = element(numbered(name, stream.number));
  const Owned<GstPad> pad(gst_element_get_static_pad(owner.get(), pad_name));
  gst_pad_add_probe(
      pad.get(), GST_PAD_PROBE_TYPE_BUFFER,
      [](GstPad*, GstPadProbeInfo* info, gpointer data) {
        auto& call = *static_cast<Call*>(data);
        call.handler(call.run, call.stream, gst_pad_probe_info_get_buffer(info));
        return GST_PAD_PROBE_OK;
      },
      new Call{*this, stream, handler}, [](gpointer call) { delete static_cast<Call*>(call); });
}

void Run::prepare(Stream& stream, const Frames& frames) {
  stream.infer = element(numbered("infer%", stream.number));
  stream.boxes = element(numbered("boxes%", stream.number));
  if (const auto source = element(numbered("source%", stream.number)))
    feed(source.get(), frames, -1, way_.objects);
  watch(stream, "gate%", "src", [](Run& r, Stream& s, GstBuffer* b) { r.pass_gate(s, b); });
  if (!way_.paced)
    watch(stream, way_.entry, "sink", [](Run& r, Stream& s, GstBuffer* b) { r.enter(s, b); });
  watch(stream, "infer%", "sink", [](Run&, Stream& s, GstBuffer* b) { s.reach_model(b); });
  watch(stream, "infer%", "src", [](Run&, Stream& s, GstBuffer*) { s.leave_model(); });
  watch(stream, way_.exit, "src", [](Run& r, Stream& s, GstBuffer* b) { r.leave(s, b); });
}

std::string Run::build(const Frames& frames) {
  const std::string source = way_.source.empty() ? "appsrc name=source% ! " : way_.source;
  const std::string queue =
      way_.paced ? "queue leaky=downstream max-size-buffers=2 max-size-bytes=0 max-size-time=0 ! "
                 : "";
  std::string text;
  for (size_t i = 0; i < streams_.size(); ++i)
    text += numbered(
        source + "identity name=gate% eos-after=" + std::to_string(options_.warmup + count_ + 1) +
            " ! " + queue + way_.before + way_.chain + " ! fakesink sync=false ",
        static_cast<int>(i));
  GError* error = nullptr;
  pipeline_.reset(gst_parse_launch(text.c_str(), &error));
  if (error != nullptr) {
    const std::string why = error->message;
    g_clear_error(&error);
    return why;
  }
  for (size_t i = 0; i < streams_.size(); ++i) {
    streams_[i].number = static_cast<int>(i);
    prepare(streams_[i], frames);
  }
  return {};
}

/// Starts the measurement for all streams once the last one is warm.
void Run::meet() {
  std::unique_lock guard(lock_);
  go_.wait(guard, [&] { return loaded_ || over_; });
  if (++waiting_ == streams_.size()) {
    at_start_ = sums();
    cpu_seconds_ = process_seconds();
    meter_ = std::make_unique<GpuMeter>();
    start_ = Clock::now();
    started_ = true;
    go_.notify_all();
  }
  go_.wait(guard, [&] { return started_ || over_; });
}

/// Waits for the models. The first stream sets the time at which the warm-up begins.
void Run::begin_warmup() {
  std::unique_lock guard(lock_);
  go_.wait(guard, [&] { return loaded_ || over_; });
  if (warmup_start_ == Clock::time_point()) warmup_start_ = Clock::now();
}

void Run::pass_gate(Stream& stream, GstBuffer* buffer) {
  const int number = stream.arrived++ - options_.warmup;
  if (number == 0) meet();
  if (!way_.paced) return;
  // The warm-up, too: otherwise most of its frames would be dropped, some streams' all.
  if (stream.arrived == 1) begin_warmup();
  const double offset = static_cast<double>(stream.number) / static_cast<double>(streams_.size());
  const auto& begin = number < 0 ? warmup_start_ : start_;
  const int since = number < 0 ? number + options_.warmup : number;
  std::this_thread::sleep_until(begin + kFramePeriod * (since + offset));
  if (number >= 0) enter(stream, buffer);
}

/// Waits until all models are loaded, so that no frame of a live source is late because of that.
void Run::load(GstBus* bus) {
  gst_element_set_state(pipeline_.get(), GST_STATE_PAUSED);
  for (size_t loaded = 0; loaded < streams_.size();) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus, std::chrono::nanoseconds(kPatience).count(),
        static_cast<GstMessageType>(int{GST_MESSAGE_ELEMENT} | int{GST_MESSAGE_ERROR}));
    if (message == nullptr) return;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      gst_bus_post(bus, message);  // for play()
      return;
    }
    loaded += gst_message_has_name(message, "tensorinfer-model");
    gst_message_unref(message);
  }
}

std::string Run::play() {
  const Owned<GstBus> bus(gst_element_get_bus(pipeline_.get()));
  loaded_ = !way_.paced;
  if (way_.paced) load(bus.get());
  {
    const std::lock_guard guard(lock_);
    loaded_ = true;
  }
  go_.notify_all();
  gst_element_set_state(pipeline_.get(), GST_STATE_PLAYING);
  GstMessage* message = gst_bus_timed_pop_filtered(
      bus.get(), std::chrono::nanoseconds(kPatience).count(),
      static_cast<GstMessageType>(int{GST_MESSAGE_EOS} | int{GST_MESSAGE_ERROR}));
  cpu_seconds_ = process_seconds() - cpu_seconds_;
  if (meter_) gpu_percent_ = meter_->mean();
  at_end_ = sums();
  std::string why = message == nullptr ? "no end after 300 s"
                    : started_         ? ""
                                       : "the clip is too short";
  if (message != nullptr && GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
    GError* error = nullptr;
    gst_message_parse_error(message, &error, nullptr);
    why = error->message;
    g_clear_error(&error);
  }
  if (message != nullptr) gst_message_unref(message);
  {
    const std::lock_guard guard(lock_);
    over_ = true;
  }
  go_.notify_all();
  gst_element_set_state(pipeline_.get(), GST_STATE_NULL);
  return why;
}

Figures Run::figures() const {
  const auto per = [](double sum, double count) { return count > 0 ? sum / count : 0; };
  double seconds = 0;
  Figures out = figures_of(streams_, start_, seconds);
  const double decoded = at_end_.decoded - at_start_.decoded;
  out.boxes = per(at_end_.boxes - at_start_.boxes, decoded);
  out.zero_copy = at_end_.zero_copy - at_start_.zero_copy;
  out.uploaded = at_end_.uploaded - at_start_.uploaded;
  out.downloaded = at_end_.downloaded - at_start_.downloaded;
  out.batch = at_end_.batch;
  out.fill = per(at_end_.batched - at_start_.batched, at_end_.batches - at_start_.batches);
  out.cpu_ms = per(cpu_seconds_ * 1e3, out.frames);
  out.processors = per(cpu_seconds_, seconds);
  out.gpu_percent = gpu_percent_;
  out.provider = at_end_.provider;
  out.runtime = at_end_.runtime;
  out.graph = at_end_.graph;
  return out;
}

}  // namespace

Measured measure(const Options& options, const Way& way, const Frames& frames, int streams,
                 int count) {
  Run run(options, way, streams, count);
  std::string why = run.build(frames);
  if (why.empty()) why = run.play();
  if (!why.empty()) return std::unexpected(std::move(why));
  const Figures figures = run.figures();
  if (figures.frames == 0) return std::unexpected("no frame came out");
  return figures;
}

}  // namespace keepbox::test
