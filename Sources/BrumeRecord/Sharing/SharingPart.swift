package import BrumeModel

/// What the server keeps of sharing in a record's bytes: in the root of a share its name and its secret, in a share its
/// participants. Empty in all other records.
package struct SharingPart: Equatable, Sendable {
    /// The field of `brume.v1.Record` that names the share.
    static let shareNumber: UInt8 = 9
    /// The field of `brume.v1.Record` that holds what a client is shown of a share.
    static let detailsNumber: UInt8 = 10
    /// The fields that `brume.v1.Record` reserves for a root's secret and for a share's participants.
    static let secretNumber: UInt8 = 13
    static let storedShareNumber: UInt8 = 14

    /// The name of the share whose root the record is; empty when it is none.
    package var share: String
    /// The secret of the shares that the record is or was the root of; empty when it never was one. It stays when a
    /// share ends, so that the root's next one has the same URL.
    package var secret: [UInt8]
    /// A share's participants, as ``ShareCoder`` writes them; empty in any other record.
    package var storedShare: [UInt8]

    package init(share: String = "", secret: [UInt8] = [], storedShare: [UInt8] = []) {
        self.share = share
        self.secret = secret
        self.storedShare = storedShare
    }

    package var isEmpty: Bool { share.isEmpty && secret.isEmpty && storedShare.isEmpty }

    /// Bytes that it takes in a record.
    package var byteCount: Int {
        WireSize.data(share.utf8.count) + WireSize.data(secret.count) + WireSize.data(storedShare.count)
    }

    /// Appends what stands in front of a record's stamp.
    package func appendFront(to filler: inout WireFiller) {
        filler.text(Self.shareNumber, share)
    }

    /// Appends what stands after a record's stamp.
    package func appendRest(to filler: inout WireFiller) {
        filler.data(Self.secretNumber, secret)
        filler.data(Self.storedShareNumber, storedShare)
    }
}

extension StoredRecord {
    /// What a checked record says of sharing.
    package static func sharing(of record: SharedBytes) -> SharingPart { record.withUnsafeBytes { sharing(of: $0) } }

    package static func sharing(of bytes: UnsafeRawBufferPointer) -> SharingPart {
        var part = SharingPart()
        var reader = WireReader(bytes)
        while let element = try? reader.next(), element.number < UInt64(fieldsNumber) {
            switch element.number {
            case UInt64(SharingPart.shareNumber): part.share = String(decoding: element.content, as: UTF8.self)
            case UInt64(SharingPart.secretNumber): part.secret = [UInt8](element.content)
            case UInt64(SharingPart.storedShareNumber): part.storedShare = [UInt8](element.content)
            default: break
            }
        }
        return part
    }

    /// A checked record as a client is shown it: without what the server keeps of sharing.
    ///
    /// - Parameter details: What the client may see of the share that the record is, as ``ShareViewCoder`` writes it;
    ///   nil for all other records.
    package static func shown(_ record: SharedBytes, details: [UInt8]? = nil) -> SharedBytes {
        record.withUnsafeBytes { source in
            var kept: [Range<Int>] = []
            var stamp = 0..<0
            var fieldsStart = source.count
            var reader = WireReader(source)
            while let element = try? reader.next() {
                if element.number >= UInt64(fieldsNumber) {
                    fieldsStart = element.range.lowerBound
                    break
                }
                if element.number < UInt64(SharingPart.detailsNumber) { kept.append(element.range) }
                if element.number == UInt64(stampNumber) { stamp = element.range }
            }
            let detailsBytes = details.map { WireSize.message($0.count) } ?? 0
            var shown: [UInt8] = []
            let otherBytes = source.count - fieldsStart + detailsBytes + stamp.count
            shown.append(byteCount: kept.reduce(otherBytes) { $0 + $1.count }) { filler in
                for range in kept { filler.append(UnsafeRawBufferPointer(rebasing: source[range])) }
                if let details { filler.message(SharingPart.detailsNumber, details) }
                filler.append(UnsafeRawBufferPointer(rebasing: source[stamp]))
                filler.append(UnsafeRawBufferPointer(rebasing: source[fieldsStart...]))
            }
            return SharedBytes(shown)
        }
    }

