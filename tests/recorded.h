// SPDX-License-Identifier: LGPL-2.1-or-later
// Real tensors with known boxes, if KEEPBOX_TEST_DATA has them.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace keepbox::test {

inline std::filesystem::path data_folder() {
  const char* folder = std::getenv("KEEPBOX_TEST_DATA");
  return folder != nullptr ? folder : "";
}

inline bool have_data() {
  return !data_folder().empty() && std::filesystem::exists(data_folder() / "expected.json");
}

inline std::vector<char> read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline nlohmann::json read_json(const std::filesystem::path& path) {
  std::ifstream file(path);
  return nlohmann::json::parse(file);
}

/// One entry of expected.json, with this project's names.
struct Recorded {
  std::string name;
  std::vector<std::filesystem::path> files;  // one per tensor
  std::vector<std::vector<size_t>> dims;     // per tensor
  std::string detector;
  unsigned width = 0, height = 0;  // of the model input
  float score_threshold = 0, iou_threshold = 0;
  unsigned candidates = 0;
  nlohmann::json boxes;  // anchor, class, label, score, xyxy, frame_xyxy
  nlohmann::json whole;
};

inline Recorded make_recorded(const std::string& name, const nlohmann::json& entry) {
  Recorded out{.name = name, .boxes = entry["boxes"], .whole = entry};
  const std::string family = entry["family"];
  if (const size_t brace = name.find("{0,1}"); brace != name.npos) {
    for (const char* part : {"0", "1"})
      out.files.push_back(data_folder() / std::string(name).replace(brace, 5, part));
    for (const auto& dims : entry["dims"]) out.dims.push_back(dims);
  } else {
    out.files.push_back(data_folder() / name);
    out.dims.push_back(entry["dims"]);
  }
  out.detector = family.starts_with("yolov5")   ? "yolov5"
                 : family.starts_with("yolov8") ? "yolov8"
                 : family.starts_with("end")    ? "yolov10"
                 : family.starts_with("ssd")    ? "ssd"
                                                : "yolox";
  out.width = entry["model_input"][0];
  out.height = entry["model_input"][1];
  out.score_threshold = entry["score_threshold"];
  out.iou_threshold =
      entry["iou_threshold"].is_null() ? 0.45f : entry["iou_threshold"].get<float>();
  out.candidates = entry["candidates"];
  return out;
}

/// Returns all entries; empty without the data.
inline std::vector<Recorded> recorded() {
  std::vector<Recorded> out;
  if (!have_data()) return out;
  const nlohmann::json expected = read_json(data_folder() / "expected.json");
  for (const auto& [name, entry] : expected.items())
    if (entry.is_object() && entry.contains("boxes")) out.push_back(make_recorded(name, entry));
  return out;
}

}  // namespace keepbox::test
