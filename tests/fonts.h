// SPDX-License-Identifier: LGPL-2.1-or-later
// Fonts of a test, in place of the host's.
#pragma once

#include <fontconfig/fontconfig.h>

#include <initializer_list>
#include <string>

namespace keepbox::test {

/// Returns the file of a family of the host; another family's if it has none.
inline std::string font_file(const char* family) {
  FcPattern* wanted = FcNameParse(reinterpret_cast<const FcChar8*>(family));
  FcConfigSubstitute(nullptr, wanted, FcMatchPattern);
  FcDefaultSubstitute(wanted);
  FcResult result = FcResultNoMatch;
  FcPattern* found = FcFontMatch(nullptr, wanted, &result);
  FcPatternDestroy(wanted);
  FcChar8* file = nullptr;
  if (found != nullptr) FcPatternGetString(found, FC_FILE, 0, &file);
  std::string out = file != nullptr ? reinterpret_cast<const char*>(file) : "";
  if (found != nullptr) FcPatternDestroy(found);
  return out;
}

/// Makes these files the only fonts, without the host's rules, for as long as it exists. Only what
/// is opened meanwhile has them.
class OnlyFonts {
 public:
  explicit OnlyFonts(std::initializer_list<std::string> files) {
    FcConfig* config = FcConfigCreate();
    for (const std::string& file : files)
      FcConfigAppFontAddFile(config, reinterpret_cast<const FcChar8*>(file.c_str()));
    FcConfigSetCurrent(config);
    FcConfigDestroy(config);
  }
  ~OnlyFonts() {
    FcConfigSetCurrent(before_);
    FcConfigDestroy(before_);
  }
  OnlyFonts(const OnlyFonts&) = delete;
  OnlyFonts& operator=(const OnlyFonts&) = delete;

 private:
  FcConfig* before_ = FcConfigReference(nullptr);
};

}  // namespace keepbox::test
