/* SPDX-License-Identifier: LGPL-2.1-or-later */
#pragma once

#include <gst/gst.h>

G_BEGIN_DECLS

/* Counts of lines and zones, which boxcount writes on frames: totals so far. */

/**
 * keepbox_buffer_get_n_lines:
 * @buffer: a buffer
 *
 * Gets the number of lines that were counted at (boxcount).
 *
 * Returns: the number
 *
 * Since: 0.2
 */
GST_API_EXPORT
guint keepbox_buffer_get_n_lines(GstBuffer* buffer);

/**
 * keepbox_buffer_get_line:
 * @buffer: a buffer
 * @index: less than keepbox_buffer_get_n_lines()
 * @in: (out) (optional): the number of crossings from the right of the line to its left, seen from
 *   its first point
 * @out: (out) (optional): that of crossings from its left to its right
 * @uncertain_in: (out) (optional): the number of objects that began beyond the line where another
 *   one was lost before it, which are not part of @in
 * @uncertain_out: (out) (optional): likewise in the other direction
 *
 * Gets the counts of a line.
 *
 * Returns: (transfer full) (nullable): its name; %NULL if there is no such line
 *
 * Since: 0.2
 */
GST_API_EXPORT
gchar* keepbox_buffer_get_line(GstBuffer* buffer, guint index, guint64* in, guint64* out,
                               guint64* uncertain_in, guint64* uncertain_out);

/**
 * keepbox_buffer_get_line_directions:
 * @buffer: a buffer
 * @index: less than keepbox_buffer_get_n_lines()
 * @out: (out) (optional) (transfer full) (nullable): the name of the direction out, usually "out"
 *
 * Gets the names that a line gives to its directions.
 *
 * Returns: (transfer full) (nullable): that of the direction in, usually "in"; %NULL if there is no
 *   such line
 *
 * Since: 0.2
 */
GST_API_EXPORT
gchar* keepbox_buffer_get_line_directions(GstBuffer* buffer, guint index, gchar** out);

/**
 * keepbox_buffer_get_n_zones:
 * @buffer: a buffer
 *
 * Gets the number of zones in which objects were counted (boxcount).
 *
 * Returns: the number
 *
 * Since: 0.2
 */
GST_API_EXPORT
guint keepbox_buffer_get_n_zones(GstBuffer* buffer);

/**
 * keepbox_buffer_get_zone:
 * @buffer: a buffer
 * @index: less than keepbox_buffer_get_n_zones()
 * @visits: (out) (optional): the number of visits so far, with those of objects in the zone
 * @mean: (out) (optional): the mean time of a visit so far
 * @longest: (out) (optional): the longest time of a visit so far
 * @crowded: (out) (optional): %TRUE if there are more objects in it than crowd-alarm
 *
 * Gets the counts of a zone.
 *
 * Returns: (transfer full) (nullable): its name; %NULL if there is no such zone
 *
 * Since: 0.2
 */
GST_API_EXPORT
gchar* keepbox_buffer_get_zone(GstBuffer* buffer, guint index, guint64* visits, GstClockTime* mean,
                               GstClockTime* longest, gboolean* crowded);

/**
 * keepbox_buffer_get_n_present:
 * @buffer: a buffer
 * @zone: less than keepbox_buffer_get_n_zones()
 *
 * Gets the number of objects that are in a zone.
 *
 * Returns: the number
 *
 * Since: 0.2
 */
GST_API_EXPORT
guint keepbox_buffer_get_n_present(GstBuffer* buffer, guint zone);

/**
 * keepbox_buffer_get_present:
 * @buffer: a buffer
 * @zone: less than keepbox_buffer_get_n_zones()
 * @index: less than keepbox_buffer_get_n_present()
 * @id: (out) (optional): the tracking id of the object, as of its box
 * @dwell: (out) (optional): the time for which it has been there
 * @label: (out) (optional) (transfer none) (nullable): the name of its class, which is static
 * @model: (out) (optional) (transfer none) (nullable): the name of its model, which is static
 *
 * Gets an object that is in a zone, in the order in which they came.
 *
 * Returns: %TRUE if there is such an object
 *
 * Since: 0.2
 */
GST_API_EXPORT
gboolean keepbox_buffer_get_present(GstBuffer* buffer, guint zone, guint index, guint64* id,
                                    GstClockTime* dwell, const gchar** label, const gchar** model);

G_END_DECLS
