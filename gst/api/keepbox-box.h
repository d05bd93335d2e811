// SPDX-License-Identifier: LGPL-2.1-or-later
// The boxes of a buffer, whichever decoder wrote them.
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * KeepboxBox:
 *
 * A box on a video frame, and what it carries: points and a mask. It does not change, and outlives
 * the buffer that it was read from: it has copies of all.
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
 * @n_boxes: (out): how many there are
 *
 * Reads the boxes of a buffer, whichever decoder wrote them, in the order of its analytics meta:
 * boxdecode's is by descending score.
 *
 * Returns: (array length=n_boxes) (transfer container) (nullable): the boxes with their points and
 *   masks in one piece of memory, for g_free() alone; %NULL when there are none
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxBox** keepbox_buffer_get_boxes(GstBuffer* buffer, guint* n_boxes);

/**
 * keepbox_buffer_dup_boxes: (rename-to keepbox_buffer_get_boxes)
 * @buffer: a buffer
 * @n_boxes: (out): how many there are
 *
 * The same for other languages, whose objects live as long as they like.
 *
 * Returns: (array length=n_boxes) (transfer full): the boxes, each of them for keepbox_box_free(),
 *   and the array for g_free()
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxBox** keepbox_buffer_dup_boxes(GstBuffer* buffer, guint* n_boxes);

/**
 * keepbox_box_copy:
 * @box: a box
 *
 * Returns: (transfer full): another one like it
 *
 * Since: 0.2
 */
GST_API_EXPORT
KeepboxBox* keepbox_box_copy(const KeepboxBox* box);

/**
 * keepbox_box_free: (skip)
 * @box: (transfer full) (nullable): a box of keepbox_box_copy() or keepbox_buffer_dup_boxes()
 *
 * Since: 0.2
 */
GST_API_EXPORT
void keepbox_box_free(KeepboxBox* box);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(KeepboxBox, keepbox_box_free)

/**
 * keepbox_box_get_rect:
 * @box: a box
 * @x: (out) (optional): its left edge in pixels of the frame
 * @y: (out) (optional): its upper edge
 * @width: (out) (optional): in pixels
 * @height: (out) (optional): in pixels
 *
 * The numbers are whole when another decoder than boxdecode wrote them. A box that is turned has
 * them from before it is turned around its centre.
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
 * Returns: in radians, clockwise; 0 for upright boxes
 *
 * Since: 0.2
 */
GST_API_EXPORT
gfloat keepbox_box_get_angle(const KeepboxBox* box);

/**
 * keepbox_box_is_held:
 * @box: a box
 *
 * Returns: is it an earlier frame's, because the model did not run on this one (`tensorinfer interval=3
 * hold=true`)?
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_box_is_held(const KeepboxBox* box);

/**
 * keepbox_box_get_score:
 * @box: a box
 *
 * Returns: its score
 *
 * Since: 0.2
 */
GST_API_EXPORT
gfloat keepbox_box_get_score(const KeepboxBox* box);

/**
 * keepbox_box_get_label:
 * @box: a box
 *
 * Returns: (nullable): the name of its class, never freed; %NULL for none
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gchar* keepbox_box_get_label(const KeepboxBox* box);

/**
 * keepbox_box_get_class_id:
 * @box: a box
 *
 * Returns: its class as the model numbers it; -1 when another decoder does not say
 *
 * Since: 0.2
 */
GST_API_EXPORT
gint keepbox_box_get_class_id(const KeepboxBox* box);

/**
 * keepbox_box_get_anchor:
 * @box: a box
 *
 * Returns: the row or cell of the tensor that it is from; -1 when another decoder does not say
 *
 * Since: 0.2
 */
GST_API_EXPORT
gint keepbox_box_get_anchor(const KeepboxBox* box);

