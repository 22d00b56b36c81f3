/// SHA-256 of content that comes in pieces. One thread at a time uses it.
package protocol ContentHash: AnyObject, Sendable {
    func update(_ bytes: UnsafeRawBufferPointer)
    /// The 32 bytes of the hash. Nothing is asked of it afterwards.
    func finish() -> [UInt8]
}

extension ContentHash {
    func update(_ bytes: [UInt8]) { bytes.withUnsafeBytes { update($0) } }
}
