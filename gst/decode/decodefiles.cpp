// SPDX-License-Identifier: LGPL-2.1-or-later
// Reads files when their names change.
#include "gst/decode/decodefiles.h"

#include <utility>

#include "gst/decode/priors.h"

namespace keepbox {
namespace {

template <class Content, class Load>
Status load_once(std::string& loaded, const std::string& path, Content& content, Load load) {
  if (path == loaded) return {};
  content = Content();
  loaded.clear();
  if (path.empty()) return {};
  auto read = load(path.c_str());
  if (!read) return std::unexpected(read.error());
  content = std::move(*read);
  loaded = path;
  return {};
}

}  // namespace

Result<Settings> DecodeFiles::settings(const DecodeProps& props, const Picture& frame) {
  KB_TRY(load_once(labels_path_, props.label_file, labels_, Labels::load));
  KB_TRY(load_once(priors_path_, props.priors_file, priors_, load_priors));
  auto out = resolve(props, labels_, frame);
  if (out) out->priors = priors_;
  return out;
}

}  // namespace keepbox