    /// A checked share with a change of its as the last one, without what the server keeps of sharing.
    package static func showing(_ change: ShownChange, of share: SharedBytes) throws(ServiceError) -> SharedBytes {
        SharedBytes(
            try resharing(share, SharingPart()) { system in
                (system.changeTag, system.modifier) = (change.changeTag, change.modifier)
                system.modifiedMilliseconds = change.modifiedMilliseconds
            })
    }

    /// A checked share as it introduces itself to a user who takes no part: its owner, and its title, kind and picture.
    ///
    /// - Parameter details: As in ``shown(_:details:)``.
    package static func introducing(_ share: SharedBytes, details: [UInt8]) throws(ServiceError) -> SharedBytes {
        let introduced = try resharing(project(share, keys: Names.shareFields), SharingPart()) { system in
            (system.modifier, system.modifiedMilliseconds, system.stamp) = ("", 0, [])
        }
        return shown(SharedBytes(introduced), details: details)
    }

    /// A checked root as it is shown to users who came by the URL of its share: without its parent, which is not shared
    /// with it.
    package static func introducingRoot(_ root: SharedBytes) throws(ServiceError) -> SharedBytes {
        let share = root.withUnsafeBytes { rootedShare(of: $0) }
        return SharedBytes(try resharing(root, SharingPart(share: share)) { $0.parent = nil })
    }

    /// The name of the share whose root a checked record is; empty when it is none.
    package static func rootedShare(of bytes: UnsafeRawBufferPointer) -> String {
        var reader = WireReader(bytes)
        while let element = try? reader.next(), element.number <= UInt64(SharingPart.shareNumber) {
            if element.number == UInt64(SharingPart.shareNumber) {
                return String(decoding: element.content, as: UTF8.self)
            }
        }
        return ""
    }

    /// The user and the date of the change that participants are told is the last, in a share that was changed since
    /// then; nil for any other checked record. Read in place, for queries.
    package static func shownChange(
        of record: UnsafeRawBufferPointer
    ) -> (modifier: UnsafeRawBufferPointer, modifiedMilliseconds: Int64)? {
        guard ByteOrder.compare(Names.shareType, head(of: record).type) == 0,
            let share = content(of: UInt64(SharingPart.storedShareNumber), in: record),
            let change = content(of: ShownNumbers.shown, in: share),
            let modifier = content(of: ShownNumbers.modifier, in: change)
        else { return nil }
        var reader = WireReader(change)
        while let element = try? reader.next() {
            if element.number == ShownNumbers.milliseconds { return (modifier, Int64(bitPattern: element.scalar)) }
        }
        return (modifier, 0)
    }

    /// Fields of `brume.store.v1.StoredShare` and `StoredShownChange`.
    private enum ShownNumbers {
        static let shown: UInt64 = 7
        static let modifier: UInt64 = 3
        static let milliseconds: UInt64 = 4
    }

    private static func content(of number: UInt64, in message: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer? {
        var reader = WireReader(message)
        while let element = try? reader.next() {
            if element.number == number { return element.content }
        }
        return nil
    }

    /// A checked record with other system fields, and something else to say of sharing. Its fields are copied as they
    /// are.
    package static func resharing(
        _ record: SharedBytes, _ part: SharingPart, _ change: (inout SystemFields) -> Void
    ) throws(ServiceError) -> [UInt8] {
        let fieldsStart = withoutFields(record).count
        var system = try parts(of: record.part(0..<fieldsStart)).system
        change(&system)
        var bytes = encode(system, sharing: part, fields: [])
        bytes.reserveCapacity(bytes.count + record.count - fieldsStart)
        record.part(fieldsStart..<record.count).withUnsafeBytes { bytes.append(contentsOf: $0) }
        return bytes
    }

    /// A checked record's system fields alone.
    package static func withoutFields(_ record: SharedBytes) -> SharedBytes {
        let count = record.withUnsafeBytes { bytes in
            var reader = WireReader(bytes)
            while let element = try? reader.next() {
                if element.number >= UInt64(fieldsNumber) { return element.range.lowerBound }
            }
            return bytes.count
        }
        return record.part(0..<count)
    }
}
