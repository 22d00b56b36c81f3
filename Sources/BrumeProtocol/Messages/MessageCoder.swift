internal import BrumeModel
internal import BrumeRecord
internal import CBrumeProto

/// Turns messages into values and back, for both sides of a connection.
///
/// A coder belongs to one event loop or one client connection: it reuses its memory and is not thread-safe. Decoding a
/// request is where a client's bytes are checked: the result keeps every rule of `proto/` that can be checked without
/// data. What is wrong with a request as a whole is thrown; what is wrong with one record is in its
/// ``CheckedFields/problem``. Names in deletions, fetches and zone saves have no such property: when they are not valid
/// UTF-8 the value holds U+FFFD, which the rules of ``Names`` refuse.
package final class MessageCoder {
    /// Holds the message that is decoded.
    let arena: MessageArena
    /// Holds one field at a time of a record that is decoded, so that a page of records needs no more than its largest
    /// field.
    let fieldArena: MessageArena
    /// Holds the message that is encoded. It has no limit: the values come from this process and bound its size.
    let builder: MessageArena

    /// - Parameter arenaBytesLimit: What one decoded message may take in memory.
    package init(arenaBytesLimit: Int = MessageArena.defaultBytesLimit) {
        arena = MessageArena(bytesLimit: arenaBytesLimit)
        fieldArena = MessageArena(bytesLimit: arenaBytesLimit)
        builder = MessageArena(bytesLimit: .max)
    }

    /// Bytes of memory that the coder holds on to now.
    package var retainedBytes: Int { arena.allocatedBytes + fieldArena.allocatedBytes + builder.allocatedBytes }
}

extension MessageCoder {
    /// Unpacks a client's message, within ``Limits/requestBytes`` and the arena's limit.
    func request<Message>(
        _ unpack: Unpack<Message>, _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> UnsafeMutablePointer<Message> {
        guard bytes.count <= Limits.requestBytes else {
            throw ServiceError(
                .limitExceeded,
                "a request has \(bytes.count) bytes; the limit is \(Limits.requestBytes): send it in parts")
        }
        arena.reset()
        if let message = arena.unpack(unpack, bytes) { return message }
        if arena.isExhausted {
            throw ServiceError(.limitExceeded, "a request has too many small parts to decode at once: send it in parts")
        }
        throw ServiceError(
            .invalidArguments,
            "a request's bytes are not the protobuf message that its method takes; encode the message that proto/ names"
        )
    }

    /// Unpacks a server's message.
    func answer<Message>(
        _ unpack: Unpack<Message>, _ bytes: UnsafeRawBufferPointer
    ) throws(ServiceError) -> UnsafeMutablePointer<Message> {
        arena.reset()
        guard let message = arena.unpack(unpack, bytes) else {
            throw Self.unreadableAnswer("its bytes are not the protobuf message that the method gives")
        }
        return message
    }

    static func unreadableAnswer(_ reason: String) -> ServiceError {
        ServiceError(
            .internalError, "the server's answer can't be read: \(reason); check that both sides run versions that fit")
    }

    /// The encoding of what `build` makes in the builder's memory.
    func encode<Message>(_ build: (MessageArena) -> UnsafeMutablePointer<Message>) -> [UInt8] {
        builder.reset()
        return packed(build(builder))
    }
}
