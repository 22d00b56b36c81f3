#pragma once
// GNU libmicrohttpd as a Swift module. Its variadic start, which Swift cannot import, stands here as a `brume_http_…` function.
#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>
#include <microhttpd.h>

/// A server with one thread of its own on a socket that listens, which it closes when it is stopped. `changed` is called on the
/// thread when a connection has begun and when it has ended.
static inline struct MHD_Daemon *brume_http_start(
    int fd, MHD_AccessHandlerCallback handler, MHD_NotifyConnectionCallback changed, void *context, unsigned connections,
    unsigned timeout_seconds, size_t connection_bytes) {
    return MHD_start_daemon(
        MHD_USE_POLL_INTERNAL_THREAD, 0, NULL, NULL, handler, context, MHD_OPTION_LISTEN_SOCKET, fd,
        MHD_OPTION_NOTIFY_CONNECTION, changed, context,
        MHD_OPTION_CONNECTION_LIMIT, connections, MHD_OPTION_CONNECTION_TIMEOUT, timeout_seconds,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, connection_bytes, MHD_OPTION_END);
}

/// Whether a connection has begun; otherwise it has ended.
static inline int brume_http_has_begun(enum MHD_ConnectionNotificationCode code) {
    return code == MHD_CONNECTION_NOTIFY_STARTED;
}

/// The descriptor of a connection, or -1.
static inline int brume_http_descriptor(struct MHD_Connection *connection) {
    const union MHD_ConnectionInfo *info = MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CONNECTION_FD);
    return info ? info->connect_fd : -1;
}

/// The peer of a connection reads the end of the stream, and so does the thread, which closes it. What the kernel has of an
/// answer is sent.
static inline void brume_http_end(int fd) { shutdown(fd, SHUT_RDWR); }

/// Enumerations of several styles, under names that do not depend on how Swift imports them.
static inline enum MHD_Result brume_http_yes(void) { return MHD_YES; }
static inline enum MHD_Result brume_http_no(void) { return MHD_NO; }

/// A response with a copy of the bytes.
static inline struct MHD_Response *brume_http_response(const void *bytes, size_t count) {
    return MHD_create_response_from_buffer(count, (void *)bytes, MHD_RESPMEM_MUST_COPY);
}
