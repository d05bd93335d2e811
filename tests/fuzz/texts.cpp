// SPDX-License-Identifier: LGPL-2.1-or-later
// Texts written by users or by exporters of models.
#include <glib.h>

#include "core/formula/box.h"
#include "gst/base/outfile.h"
#include "gst/decode/settings.h"
#include "gst/infer/facts/metadata.h"
#include "gst/infer/facts/modelinfo.h"
#include "gst/infer/onnx/externaldata.h"
#include "gst/sink/categories.h"
#include "gst/sink/names.h"
#include "gst/tensors/labels.h"
#include "tests/fuzz/damage.h"
#include "tests/fuzz/files.h"

namespace keepbox::fuzz {
namespace {

constexpr std::string_view kWordsOfTexts[]{"\n",
                                           "\r\n",
                                           " ",
                                           "\t",
                                           std::string_view("\0", 1),
                                           "\xff",
                                           "\xef\xbb\xbf",
                                           "nan",
                                           "inf",
                                           "1e999",
                                           "-1",
                                           "0x10",
                                           "9223372036854775808",
                                           "1e-50",
                                           "[",
                                           "]",
                                           "=",
                                           "[modelinfo]",
                                           "version=",
                                           "dims=",
                                           "PLACEHOLDER",
                                           ",",
                                           ";",
                                           "{",
                                           "}",
                                           "(",
                                           ")",
                                           "'",
                                           "\"",
                                           "\\",
                                           "\\x",
                                           "\\u12",
                                           "None",
                                           "%",
                                           "%d"};

template <class T>
void check(const char* what, const char* not_what, const Result<T>& read, const std::string& path) {
  count(read ? what : not_what);
  if (!read) check_error(read.error(), path);
}

std::string good_list(Input& input) {
  std::string text;
  const uint32_t kind = input.below(4);
  for (uint32_t i = input.below(20); i > 0; --i) {
    if (kind == 0) text += any_name(input);
    if (kind == 1) text += "0.1 0.5\t1e-3 .25";
    if (kind == 2) text += "1 2 3 4 5 6 7 8 9";
    if (kind == 3) text += std::to_string(int64_t{input.below(UINT32_MAX)} - 1000) + " name";
    text += input.chance(20) ? "\r\n" : "\n";
  }
  return text;
}

void use_labels(Input& input, const Labels& labels) {
  for (int i = 0; i < 4; ++i) {
    const char* name = g_quark_to_string(labels.quark(input.below(kMaxClasses)));
    if (name == nullptr || !is_utf8(name)) violated("a label that is not UTF-8");
  }
  const auto classes =
      labels.classes_of(damaged(input, "0, 1,person", kWordsOfTexts), "include-classes");
  if (classes)
    for (const uint32_t id : *classes)
      if (id >= kMaxClasses && id >= labels.size()) violated("a class that there cannot be");
  static_cast<void>(
      labels.thresholds_of(damaged(input, "person:0.5,2:0.3", kWordsOfTexts), "class-thresholds"));
}

}  // namespace

void lists(Input& input) {
  std::string text = good_list(input);
  if (input.chance(50)) text = damaged(input, text, kWordsOfTexts);
  const std::string path = folder().write("list.txt", text);
  const auto labels = Labels::load(path.c_str());
  check("labels read", "labels refused", labels, path);
  if (labels) use_labels(input, *labels);
  check("priors read", "priors refused", load_priors(path.c_str()), path);
  check("ids read", "ids refused", load_coco_ids(path.c_str(), "category-ids"), path);
  check("names read", "names refused", load_names(path.c_str(), "image-ids"), path);
}

/// Tests a model with weights in two files, a node and a subgraph, with random damage.
void model_files(Input& input) {
  static constexpr std::string_view kEntry(
      "j\x13\n\x08location\x12\x07"
      "w/a.bin",
      21);
  const auto message = [](char key, const std::string& of) {
    return std::string{key, static_cast<char>(of.size())} + of;
  };
  const std::string tensor = message(0x2a, "\x08\x03" + std::string(kEntry) + "p\x01");
  const std::string node = message(0x0a, message(0x2a, message(0x32, tensor) + tensor));
  const std::string good = "\x08\x08" + message(0x3a, node + tensor);
  const std::string path =
      folder().write("m.onnx", input.chance(10) ? good : damaged(input, good, kWordsOfTexts));
  check("models with weights read", "models refused", external_files(path), path);
}

void model_texts(Input& input) {
  static constexpr std::string_view kInfo =
      "# of a detector\n[modelinfo]\nversion=1.0\ngroup-id=yolo-v8-out\n\n[images]\nid=in\n"
      "type=float32\ndims=1,3,320,-1\ndir=input\nranges=0.0,255.0;-1,1;0.0,0.5\nsomething=else\n\n"
      "[out put/0]\nid = yolo-v8-out \ntype=int32\ndims=1, 10, "
      "2100\ndims-order=col-major\n[bare]\n";
  static constexpr std::string_view kNames[]{
      "{0: 'person', 1: \"traffic light\", 2: 'caf\\xe9'}",
      "['a', 'b', 'c']",
      "[320, 320]",
      "{'batch': 1, 'nms': True, 'half': None, 'x': (1, -2.5e3, [])}",
      "[17, 3]",
      "32"};
  const std::string info = damaged(input, std::string(kInfo), kWordsOfTexts);
  const std::string path =
      folder().write("m.onnx.modelinfo", input.chance(10) ? std::string(kInfo) : info);
  check("modelinfos read", "modelinfos refused", find_model_info(folder() / "m.onnx"), path);
  const auto text = [&] {
    const std::string good(input.pick(kNames));
    return input.chance(50) ? damaged(input, good, kWordsOfTexts) : good;
  };
  const auto declared = read_metadata({{"names", text()},
                                       {"imgsz", text()},
                                       {"stride", text()},
                                       {"kpt_shape", text()},
                                       {"args", text()},
                                       {"task", "detect"}});
  count(declared.labels.empty() ? "metadata without names" : "metadata with names");
  for (const std::string& label : declared.labels)
    if (!is_utf8(label) || label.contains('\0')) violated("a name that GLib cannot take");
  model_files(input);
}

void patterns(Input& input) {
  static constexpr std::string_view kPatterns[]{"a%d",
                                                "%06d.txt",
                                                "%n",
                                                "%s",
                                                "%d%d",
                                                "%0999d",
                                                "%018446744073709551616d",
                                                "%",
                                                "%%d",
                                                "%018d",
                                                "%0d",
                                                "%-5d",
                                                "%lld",
                                                "%5d",
                                                "x/%s.txt",
                                                "%s%s",
                                                "%Y-%m-%d/%H",
                                                "%05d-%s",
                                                "%F-%02d.%d",
                                                "%E",
                                                "%_d-%D"};
  std::string pattern(input.pick(kPatterns));
  if (input.chance(30)) pattern = damaged(input, pattern, kWordsOfTexts);
  const auto name = FilePattern::parse(pattern, FileSet::kPerFrame);
  count(name ? "patterns of frames" : "patterns refused");
  if (name && name->name(nullptr, int64_t{input.below(UINT32_MAX)} << 20).before.contains('%'))
    violated("a pattern of which something stays: " + pattern);
  const bool of_classes = input.chance(50);
  const auto files =
      FilePattern::parse(pattern, of_classes ? FileSet::kPerClass : FileSet::kSeries);
  count(files ? "patterns of files" : "patterns refused");
  if (!files) return check_error(files.error(), "");
  g_autoptr(GDateTime) time = g_date_time_new_utc(2026, 2, 3, 4, 5, 6);
  const FileName names = files->name(time, 7);
  if (!files->varies() && !of_classes && names.before.size() + 2 < pattern.size() &&
      !pattern.contains("%%"))
    violated("a pattern that loses text: " + pattern);
  const auto slashes = [](const std::string& text) { return std::ranges::count(text, '/'); };
  if (of_classes && slashes(ClassFiles(names).of(any_name(input))) !=
                        slashes(names.before) + slashes(names.after))
    violated("a class's file that leaves its folder");
}

}  // namespace keepbox::fuzz