/**
 * keepbox_box_get_model:
 * @box: a box
 *
 * Returns: (nullable): the name of the model that it is from, never freed; %NULL when nobody says
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gchar* keepbox_box_get_model(const KeepboxBox* box);

/**
 * keepbox_box_get_od_id:
 * @box: a box
 *
 * Returns: the id of the GstAnalyticsODMtd with the same box
 *
 * Since: 0.2
 */
GST_API_EXPORT
guint keepbox_box_get_od_id(const KeepboxBox* box);

/**
 * keepbox_box_get_tracking_id:
 * @box: a box
 * @id: (out) (optional): the id of the object that a tracker has given to it, else 0
 *
 * Returns: is it tracked, by a GstAnalyticsTrackingMtd related to it?
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_box_get_tracking_id(const KeepboxBox* box, guint64* id);

/**
 * keepbox_box_get_points:
 * @box: a box
 * @n_values: (out): three for each point
 *
 * The points of the box's object, joints of a body or landmarks of a face: x and y in pixels of the
 * frame, perhaps outside of it, and a score as the model gives it (1 where it gives none), of one
 * point after the other. Places are whole numbers when another decoder than boxdecode wrote them.
 *
 * Returns: (array length=n_values) (transfer none) (nullable): the numbers, as long as @box lives;
 *   %NULL when there are none
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gfloat* keepbox_box_get_points(const KeepboxBox* box, gsize* n_values);

/**
 * keepbox_box_get_points_name:
 * @box: a box
 *
 * Returns: (nullable): what the points are, such as "body-pose/coco-17", never freed; %NULL when
 *   nobody says
 *
 * Since: 0.2
 */
GST_API_EXPORT
const gchar* keepbox_box_get_points_name(const KeepboxBox* box);

/**
 * keepbox_box_get_edges:
 * @box: a box
 * @n_values: (out): two for each line
 *
 * Which points lines join: their numbers from 0 on, the lower one first, of one line after the
 * other.
 *
 * Returns: (array length=n_values) (transfer none) (nullable): the numbers, as long as @box lives;
 *   %NULL when there are none
 *
 * Since: 0.2
 */
GST_API_EXPORT
const guint8* keepbox_box_get_edges(const KeepboxBox* box, gsize* n_values);

/**
 * keepbox_box_get_mask: (skip)
 * @box: a box
 * @width: (out) (optional): of the mask, in pixels of its own; 0 for none
 * @height: (out) (optional): the same
 * @stride: (out) (optional): bytes from a row to the next
 *
 * The mask of the box's object: a byte for each pixel, not 0 where the object is. What its pixels
 * cover says keepbox_box_get_mask_rect().
 *
 * Returns: (transfer none) (nullable): the rows, as long as @box lives; %NULL when there is none
 *
 * Since: 0.2
 */
GST_API_EXPORT
const guint8* keepbox_box_get_mask(const KeepboxBox* box, guint* width, guint* height,
                                   gsize* stride);

/**
 * keepbox_box_dup_mask: (rename-to keepbox_box_get_mask)
 * @box: a box
 * @width: (out) (optional): of the mask, in pixels of its own; 0 for none
 * @height: (out) (optional): the same
 *
 * The same for other languages, without gaps between rows.
 *
 * Returns: (transfer full) (nullable): the bytes; %NULL when there is no mask
 *
 * Since: 0.2
 */
GST_API_EXPORT
GBytes* keepbox_box_dup_mask(const KeepboxBox* box, guint* width, guint* height);

/**
 * keepbox_box_get_mask_rect:
 * @box: a box
 * @x: (out) (optional): left edge of what the mask covers, in pixels of the frame
 * @y: (out) (optional): its upper edge
 * @width: (out) (optional): in pixels of the frame
 * @height: (out) (optional): in pixels of the frame
 *
 * Each pixel of the mask covers as much as any other. The numbers are whole when another decoder
 * than boxdecode wrote them, and 0 where there is no mask.
 *
 * Returns: has the box a mask?
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_box_get_mask_rect(const KeepboxBox* box, gfloat* x, gfloat* y, gfloat* width,
                                   gfloat* height);

G_END_DECLS
