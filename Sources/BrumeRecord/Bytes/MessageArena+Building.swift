package import BrumeModel
package import CBrumeProto

/// Building a C message in an arena: everything is copied into it once, so that no pointer into an array or a string
/// outlives the call that gave it.
extension MessageArena {
    package typealias Pointer<Message> = UnsafeMutablePointer<Message>

    /// A new message, as its generated `init` function makes it.
    package func make<Message>(_ initialize: (Pointer<Message>?) -> Void) -> Pointer<Message> {
        let message = allocate(MemoryLayout<Message>.size).bindMemory(to: Message.self, capacity: 1)
        initialize(message)
        return message
    }

    package func data(_ text: String) -> ProtobufCBinaryData {
        var text = text
        return text.withUTF8 { data(UnsafeRawBufferPointer($0)) }
    }

    package func data(_ bytes: [UInt8]) -> ProtobufCBinaryData {
        bytes.withUnsafeBytes { data($0) }
    }

    package func data(_ bytes: UnsafeRawBufferPointer) -> ProtobufCBinaryData {
        guard let source = bytes.baseAddress, !bytes.isEmpty else { return ProtobufCBinaryData(len: 0, data: nil) }
        let copy = allocate(bytes.count)
        copy.copyMemory(from: source, byteCount: bytes.count)
        return ProtobufCBinaryData(len: bytes.count, data: copy.assumingMemoryBound(to: UInt8.self))
    }

    /// A repeated field of text.
    package func list(_ texts: [String]) -> UnsafeMutablePointer<ProtobufCBinaryData>? {
        elements(texts.count) { data(texts[$0]) }
    }

    /// A repeated field of bytes.
    package func list(_ values: [SharedBytes]) -> UnsafeMutablePointer<ProtobufCBinaryData>? {
        elements(values.count) { index in values[index].withUnsafeBytes { data($0) } }
    }

    /// A repeated field of bytes.
    package func list(_ values: [[UInt8]]) -> UnsafeMutablePointer<ProtobufCBinaryData>? {
        elements(values.count) { data(values[$0]) }
    }

    /// A repeated field of messages.
    package func messages<Value, Message>(
        _ values: [Value], _ build: (Value) -> Pointer<Message>
    ) -> UnsafeMutablePointer<UnsafeMutablePointer<Message>?>? {
        elements(values.count) { build(values[$0]) }
    }

    /// A repeated field of numbers.
    package func numbers<Number>(_ numbers: [Number]) -> UnsafeMutablePointer<Number>? {
        elements(numbers.count) { numbers[$0] }
    }

    private func elements<Element>(_ count: Int, _ element: (Int) -> Element) -> UnsafeMutablePointer<Element>? {
        guard count > 0 else { return nil }
        let array = allocate(count * MemoryLayout<Element>.stride).bindMemory(to: Element.self, capacity: count)
        for index in 0..<count { (array + index).initialize(to: element(index)) }
        return array
    }
}

/// The encoding of a C message. Every generated message begins with its `ProtobufCMessage`.
package func packed<Message>(_ message: UnsafeMutablePointer<Message>) -> [UInt8] {
    let base = UnsafeRawPointer(message).assumingMemoryBound(to: ProtobufCMessage.self)
    let size = protobuf_c_message_get_packed_size(base)
    var bytes: [UInt8] = []
    if size == 0 { return bytes }
    // Appends to an empty array, because an initializer that takes the capacity looks its type up at run time.
    bytes.append(addingCapacity: size) { span in
        span.withUnsafeMutableBufferPointer { room, count in
            count = protobuf_c_message_pack(base, room.baseAddress)
            precondition(count == size, "protobuf-c packed another size than it said")
        }
    }
    return bytes
}

/// How many bytes ``packed(_:)`` will give.
package func packedSize<Message>(_ message: UnsafeMutablePointer<Message>) -> Int {
    protobuf_c_message_get_packed_size(UnsafeRawPointer(message).assumingMemoryBound(to: ProtobufCMessage.self))
}
