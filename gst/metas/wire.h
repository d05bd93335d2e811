// SPDX-License-Identifier: LGPL-2.1-or-later
// Boxes of a frame as bytes, for other processes.
#pragma once

#include <gst/gst.h>

#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include "core/base/result.h"
#include "gst/metas/counts.h"

namespace keepbox {

// The boxes of a frame as bytes, in which they reach another process of the host.

/// Version of the bytes; readers know no other one. To be raised with every change of these.
inline constexpr guint8 kWireVersion = 5;

/// Properties of a packed box, as bits.
enum WireFlags : guint16 {
  kWireClass = 1,
  kWireAnchor = 2,
  kWireUnnamed = 4,
  kWireHeld = 8,
  kWirePredicted = 16,
  kWireTrack = 32,
  kWireLost = 64,
  kWireCoco = 128,
};
inline constexpr guint32 kNoParent = G_MAXUINT32;

/// Returns the boxes of a buffer, whichever decoder wrote them, with masks, keypoints, values,
/// tracks, classes and parents; boxes below the score threshold; the results of classifiers and
/// text recognisers about the frame; the models that did not look at it; and its counts.
std::vector<guint8> pack_boxes(GstBuffer* buffer);

/// Attaches packed boxes to a buffer without a relation meta.
/// @param bytes may be anything. After an error nothing is attached.
Status unpack_boxes(std::span<const guint8> bytes, GstBuffer* buffer);

/// Returns counts alone as bytes, and counts of bytes that may be anything.
std::vector<guint8> pack_counts(const FrameCounts& counts);
Result<FrameCounts> unpack_counts(std::span<const guint8> bytes);

// Names from other processes, as quarks.

/// The maximum number of names from other processes that this one did not know, for as long as it
/// runs: quarks are never freed.
inline constexpr size_t kMaxWireNames = 65536;

/// Returns the quark of a name; 0 for an empty one, and for further unknown ones after
/// kMaxWireNames, of which a warning is logged once. For any thread.
GQuark quark_from_wire(std::string_view name);

// Values as bytes between processes of one host, in its own byte order.

class ByteWriter {
 public:
  template <class T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    const auto* at = reinterpret_cast<const guint8*>(&value);
    bytes_.insert(bytes_.end(), at, at + sizeof value);
  }
  void put_count(gsize count) { put(static_cast<guint32>(count)); }
  /// Texts are cut to this many bytes.
  static constexpr gsize kMaxText = 1024;
  void put_text(std::string_view text) {
    text = text.substr(0, kMaxText);
    put_count(text.size());
    bytes_.insert(bytes_.end(), text.begin(), text.end());
  }
  void put_name(GQuark name) {
    const gchar* text = g_quark_to_string(name);
    put_text(text != nullptr ? text : "");
  }

  std::span<const guint8> bytes() const { return bytes_; }

 private:
  std::vector<guint8> bytes_;
};

/// Reads bytes that may be anything: after the first value that is not there or is invalid, all
/// others are 0 and failed() is true.
class ByteReader {
 public:
  explicit ByteReader(std::span<const guint8> bytes) : left_(bytes) {}

  bool failed() const { return failed_; }
  bool at_end() const { return left_.empty(); }
  void fail() { failed_ = true, left_ = {}; }
  /// True if that many bytes are left.
  bool has(gsize bytes) const { return left_.size() >= bytes; }

  template <class T>
    requires std::is_arithmetic_v<T>
  T get() {
    T value{};
    if (left_.size() < sizeof value) return fail(), value;
    std::memcpy(&value, left_.data(), sizeof value);
    left_ = left_.subspan(sizeof value);
    return value;
  }
  /// Returns a number of things of which each has at least `bytes`: never more than are there.
  gsize get_count(gsize bytes) {
    const auto count = get<guint32>();
    if (count > left_.size() / bytes) return fail(), gsize{0};
    return count;
  }
  /// Returns bytes without NUL, valid as long as the others are. Names of classes may be in any
  /// encoding.
  std::string_view get_text() {
    const gsize size = get_count(1);
    if (failed_) return "";
    const auto* text = reinterpret_cast<const gchar*>(left_.data());
    if (size > ByteWriter::kMaxText || std::string_view(text, size).contains('\0'))
      return fail(), "";
    left_ = left_.subspan(size);
    return {text, size};
  }
  /// Returns a name as quark_from_wire() does.
  GQuark get_name() { return quark_from_wire(get_text()); }

 private:
  std::span<const guint8> left_;
  bool failed_ = false;
};

}  // namespace keepbox
