// SPDX-License-Identifier: LGPL-2.1-or-later
// The texts of warnings about models.
#include "gst/infer/modelwarnings.h"

#include <format>

#include "gst/base/error.h"
#include "gst/metas/attachboxes.h"

namespace keepbox {

void ModelWarnings::post(const std::string& key, const Error& error) {
  if (posted_.insert(key).second) post_warning(element_, error);
}

void ModelWarnings::guesses(const InferProps& props, const ModelFacts& facts) {
  const auto warn = [&](const Error& error) { post(error.message(), error); };
  if (!facts.assumed.empty()) warn(assumption(facts, props.model_file));
  for (const std::string& text : facts.warnings)
    warn(problem(ErrorKind::kUnsupported,
                 "the metadata of " + props.model_file + " is incomplete: " + text,
                 "export the model again, or set what is missing, such as label-file= of boxdecode "
                 "for class names"));
}

void ModelWarnings::no_boxes(const Objects& objects) {
  constexpr unsigned kFrames = 30;
  if (objects.without_boxes() != kFrames) return;
  post("no boxes", problem(ErrorKind::kMismatch,
                           std::format("regions=objects found no boxes on {} frames", kFrames),
                           "put a detector before it: tensorinfer ! boxdecode"));
}

void ModelWarnings::left_out_tensors(size_t count) {
  if (count == 0) return;
  post("tensor-mtd",
       problem(ErrorKind::kUnsupported,
               std::format("{} tensors are not attached to their objects: a frame can "
                           "have {} boxes and tensors",
                           count, kMaxMtds),
               "lower max-objects="));
}

void ModelWarnings::no_batches(const InferProps& props, const Error& why) {
  if (props.batch_size <= 1) return;
  const bool named = why.hint.contains("batch-size=1");
  post(why.message(),
       problem(ErrorKind::kUnsupported,
               std::format("batch-size={} has no effect: {}", props.batch_size, why.statement()),
               why.hint + (named ? "" : ", or set batch-size=1")));
}

}  // namespace keepbox
