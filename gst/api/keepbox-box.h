// SPDX-License-Identifier: LGPL-2.1-or-later
// The boxes of a buffer, whichever decoder wrote them.
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/**
 * KeepboxBox:
 *
 * A box on a video frame. It does not change, and outlives the buffer that it was read from.
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
 * Returns: (array length=n_boxes) (transfer container) (nullable): the boxes in one piece of
 *   memory, for g_free() alone; %NULL when there are none
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

G_END_DECLS
