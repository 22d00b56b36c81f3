internal import CBrume

/// CRC-32C (Castagnoli, reflected polynomial 0x82F63B78), as iSCSI, ext4 and SSE 4.2 have it.
///
/// Computed by the processor's instructions where it has them (SSE 4.2, ARMv8), else by tables.
package struct CRC32C: Equatable, Sendable {
    private var state: UInt32 = 0xFFFF_FFFF

    package init() {}

    /// The checksum of all bytes so far.
    package var value: UInt32 { ~state }

    package static func checksum(_ bytes: some Sequence<UInt8>) -> UInt32 {
        var crc = CRC32C()
        let isContiguous: Void? = bytes.withContiguousStorageIfAvailable { crc.update(UnsafeRawBufferPointer($0)) }
        if isContiguous == nil { crc.update(Array(bytes)) }
        return crc.value
    }

    package mutating func update(_ bytes: [UInt8]) {
        bytes.withUnsafeBytes { update($0) }
    }

    package mutating func update(_ bytes: UnsafeRawBufferPointer) {
        state = brume_crc32c(state, bytes.baseAddress, bytes.count)
    }
}
