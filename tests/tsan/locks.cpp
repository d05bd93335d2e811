// SPDX-License-Identifier: LGPL-2.1-or-later
// Reports to ThreadSanitizer the locks and references of GLib and GStreamer, built without it.
//
// Each function here overrides the library's function, calls that and reports the synchronisation.
#include <dlfcn.h>
#include <gst/gst.h>

extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}

// Macros with the names of functions below.
#undef g_object_unref
#undef g_once_init_enter
#undef g_once_init_leave
#undef g_once_init_enter_pointer
#undef g_once_init_leave_pointer

/// Defines `real`, the library's function that the enclosing function overrides.
#define KB_LIBRARYS(name) \
  static auto* const real = reinterpret_cast<decltype(&name)>(dlsym(RTLD_NEXT, #name))

#define KB_LOCK(name, Lock)        \
  KB_SHOWN void name(Lock* lock) { \
    KB_LIBRARYS(name);             \
    real(lock);                    \
    __tsan_acquire(lock);          \
  }
#define KB_TRY_LOCK(name, Lock)        \
  KB_SHOWN gboolean name(Lock* lock) { \
    KB_LIBRARYS(name);                 \
    const gboolean taken = real(lock); \
    if (taken) __tsan_acquire(lock);   \
    return taken;                      \
  }
#define KB_UNLOCK(name, Lock)      \
  KB_SHOWN void name(Lock* lock) { \
    KB_LIBRARYS(name);             \
    __tsan_release(lock);          \
    real(lock);                    \
  }
/// Accesses of an object happen before its reference is released, and the last release frees it.
#define KB_UNREF(name, Object)         \
  KB_SHOWN void name(Object* object) { \
    KB_LIBRARYS(name);                 \
    __tsan_release(object);            \
    __tsan_acquire(object);            \
    real(object);                      \
  }
#define KB_SHOWN extern "C" __attribute__((visibility("default")))

KB_LOCK(g_mutex_lock, GMutex)
KB_TRY_LOCK(g_mutex_trylock, GMutex)
KB_UNLOCK(g_mutex_unlock, GMutex)
KB_LOCK(g_rec_mutex_lock, GRecMutex)
KB_TRY_LOCK(g_rec_mutex_trylock, GRecMutex)
KB_UNLOCK(g_rec_mutex_unlock, GRecMutex)
KB_LOCK(g_rw_lock_reader_lock, GRWLock)
KB_TRY_LOCK(g_rw_lock_reader_trylock, GRWLock)
KB_UNLOCK(g_rw_lock_reader_unlock, GRWLock)
KB_LOCK(g_rw_lock_writer_lock, GRWLock)
KB_TRY_LOCK(g_rw_lock_writer_trylock, GRWLock)
KB_UNLOCK(g_rw_lock_writer_unlock, GRWLock)

KB_SHOWN void g_cond_wait(GCond* cond, GMutex* mutex) {
  KB_LIBRARYS(g_cond_wait);
  __tsan_release(mutex);
  real(cond, mutex);
  __tsan_acquire(mutex);
}

KB_SHOWN gboolean g_cond_wait_until(GCond* cond, GMutex* mutex, gint64 end_time) {
  KB_LIBRARYS(g_cond_wait_until);
  __tsan_release(mutex);
  const gboolean told = real(cond, mutex, end_time);
  __tsan_acquire(mutex);
  return told;
}

/// The initialisation happens before all calls that return false.
KB_SHOWN gboolean g_once_init_enter(volatile void* location) {
  KB_LIBRARYS(g_once_init_enter);
  const gboolean first = real(location);
  __tsan_acquire(const_cast<void*>(location));
  return first;
}

KB_SHOWN void g_once_init_leave(volatile void* location, gsize result) {
  KB_LIBRARYS(g_once_init_leave);
  __tsan_release(const_cast<void*>(location));
  real(location, result);
}

KB_UNREF(gst_mini_object_unref, GstMiniObject)
KB_UNREF(gst_object_unref, void)
KB_UNREF(g_object_unref, void)

/// The only owner of an object accesses it after all earlier owners.
KB_SHOWN gboolean gst_mini_object_is_writable(const GstMiniObject* object) {
  KB_LIBRARYS(gst_mini_object_is_writable);
  const gboolean writable = real(object);
  if (writable) __tsan_acquire(const_cast<GstMiniObject*>(object));
  return writable;
}

KB_SHOWN GstMiniObject* gst_mini_object_make_writable(GstMiniObject* object) {
  KB_LIBRARYS(gst_mini_object_make_writable);
  __tsan_release(object);
  GstMiniObject* mine = real(object);
  __tsan_acquire(mine);
  return mine;
}

/// The bus passes messages between threads in a lock-free queue.
KB_SHOWN gboolean gst_bus_post(GstBus* bus, GstMessage* message) {
  KB_LIBRARYS(gst_bus_post);
  __tsan_release(bus);
  return real(bus, message);
}

KB_SHOWN GstMessage* gst_bus_timed_pop_filtered(GstBus* bus, GstClockTime timeout,
                                                GstMessageType types) {
  KB_LIBRARYS(gst_bus_timed_pop_filtered);
  GstMessage* message = real(bus, timeout, types);
  __tsan_acquire(bus);
  return message;
}

KB_SHOWN GstMessage* gst_bus_pop_filtered(GstBus* bus, GstMessageType types) {
  KB_LIBRARYS(gst_bus_pop_filtered);
  GstMessage* message = real(bus, types);
  __tsan_acquire(bus);
  return message;
}
