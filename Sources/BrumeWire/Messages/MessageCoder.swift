internal import BrumeModel
internal import CBrumeProto
internal import CProtobufC

/// Turns messages into values and back, for both sides of a connection.
///
/// One belongs to one event loop or one client connection: it reuses its memory and is not thread-safe. Decoding of
/// requests is where a client's bytes are checked: what comes out keeps every rule of `proto/` that can be checked
/// without data. What is wrong with a request as a whole is thrown, what is wrong with one record is in its
/// ``CheckedFields/problem``. Names in deletions, fetches and zone saves carry no such place: where they are not valid
/// UTF-8 the value holds U+FFFD, which the rules of ``Names`` refuse.
package final class MessageCoder {
    /// The default bound of what one message may take in memory: 16 times ``Limits/requestBytes``.
    ///
    /// A record with text takes about twice its bytes. Fields of 11 bytes, such as a short key and a number, take 17
    /// times theirs (two structs, a pointer, a copy of the key, and protobuf-c's notes on each member), so all but the
    /// most fragmented requests of full size fit. Those beyond are refused with `limitExceeded`, which tells a client
    /// to send less at a time.
    package static let defaultArenaBytesLimit = 16 * Limits.requestBytes

    /// What is decoded.
    let arena: MessageArena
    /// One field at a time of a record that is decoded, so that a page of records needs no more than its largest field.
    let fieldArena: MessageArena
    /// What is encoded: our own values, so that their size is what bounds it.
    let builder: MessageArena

    /// - Parameter arenaBytesLimit: What one decoded message may take in memory.
    package init(arenaBytesLimit: Int = MessageCoder.defaultArenaBytesLimit) {
        arena = MessageArena(bytesLimit: arenaBytesLimit)
        fieldArena = MessageArena(bytesLimit: arenaBytesLimit)
        builder = MessageArena(bytesLimit: .max)
    }

    /// Bytes of memory that the coder holds on to now.
    package var retainedBytes: Int { arena.allocatedBytes + fieldArena.allocatedBytes + builder.allocatedBytes }
}

/// A generated `unpack` function.
typealias Unpack<Message> = (
    UnsafeMutablePointer<ProtobufCAllocator>?, Int, UnsafePointer<UInt8>?
) -> UnsafeMutablePointer<Message>?

extension MessageArena {
    /// The message that `bytes` hold, valid until the next reset; nil for bytes that aren't one, and where the arena's
    /// limit is reached.
    func unpack<Message>(_ unpack: Unpack<Message>, _ bytes: UnsafeRawBufferPointer) -> UnsafeMutablePointer<Message>? {
        unpack(allocator, bytes.count, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
    }
}

extension MessageCoder {
    /// A client's message, with the limits of ``Limits/requestBytes`` and of the arena.
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

    /// A server's message.
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

/// The elements of a repeated field of messages, as values.
func values<Message, Value>(
    _ messages: UnsafeMutablePointer<UnsafeMutablePointer<Message>?>?, _ count: Int,
    _ value: (UnsafeMutablePointer<Message>) throws(ServiceError) -> Value
) throws(ServiceError) -> [Value] {
    var values: [Value] = []
    guard let messages, count > 0 else { return values }
    values.reserveCapacity(count)
    for index in 0..<count {
        guard let message = messages[index] else { preconditionFailure("protobuf-c left a hole in a repeated field") }
        values.append(try value(message))
    }
    return values
}

/// The elements of a repeated field of text, as values.
func texts(
    _ list: UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: Int, _ kind: StaticString
) throws(ServiceError) -> [String] {
    var texts: [String] = []
    guard let list, count > 0 else { return texts }
    texts.reserveCapacity(count)
    for index in 0..<count { texts.append(try text(list[index], kind)) }
    return texts
}

/// The elements of a repeated field of text; what is not UTF-8 is replaced.
func lossyTexts(_ list: UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: Int) -> [String] {
    guard let list else { return [] }
    return UnsafeBufferPointer(start: list, count: count).map(\.lossyText)
}

/// A text that has to be valid UTF-8 for the message to make sense; `kind` says what it is in the error.
func text(_ data: ProtobufCBinaryData, _ kind: StaticString) throws(ServiceError) -> String {
    guard let text = data.text else {
        throw ServiceError(.invalidArguments, "\(kind) is not valid UTF-8; send text as UTF-8")
    }
    return text
}
