package import BrumeModel
package import CBrumeProto

// The repeated fields and texts of a decoded message, as values.

/// The elements of a repeated field of messages, as values.
package func values<Message, Value>(
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
package func texts(
    _ list: UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: Int, _ kind: StaticString
) throws(ServiceError) -> [String] {
    var texts: [String] = []
    guard let list, count > 0 else { return texts }
    texts.reserveCapacity(count)
    for index in 0..<count { texts.append(try text(list[index], kind)) }
    return texts
}

/// The elements of a repeated field of text; what is not UTF-8 is replaced.
package func lossyTexts(_ list: UnsafeMutablePointer<ProtobufCBinaryData>?, _ count: Int) -> [String] {
    guard let list else { return [] }
    return UnsafeBufferPointer(start: list, count: count).map(\.lossyText)
}

/// A text that has to be valid UTF-8 for the message to make sense; `kind` names it in the error.
package func text(_ data: ProtobufCBinaryData, _ kind: StaticString) throws(ServiceError) -> String {
    guard let text = data.text else {
        throw ServiceError(.invalidArguments, "\(kind) is not valid UTF-8; send text as UTF-8")
    }
    return text
}
