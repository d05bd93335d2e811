// SPDX-License-Identifier: LGPL-2.1-or-later
// The boxes of a buffer, from any decoder.
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * KeepboxBox:
 *
 * A box on a video frame, with its keypoints and mask. It is immutable and contains copies of all
 * data, so that it may outlive the buffer that it was read from.
 *
 * Since: 0.2
 */
typedef struct _KeepboxBox KeepboxBox;

#define KEEPBOX_TYPE_BOX (keepbox_box_get_type())
GST_API_EXPORT
GType keepbox_box_get_type(void);

/**
 * keepbox_buffer_get_boxes: (skip)
 * @buffer: a buffer
 * @n_boxes: (out): the number of boxes
 *
 * Reads the boxes of a buffer, from any decoder, in the order of its analytics meta; boxdecode
 * writes them by descending score, those of objects' images object by object.
 *
 * Returns: (array length=n_boxes) (transfer container) (nullable): the boxes with their keypoints
 *   and masks in a single allocation, to be freed with g_free() only; %NULL if there are none
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxBox** keepbox_buffer_get_boxes(GstBuffer* buffer, guint* n_boxes);

/**
 * keepbox_buffer_dup_boxes: (rename-to keepbox_buffer_get_boxes)
 * @buffer: a buffer
 * @n_boxes: (out): the number of boxes
 *
 * Reads the boxes of a buffer like keepbox_buffer_get_boxes(), for language bindings, in which each
 * box has a lifetime of its own.
 *
 * Returns: (array length=n_boxes) (transfer full): the boxes; free each one with keepbox_box_free()
 *   and the array with g_free()
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxBox** keepbox_buffer_dup_boxes(GstBuffer* buffer, guint* n_boxes);

/**
 * keepbox_buffer_is_skipped:
 * @buffer: a buffer
 *
 * Checks whether a model did not look at the frame: the inference element skipped it (interval,
 * qos), or its tensors could not be decoded. Without boxes such a frame does not mean that there
 * are no objects; boxes that it has are held from an earlier frame or predicted by a tracker. With
 * several models one that did not look is enough.
 *
 * Returns: %TRUE if a model did not look at the frame; %FALSE for frames that every model looked
 * at, and for those whose boxes an application attached
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_buffer_is_skipped(GstBuffer* buffer);

/**
 * keepbox_buffer_get_n_attributes:
 * @buffer: a buffer
 *
 * Gets the number of results of classifiers and text recognisers about the whole frame, such as
 * those of classdecode after a model that runs on frames.
 *
 * Returns: the number
 *
 * Since: 0.2
 */
GST_API_EXPORT
guint keepbox_buffer_get_n_attributes(GstBuffer* buffer);

/**
 * keepbox_buffer_get_attribute:
 * @buffer: a buffer
 * @index: less than keepbox_buffer_get_n_attributes()
 * @name: (out) (optional) (transfer none) (nullable): what the result is about, such as "weather",
 *   which is static; %NULL if unknown
 * @level: (out) (optional): the confidence, usually from 0 to 1
 *
 * Gets a result of a classifier or a text recogniser about the whole frame.
 *
 * Returns: (transfer full) (nullable): the name of the class or the text in UTF-8; %NULL if there
 *   is no such result
 *
 * Since: 0.2
 */
GST_API_EXPORT
gchar* keepbox_buffer_get_attribute(GstBuffer* buffer, guint index, const gchar** name,
                                    gfloat* level);

/**
 * keepbox_box_copy:
 * @box: a box
 *
 * Copies a box.
 *
 * Returns: (transfer full): the copy
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxBox* keepbox_box_copy(const KeepboxBox* box);

/**
 * keepbox_box_free: (skip)
 * @box: (transfer full) (nullable): a box from keepbox_box_copy() or keepbox_buffer_dup_boxes()
 *
 * Frees a box. Boxes from keepbox_buffer_get_boxes() are freed with their array instead.
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_box_free(KeepboxBox* box);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(KeepboxBox, keepbox_box_free)

/**
 * keepbox_box_get_rect:
 * @box: a box
 * @x: (out) (optional): the left edge in frame pixels
 * @y: (out) (optional): the upper edge in frame pixels
 * @width: (out) (optional): the width in frame pixels
 * @height: (out) (optional): the height in frame pixels
 *
 * Gets the rectangle of a box; boxdecode clips upright boxes to the frame. The values are
 * integers if another decoder than boxdecode wrote the box. For an oriented box, the rectangle is
 * given before its rotation about the centre; see keepbox_box_get_angle().
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_box_get_rect(const KeepboxBox* box, gfloat* x, gfloat* y, gfloat* width,
                          gfloat* height);

/**
 * keepbox_box_get_angle:
 * @box: a box
 *
 * Gets the rotation of a box about its centre.
 *
 * Returns: the angle in radians, clockwise; 0 for upright boxes. It is finite but not normalised:
 *   boxdecode keeps the model's angle (-pi/4 to 3/4 pi for YOLO models), and an angle that was
 *   computed for another frame is from -pi to pi
 *
 * Since: 0.2
 */
