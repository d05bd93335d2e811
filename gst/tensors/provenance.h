// SPDX-License-Identifier: LGPL-2.1-or-later
// Facts about tensors: the producer, the frame, the family, and whether they were decoded.
#pragma once

#include <gst/gst.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/formula/letterbox.h"
#include "core/model/detector.h"
#include "core/plan/plan.h"
#include "core/plan/tiles.h"

namespace keepbox {

// Facts about a tensor from its producer: the model, and the position of the frame in its
// input. A meta on the tensor's data, so that it goes wherever the tensor goes.

struct TensorProvenance {
  uint64_t producer = 0;    // number of the element in this process; 0 if unknown
  Letterbox geometry;       // from the input frame to the model's input; sizes are 0 if unknown
  std::vector<Tile> tiles;  // of that frame, one per image of the tensors; empty if there are none
  std::string model;        // its name; empty if unknown
  std::string file;         // the model's, for messages; empty if unknown
  std::string detector;     // a family of the table; empty: to be recognised
  std::string contract;     // the framework to reproduce, as nms-contract; empty if none
  float iou_threshold = 0;  // default of that framework; 0 if none
  Units units = Units::kAuto;       // units of box coordinates
  std::vector<std::string> labels;  // by class; empty if unknown
  /// Labels of the classes of one of several tensors, by its id.
  std::map<std::string, std::vector<std::string>> labels_of;
  bool lost_geometry = false;  // the frame was flipped or rotated since; boxes cannot be placed
  bool dynamic_rows = false;   // the number of rows is dynamic, and thus no evidence
  bool held = false;           // the tensor is held from an earlier frame
  bool objects = false;        // each image shows an object of the frame (PictureRecord)

  bool has_geometry() const {
    return geometry.frame.width != 0 && geometry.frame.height != 0 && geometry.model.width != 0 &&
           geometry.model.height != 0;
  }
  friend bool operator==(const TensorProvenance&, const TensorProvenance&);
};

using SharedProvenance = std::shared_ptr<const TensorProvenance>;

/// Maps a tensor's source to another frame.
using MovedProvenance = std::function<SharedProvenance(const SharedProvenance&)>;

/// True if they are equal or both nullptr.
bool same_source(const SharedProvenance& a, const SharedProvenance& b);

/// True if what decodes one can decode the other: they differ at most in element, frame, and
/// position of the frame in the input.
bool same_producer(const SharedProvenance& a, const SharedProvenance& b);

/// True if they are of one element. If the element is unknown, same as same_producer().
bool same_element(const SharedProvenance& a, const SharedProvenance& b);

/// Returns a number that no other producer of this process has.
uint64_t new_producer();

/// Sets where a tensor is from. @param data writable metas.
void set_provenance(GstBuffer* data, SharedProvenance source);

/// Returns the source, or nullptr. @param data may be nullptr.
SharedProvenance provenance_of(GstBuffer* data);

// A note on a buffer about tensors that have been decoded, so that in a chain of models each
// decoder takes those attached since the previous one, and about models that skipped the frame on
// purpose or were decoded. It travels with the buffer, so that two branches of a tee decode
// independently.

/// Notes that a tensor's data was decoded, and holds a reference, so that its address is not
/// reused.
void note_decoded(GstBuffer* buffer, GstBuffer* data);

/// Notes that the inference element skipped the frame, or that the frame has no objects for it but
/// those that it left out: none of its tensors are missing.
/// @param buffer writable.
/// @param source of its tensors; nullptr if unknown.
void note_skipped(GstBuffer* buffer, SharedProvenance source = nullptr);
/// Notes that a decoder found what a model has on this frame, be it nothing.
void note_looked(GstBuffer* buffer);
bool was_looked_at(GstBuffer* buffer);
/// True if any inference element that runs on frames skipped the frame.
bool was_skipped(GstBuffer* buffer);
/// True if an inference element that runs on objects ran on none of the frame.
bool had_no_objects(GstBuffer* buffer);
/// Returns the known sources of all elements that skipped the frame or had no objects on it, in
/// their order.
std::vector<SharedProvenance> sources_of_skipped(GstBuffer* buffer);
/// True if the element of that source skipped the frame.
bool was_skipped_by(GstBuffer* buffer, const SharedProvenance& source);

/// The note of a buffer, for queries. Valid until the note changes.
class DecodedNote {
 public:
  /// @param buffer may be nullptr, for an empty note.
  explicit DecodedNote(GstBuffer* buffer);
  bool has(GstBuffer* data) const;

 private:
  const void* meta_ = nullptr;
};

/// Adds the note of one buffer to another's.
void copy_note(GstBuffer* from, GstBuffer* to);

/// True if it is the API of the note's meta.
bool is_decoded_note(GType api);

// Types of metas in a process that may have two copies of this code: the plugin's, and that of a
// program that links it. Both share a type if name and size match; copies of different versions may
// have different layouts, and then do not see each other's.

/// Returns the API type with that name for metas of that many bytes.
/// @param tags end with nullptr; nullptr: no tags, so that no transform drops the meta.
GType meta_api(const char* name, gsize bytes, const gchar** tags = nullptr);

/// Functions of a meta. meta_info() returns the meta of that name and size, with the functions of
/// the first caller.
struct MetaFunctions {
  GstMetaInitFunction init;
  GstMetaFreeFunction release;
  GstMetaTransformFunction transform;
};
const GstMetaInfo* meta_info(GType api, const char* name, gsize bytes,
                             const MetaFunctions& functions);

// Queries from an element to a decoder downstream: the family as which it decodes tensors, which
// sets the input of tensorinfer, and the size of the model input, which sets the frames of a
// replay.

/// A family that is set on a decoder.
struct WantedFamily {
  std::string name;    // value of its property
  InputRule input;     // without a caveat
  std::string caveat;  // the caveat's text
};

/// Queries downstream of an inference element. std::nullopt if no decoder answers, if its detector
/// is auto, or if several inference elements share a decoder on either side, so that decoders are
/// ambiguous.
std::optional<WantedFamily> query_family(GstElement* inference);

/// True if it is query_family()'s query to a decoder.
bool is_family_query(GstQuery* query);
/// Answers the query. @pre is_family_query().
void answer_family_query(GstQuery* query, WantedFamily family);

/// Handles query_family() of other elements in an inference element. @return true if the query was
/// one of them; `answered` is then the return value.
bool handle_family_query(GstQuery* query, gboolean& answered);
/// Handles it in a decoder that has nothing to answer.
bool handle_producer_query(GstQuery* query);

/// Tensors of a frame that has no picture, and the size of the input that they were made from.
struct InputSizeQuery {
  std::vector<TensorForm> tensors;
  Size answer;  // 0x0: unknown
};

/// Queries a decoder downstream; elements in between that attach tensors add theirs. Without a
/// decoder, or if its properties and the tensors' shapes do not determine a size, returns the
/// likely one for the first tensor.
Size query_input_size(GstElement* source);
/// Returns query_input_size()'s question, or nullptr if the query is another one. It lives as long
/// as the query.
InputSizeQuery* input_size_query(GstQuery* query);

}  // namespace keepbox
