// SPDX-License-Identifier: LGPL-2.1-or-later
// Composes the text of an error.
#include "core/base/result.h"

namespace keepbox {
namespace {

/// Returns the text with a capital letter at its beginning and a full stop.
std::string sentence(std::string text) {
  if (text.front() >= 'a' && text.front() <= 'z') text.front() += 'A' - 'a';
  return text + '.';
}

}  // namespace

std::string Error::statement() const {
  return what.empty() ? "expected " + expected + ", found " + found : what;
}

std::string Error::message() const {
  const std::string text = (place.empty() ? "" : place + ": ") + statement();
  if (hint.empty()) return text;
  if (what.empty()) return text + ": " + hint;
  return text + (text.ends_with('.') ? " " : ". ") + sentence(hint);
}

Error& Error::add(std::string_view words) {
  (what.empty() ? expected : what).append(" ").append(words);
  return *this;
}

Error& Error::put_in(std::string_view outer) {
  place = std::string(outer) + (place.empty() ? "" : ": " + place);
  return *this;
}

}  // namespace keepbox