GST_API_EXPORT
gfloat keepbox_box_get_angle(const KeepboxBox* box);

/**
 * keepbox_box_is_held:
 * @box: a box
 *
 * Checks if a box is from an earlier frame, because the model did not run on this one
 * (`tensorinfer interval=3 hold=true`).
 *
 * Returns: %TRUE if the box is from an earlier frame
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_box_is_held(const KeepboxBox* box);

/**
 * keepbox_box_is_predicted:
 * @box: a box
 *
 * Checks if a box is where a tracker expects its object, because the model did not run on this
 * frame (`boxtrack predict=true`).
 *
 * Returns: %TRUE if the box was predicted
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_box_is_predicted(const KeepboxBox* box);

/**
 * keepbox_box_get_score:
 * @box: a box
 *
 * Gets the score of a box.
 *
 * Returns: the score, from 0 to 1 unless the model's scores are not probabilities
 *
 * Since: 0.2
 */
GST_API_EXPORT
gfloat keepbox_box_get_score(const KeepboxBox* box);

/**
 * keepbox_box_get_label:
 * @box: a box
 *
 * Gets the class name of a box.
 *
 * Returns: (nullable): the name, which is static; %NULL if there is none
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gchar* keepbox_box_get_label(const KeepboxBox* box);

/**
 * keepbox_box_get_class_id:
 * @box: a box
 *
 * Gets the class number of a box.
 *
 * Returns: the model's number of the class, from 0; -1 if unknown, as for boxes of other decoders
 *
 * Since: 0.2
 */
GST_API_EXPORT
gint keepbox_box_get_class_id(const KeepboxBox* box);

/**
 * keepbox_box_get_anchor:
 * @box: a box
 *
 * Gets the anchor of a box.
 *
 * Returns: the row or cell of the tensor that the box is from, from 0; -1 if unknown, as for boxes
 *   of other decoders
 *
 * Since: 0.2
 */
GST_API_EXPORT
gint keepbox_box_get_anchor(const KeepboxBox* box);

/**
 * keepbox_box_get_model:
 * @box: a box
 *
 * Gets the name of the model that a box is from.
 *
 * Returns: (nullable): the name, which is static; %NULL if unknown
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gchar* keepbox_box_get_model(const KeepboxBox* box);

/**
 * keepbox_box_get_od_id:
 * @box: a box
 *
 * Gets the id of a box in the buffer's analytics meta.
 *
 * Returns: the id of the GstAnalyticsODMtd of the same box
 *
 * Since: 0.2
 */
GST_API_EXPORT
guint keepbox_box_get_od_id(const KeepboxBox* box);

/**
 * keepbox_box_get_parent:
 * @box: a box
 * @od_id: (out) (optional): the id of the box that it is a part of, as keepbox_box_get_od_id()
 *   returns it, or 0
 *
 * Gets the box that a box is a part of, such as the vehicle of a plate that a second boxdecode
 * found in the image of the vehicle.
 *
 * Returns: %TRUE if the box is a part of another one
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_box_get_parent(const KeepboxBox* box, guint* od_id);

/**
 * keepbox_box_get_tracking_id:
 * @box: a box
 * @id: (out) (optional): the object id assigned by a tracker, or 0
 *
 * Gets the tracking id of a box, from a GstAnalyticsTrackingMtd related to it.
 *
 * Returns: %TRUE if the box is tracked
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_box_get_tracking_id(const KeepboxBox* box, guint64* id);

/**
 * keepbox_box_get_n_attributes:
 * @box: a box
 *
 * Gets the number of results of classifiers and text recognisers about the box's object, such as
 * those of classdecode.
 *
 * Returns: the number
 *
 * Since: 0.2
 */
GST_API_EXPORT
guint keepbox_box_get_n_attributes(const KeepboxBox* box);

/**
 * keepbox_box_get_attribute:
 * @box: a box
 * @index: less than keepbox_box_get_n_attributes()
 * @name: (out) (optional) (transfer none) (nullable): what the result is about, such as "color",
 *   which is static; %NULL if unknown
 * @level: (out) (optional): the confidence, usually from 0 to 1
 *
 * Gets a result of a classifier or a text recogniser about the box's object.
 *
 * Returns: (transfer none) (nullable): the name of the class or the text in UTF-8, valid as long as
 *   @box; %NULL if there is no such result
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gchar* keepbox_box_get_attribute(const KeepboxBox* box, guint index, const gchar** name,
                                       gfloat* level);

/**
 * keepbox_box_get_n_tensors:
 * @box: a box
 *
 * Gets the number of tensors of the box's object that no decoder has decoded, such as an embedding
 * of a model after tensorinfer regions=objects.
 *
 * Returns: the number
 *
 * Since: 0.2
 */
