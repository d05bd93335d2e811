// SPDX-License-Identifier: LGPL-2.1-or-later
// Plays, stops and starts the pipelines.
#include "tests/soak/streams.h"

namespace keepbox::soak {
namespace {

constexpr GstClockTime kWait = 10 * GST_MSECOND, kLongest = 60 * GST_SECOND;
/// Formats with different code paths to the model.
constexpr const char* kFormats[] = {"RGB", "NV12", "I420", "BGRx"};

std::string description(const std::string& model, size_t number) {
  return std::string("videotestsrc pattern=ball ! video/x-raw,width=320,height=240,format=") +
         kFormats[number % std::size(kFormats)] + " ! tensorinfer model-file=" + model +
         " ! queue max-size-buffers=2 ! boxdecode ! tee name=boxes ! queue ! fakesink name=sink"
         " boxes. ! queue ! boxsink location=/dev/null";
}

std::string error_of(GstMessage* message) {
  g_autoptr(GError) error = nullptr;
  gst_message_parse_error(message, &error, nullptr);
  gst_message_unref(message);
  return error->message;
}

}  // namespace

Stream::Stream(const std::string& model, size_t number) {
  GError* error = nullptr;
  pipeline_ = gst_parse_launch(description(model, number).c_str(), &error);
  if (error != nullptr) g_error("%s", error->message);
  bus_ = gst_element_get_bus(pipeline_);
  g_autoptr(GstElement) sink = gst_bin_get_by_name(GST_BIN(pipeline_), "sink");
  g_autoptr(GstPad) pad = gst_element_get_static_pad(sink, "sink");
  gst_pad_add_probe(pad, GST_PAD_PROBE_TYPE_BUFFER, on_frame, this, nullptr);
}

Stream::~Stream() {
  stop();
  gst_object_unref(bus_);
  gst_object_unref(pipeline_);
}

GstPadProbeReturn Stream::on_frame(GstPad*, GstPadProbeInfo*, gpointer stream) {
  ++static_cast<Stream*>(stream)->frames_;
  return GST_PAD_PROBE_OK;
}

std::string Stream::start() {
  const uint64_t before = frames_;
  gst_element_set_state(pipeline_, GST_STATE_PLAYING);
  for (GstClockTime waited = 0; frames_ == before; waited += kWait) {
    if (GstMessage* message = gst_bus_timed_pop_filtered(bus_, kWait, GST_MESSAGE_ERROR))
      return error_of(message);
    if (waited > kLongest) return "no frame in a minute";
  }
  return "";
}

Streams::Streams(const std::string& model) : keeper_(model, 0) {
  for (size_t i = 0; i < kStreams; ++i) streams_.push_back(std::make_unique<Stream>(model, i));
}

std::string Streams::load() {
  std::string error = keeper_.start();
  keeper_.pause();
  return error;
}

std::string Streams::cycle() {
  std::string error;
  for (size_t round = 0; round < kRestarts / kStreams && error.empty(); ++round)
    for (auto& stream : streams_) {
      stream->stop();
      if (error = stream->start(); !error.empty()) break;
    }
  for (auto& stream : streams_) stream->stop();
  return error;
}

}  // namespace keepbox::soak
