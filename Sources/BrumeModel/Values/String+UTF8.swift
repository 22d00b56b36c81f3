extension String {
    /// Calls `body` with the text's UTF-8 in place. The standard library's `withUTF8` needs a variable, and copying the
    /// text into one counts references: too much for the texts of every record.
    @inlinable @inline(__always)
    package func withUTF8Bytes<Value>(_ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        if let value = utf8.withContiguousStorageIfAvailable({ body(UnsafeRawBufferPointer($0)) }) { return value }
        // Only for a bridged text of another system; no server has such texts.
        return Array(utf8).withUnsafeBytes(body)
    }
}
