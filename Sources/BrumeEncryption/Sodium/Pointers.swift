// libsodium takes pointers that are never null, also to no bytes at all.

extension UnsafeRawBufferPointer {
    var sodium: UnsafePointer<UInt8> {
        (baseAddress ?? Self.nothing).assumingMemoryBound(to: UInt8.self)
    }

    private static var nothing: UnsafeRawPointer { UnsafeRawPointer(bitPattern: 1)! }
}

extension UnsafeMutableRawBufferPointer {
    var sodium: UnsafeMutablePointer<UInt8> {
        (baseAddress ?? Self.nothing).assumingMemoryBound(to: UInt8.self)
    }

    private static var nothing: UnsafeMutableRawPointer { UnsafeMutableRawPointer(bitPattern: 1)! }
}

extension UnsafeMutableBufferPointer<UInt8> {
    var sodium: UnsafeMutablePointer<UInt8> { UnsafeMutableRawBufferPointer(self).sodium }
}
