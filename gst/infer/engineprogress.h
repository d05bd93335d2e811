// SPDX-License-Identifier: LGPL-2.1-or-later
// Progress messages of TensorRT.
#pragma once

#include <gst/gst.h>

#include "gst/infer/provider.h"

namespace keepbox {

/// Posts progress messages while a provider builds engines, which may take minutes.
class EngineProgress {
 public:
  EngineProgress(GstElement* element, const ProviderChoice& provider)
      : element_(provider.tensorrt() ? element : nullptr) {
    post(GST_PROGRESS_TYPE_START,
         "building TensorRT engines, or reading those of an earlier start");
  }
  ~EngineProgress() { end(GST_PROGRESS_TYPE_CANCELED, "no longer waiting for TensorRT engines"); }
  EngineProgress(const EngineProgress&) = delete;
  EngineProgress& operator=(const EngineProgress&) = delete;

  void done() { end(GST_PROGRESS_TYPE_COMPLETE, "TensorRT engines are ready"); }
  void failed() { end(GST_PROGRESS_TYPE_ERROR, "TensorRT cannot run the model"); }

 private:
  void post(GstProgressType type, const char* text) const {
    if (element_ == nullptr) return;
    gst_element_post_message(element_,
                             gst_message_new_progress(GST_OBJECT(element_), type, "engine", text));
  }
  void end(GstProgressType type, const char* text) {
    post(type, text);
    element_ = nullptr;
  }

  GstElement* element_;
};

}  // namespace keepbox
