internal import Testing

/// Bytes that a test is given. A log of its runs shows how many there are and how they begin, not 100,000 of them.
struct ByteArgument: CustomTestStringConvertible {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    var testDescription: String {
        let start = bytes.prefix(16).map { String($0, radix: 16) }.joined(separator: " ")
        return bytes.count <= 16 ? "bytes \(start)" : "\(bytes.count) bytes: \(start) …"
    }
}
