extension String {
    /// Hands on the text's UTF-8 where it stands. The standard library's `withUTF8` needs a text of one's own, and a
    /// copy of one counts references: too much for the texts of every record.
    @inlinable @inline(__always)
    package func withUTF8Bytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        if let value = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return value }
        // A text of another system's making, which no server has.
        return Array(utf8).withUnsafeBytes(body)
    }
}
