/// What the server keeps of sharing in a record's bytes: in the root of a share its name, in a share its participants.
/// Empty in all other records.
package struct SharingPart: Equatable, Sendable {
    /// The field of `brume.v1.Record` that names the share.
    static let shareNumber: UInt8 = 9
    /// The field that `brume.v1.Record` reserves for a share's participants, which clients are shown in part.
    static let storedShareNumber: UInt8 = 14

    /// The name of the share whose root the record is; empty when it is none.
    package var share: String
    /// A share's participants, as ``ShareCoder`` writes them; empty in any other record.
    package var storedShare: [UInt8]

    package init(share: String = "", storedShare: [UInt8] = []) {
        self.share = share
        self.storedShare = storedShare
    }

    package var isEmpty: Bool { share.isEmpty && storedShare.isEmpty }

    /// Bytes that it takes in a record.
    package var byteCount: Int { WireSize.data(share.utf8.count) + WireSize.data(storedShare.count) }

    package func append(to filler: inout WireFiller) {
        filler.text(Self.shareNumber, share)
        filler.data(Self.storedShareNumber, storedShare)
    }
}

extension StoredRecord {
    /// What a checked record says of sharing.
    package static func sharing(of bytes: UnsafeRawBufferPointer) -> SharingPart {
        var part = SharingPart()
        var reader = WireReader(bytes)
        while let element = try? reader.next(), element.number < UInt64(fieldsNumber) {
            switch element.number {
            case UInt64(SharingPart.shareNumber): part.share = String(decoding: element.content, as: UTF8.self)
            case UInt64(SharingPart.storedShareNumber): part.storedShare = [UInt8](element.content)
            default: break
            }
        }
        return part
    }
}
