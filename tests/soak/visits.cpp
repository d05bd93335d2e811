// SPDX-License-Identifier: LGPL-2.1-or-later
// Plays the rounds.
#include "tests/soak/visits.h"

#include <utility>

namespace keepbox::soak {
namespace {

constexpr GstClockTime kLongestVisit = 60 * GST_SECOND;
/// Varies pipelines by numbers of kinds that have no common divisor.
constexpr const char* kPictures[] = {"RGB", "NV12", "I420", "BGRx", "GRAY8"};
constexpr const char* kSizes[] = {"width=160,height=120", "width=96,height=64",
                                  "width=64,height=96"};
constexpr const char* kKinds[] = {"", "tiles=2x1", "lookahead=3", ""};

std::string description(const std::string& model, unsigned number, unsigned frames) {
  return "videotestsrc pattern=ball num-buffers=" + std::to_string(frames) +
         " ! video/x-raw,format=" + kPictures[number % std::size(kPictures)] + "," +
         kSizes[number % std::size(kSizes)] +
         " ! tensorinfer provider=cpu threads=1 batch-size=4 " +
         kKinds[number % std::size(kKinds)] + " model-file=" + model +
         " ! queue max-size-buffers=2 ! boxdecode ! fakesink name=sink";
}

}  // namespace

class Visits::Visitor {
 public:
  Visitor(const std::string& text, std::atomic<uint64_t>& frames) : frames_(frames) {
    GError* error = nullptr;
    pipeline_ = gst_parse_launch(text.c_str(), &error);
    if (error != nullptr) g_error("%s", error->message);
    bus_ = gst_element_get_bus(pipeline_);
    g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
    g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");
    gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, this, nullptr);
  }
  Visitor(const Visitor&) = delete;
  Visitor& operator=(const Visitor&) = delete;
  ~Visitor() {
    gst_element_set_state(pipeline_, GST_STATE_NULL);
    gst_object_unref(bus_);
    gst_object_unref(pipeline_);
  }

  void start(GstState state) { gst_element_set_state(pipeline_, state); }

  /// Waits for the first frame, or for the end. @return the error's text, or "".
  std::string await(GstMessageType what) {
    GstMessage* message = gst_bus_timed_pop_filtered(
        bus_, kLongestVisit, static_cast<GstMessageType>(what | GST_MESSAGE_ERROR));
    if (message == nullptr) return "no end in a minute";
    std::string text;
    if (GST_MESSAGE_TYPE(message) == GST_MESSAGE_ERROR) {
      g_autoptr(GError) error = nullptr;
      gst_message_parse_error(message, &error, nullptr);
      text = error->message;
    }
    gst_message_unref(message);
    return text;
  }

 private:
  static GstPadProbeReturn on_frame(GstPad*, GstPadProbeInfo*, gpointer visitor) {
    ++static_cast<Visitor*>(visitor)->frames_;
    return GST_PAD_PROBE_OK;
  }

  GstElement* pipeline_;
  GstBus* bus_;
  std::atomic<uint64_t>& frames_;
};

Visits::Visits(std::string model) : model_(std::move(model)) {}

Visits::~Visits() = default;

std::unique_ptr<Visits::Visitor> Visits::come(unsigned frames) {
  auto out = std::make_unique<Visitor>(description(model_, number_++, frames), frames_);
  out->start(GST_STATE_PLAYING);
  return out;
}

std::string Visits::load() {
  keeper_ = std::make_unique<Visitor>(description(model_, 0, kFrames), frames_);
  keeper_->start(GST_STATE_PAUSED);
  return keeper_->await(GST_MESSAGE_ASYNC_DONE);
}

std::string Visits::round() {
  std::unique_ptr<Visitor> places[] = {come(kFrames), come(kFrames), come(kFrames), come(kFrames)};
  std::string error = places[0]->await(GST_MESSAGE_EOS);
  places[0] = come(kFrames);
  places[1].reset();
  places[1] = come(kFrames);
  for (auto& each : places)
    if (error.empty()) error = each->await(GST_MESSAGE_EOS);
  return error;
}

}  // namespace keepbox::soak
