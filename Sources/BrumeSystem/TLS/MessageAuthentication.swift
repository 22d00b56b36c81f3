internal import COpenSSL

/// HMAC-SHA256 with one key, for many messages and without an allocation for each.
///
/// Not for two threads at a time: every owner makes its own from the key.
package final class MessageAuthentication {
    package static let codeBytes = 32

    private let context: OpaquePointer

    /// - Parameter key: Should be 32 random bytes; must not be empty.
    package init(key: [UInt8]) {
        precondition(!key.isEmpty, "a key without bytes authenticates nothing")
        guard let context = HMAC_CTX_new(), HMAC_Init_ex(context, key, Int32(key.count), EVP_sha256(), nil) == 1 else {
            fatalError("OpenSSL cannot compute HMAC-SHA256")
        }
        self.context = context
    }

    deinit { HMAC_CTX_free(context) }

    /// Writes the 32 bytes of the message's code to the front of `target`.
    package func authenticate(_ message: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer) {
        authenticate(message, UnsafeRawBufferPointer(start: nil, count: 0), into: target)
    }

    /// The same for a message in two parts.
    package func authenticate(
        _ front: UnsafeRawBufferPointer, _ back: UnsafeRawBufferPointer, into target: UnsafeMutableRawBufferPointer
    ) {
        precondition(target.count >= MessageAuthentication.codeBytes, "no room for the code")
        var length: UInt32 = 0
        func update(_ part: UnsafeRawBufferPointer) -> Bool {
            part.isEmpty
                || HMAC_Update(context, part.baseAddress?.assumingMemoryBound(to: UInt8.self), part.count) == 1
        }
        let isDone =
            HMAC_Init_ex(context, nil, 0, nil, nil) == 1 && update(front) && update(back)
            && HMAC_Final(context, target.baseAddress?.assumingMemoryBound(to: UInt8.self), &length) == 1
        precondition(isDone && length == MessageAuthentication.codeBytes, "OpenSSL cannot compute HMAC-SHA256")
    }

    package func authenticate(_ message: [UInt8]) -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: MessageAuthentication.codeBytes) { buffer, initialized in
            message.withUnsafeBytes { authenticate($0, into: UnsafeMutableRawBufferPointer(buffer)) }
            initialized = MessageAuthentication.codeBytes
        }
    }

    /// Whether `code` (of any length from 1 to 32 bytes: a shortened code is compared with the front) belongs to the
    /// message. The time does not depend on how much of it is right.
    package func isValid(_ code: UnsafeRawBufferPointer, for message: UnsafeRawBufferPointer) -> Bool {
        guard (1...MessageAuthentication.codeBytes).contains(code.count) else { return false }
        return withUnsafeTemporaryAllocation(byteCount: MessageAuthentication.codeBytes, alignment: 8) { expected in
            authenticate(message, into: expected)
            return ConstantTime.isEqual(
                UnsafeRawBufferPointer(rebasing: UnsafeRawBufferPointer(expected)[..<code.count]), code)
        }
    }
}