GST_API_EXPORT
guint keepbox_box_get_n_tensors(const KeepboxBox* box);

/**
 * keepbox_box_get_tensor:
 * @box: a box
 * @index: less than keepbox_box_get_n_tensors()
 * @name: (out) (optional) (transfer none) (nullable): the name of the tensor, which is static;
 * %NULL if it has none
 * @model: (out) (optional) (transfer none) (nullable): the name of its model, which is static;
 * %NULL if unknown
 * @n_values: (out): the number of values
 *
 * Gets the values of a tensor of the box's object, such as an embedding, as the model wrote them:
 * they are not normalized.
 *
 * Returns: (array length=n_values) (transfer none) (nullable): the values, valid as long as @box;
 *   %NULL if there is no such tensor
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gfloat* keepbox_box_get_tensor(const KeepboxBox* box, guint index, const gchar** name,
                                     const gchar** model, gsize* n_values);

/**
 * keepbox_box_get_points:
 * @box: a box
 * @n_values: (out): the number of values, three per keypoint
 *
 * Gets the keypoints of the box's object, such as body joints or facial landmarks. Each keypoint
 * has x and y in frame pixels, possibly outside of the frame, and the model's score, usually from 0
 * to 1 (1 if the model has no scores). Coordinates are integers if another decoder than boxdecode
 * wrote them.
 *
 * Returns: (array length=n_values) (transfer none) (nullable): the values, valid as long as @box;
 *   %NULL if there are none
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gfloat* keepbox_box_get_points(const KeepboxBox* box, gsize* n_values);

/**
 * keepbox_box_get_points_name:
 * @box: a box
 *
 * Gets the name of the keypoint set of a box.
 *
 * Returns: (nullable): the name, such as "body-pose/coco-17", which is static; %NULL if unknown
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gchar* keepbox_box_get_points_name(const KeepboxBox* box);

/**
 * keepbox_box_get_edges:
 * @box: a box
 * @n_values: (out): the number of values, two per line
 *
 * Gets the lines between keypoints. Each line has the indices of its two keypoints, from 0, the
 * lower one first.
 *
 * Returns: (array length=n_values) (transfer none) (nullable): the values, valid as long as @box;
 *   %NULL if there are none
 *
 * Since: 0.2
 */
GST_API_EXPORT
const guint8* keepbox_box_get_edges(const KeepboxBox* box, gsize* n_values);

/**
 * keepbox_box_get_mask: (skip)
 * @box: a box
 * @width: (out) (optional): the width in mask pixels; 0 if there is no mask
 * @height: (out) (optional): the height in mask pixels; 0 if there is no mask
 * @stride: (out) (optional): the distance between rows in bytes
 *
 * Gets the mask of the box's object, with one byte per pixel that is not 0 inside the object. See
 * keepbox_box_get_mask_rect() for the area that the mask covers.
 *
 * Returns: (transfer none) (nullable): the rows, valid as long as @box; %NULL if there is no mask
 *
 * Since: 0.2
 */
GST_API_EXPORT
const guint8* keepbox_box_get_mask(const KeepboxBox* box, guint* width, guint* height,
                                   gsize* stride);

/**
 * keepbox_box_dup_mask: (rename-to keepbox_box_get_mask)
 * @box: a box
 * @width: (out) (optional): the width in mask pixels; 0 if there is no mask
 * @height: (out) (optional): the height in mask pixels; 0 if there is no mask
 *
 * Gets a copy of the mask, for language bindings, without gaps between rows.
 *
 * Returns: (transfer full) (nullable): the bytes; %NULL if there is no mask
 *
 * Since: 0.2
 */
GST_API_EXPORT
GBytes* keepbox_box_dup_mask(const KeepboxBox* box, guint* width, guint* height);

/**
 * keepbox_box_get_mask_rect:
 * @box: a box
 * @x: (out) (optional): the left edge of the mask in frame pixels
 * @y: (out) (optional): the upper edge in frame pixels
 * @width: (out) (optional): the width in frame pixels
 * @height: (out) (optional): the height in frame pixels
 *
 * Gets the area of the frame that the mask covers, evenly with each of its pixels. The values are
 * integers if another decoder than boxdecode wrote them, and 0 if there is no mask.
 *
 * Returns: %TRUE if the box has a mask
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_box_get_mask_rect(const KeepboxBox* box, gfloat* x, gfloat* y, gfloat* width,
                                   gfloat* height);

G_END_DECLS
