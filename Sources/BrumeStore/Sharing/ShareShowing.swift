internal import BrumeModel
internal import BrumeRecord

/// Shows a user records that concern sharing: of shares what the user may see of them, of roots the name of the share.
struct ShareShowing {
    /// The zone's owner, and the user who is shown the records: user record names.
    let owner: String
    let user: String
    /// The zone's incarnation.
    let zone: UInt64
    let addresses: ShareAddresses

    /// A record that is or was the root of a share. Its parent, which is not shared with it, is its owner's alone.
    func shown(_ record: SharedBytes) -> SharedBytes {
        if user == owner || record.withUnsafeBytes({ StoredRecord.rootedShare(of: $0) }).isEmpty {
            return StoredRecord.shown(record)
        }
        do throws(ServiceError) {
            return try StoredRecord.introducingRoot(record)
        } catch {
            preconditionFailure("a root that was checked can't be read")
        }
    }

    /// The record of a share that was read.
    func shown(_ record: SharedBytes, _ share: Share) -> SharedBytes {
        guard let viewer = share.viewer(user, owner: owner) else { return StoredRecord.shown(record) }
        return StoredRecord.shown(
            asChanged(record, share, for: viewer), details: ShareViewCoder.encode(view(share, for: viewer)))
    }

    /// The record of a share with the last change that a viewer is shown of it.
    func asChanged(_ record: SharedBytes, _ share: Share, for viewer: Share.Viewer) -> SharedBytes {
        guard let change = share.shown(to: viewer) else { return record }
        do throws(ServiceError) {
            return try StoredRecord.showing(change, of: record)
        } catch {
            preconditionFailure("a share that was checked can't be read")
        }
    }

    func view(_ share: Share, for viewer: Share.Viewer) -> ShareView {
        share.view(for: viewer, owner: owner) { secret, oneTimeSecret in
            addresses.url(ShareLink(zone: zone, secret: secret, oneTimeSecret: oneTimeSecret))
        }
    }
}

extension RecordSlot {
    /// The share that the record is; nil for all others.
    var share: Share? { sharing?.decodedShare }
}

extension ShownChange {
    /// The last change of a record that was checked.
    init(of record: SharedBytes, at position: ChangePosition) {
        guard let system = try? StoredRecord.parts(of: StoredRecord.withoutFields(record)).system else {
            preconditionFailure("a share that was checked can't be read")
        }
        self.init(
            position: position, changeTag: system.changeTag, modifier: system.modifier,
            modifiedMilliseconds: system.modifiedMilliseconds)
    }
}

extension SharingPart {
    /// The share in a record that was checked when it came into memory; nil for all other records.
    var decodedShare: Share? { decoded(by: ShareCoder.decode) }

    /// What of it those are shown who don't manage it: see ``ShareCoder/decodeFront(_:)``.
    var decodedFront: Share? { decoded(by: ShareCoder.decodeFront) }

    /// The share as far as a user may be shown it.
    func share(shownTo user: String, owner: String) -> Share? {
        if user != owner, let front = decodedFront, !front.isManaged(by: user, owner: owner) { return front }
        return decodedShare
    }

    private func decoded(by decode: (UnsafeRawBufferPointer) throws(ServiceError) -> Share) -> Share? {
        if storedShare.isEmpty { return nil }
        guard let share = try? storedShare.withUnsafeBytes({ try decode($0) }) else {
            preconditionFailure("a share that was checked can't be read")
        }
        return share
    }
}

/// A record as a user is shown it, and the bytes that it counts for in a page.
struct ShownRecord {
    let record: SharedBytes
    let cost: Int
    /// The bytes that were read for it, as far as that may tell of them.
    let readBytes: Int
    /// Bytes of the assets that its fields name.
    let assetBytes: UInt64

    init(_ record: SharedBytes, readBytes: Int, assetBytes: UInt64 = 0) {
        self.record = record
        cost = record.count
        self.readBytes = readBytes
        self.assetBytes = assetBytes
    }

    /// A share: what was read of it counts, too, and its URLs take longer than their bytes.
    init(_ record: SharedBytes, ofShareWith storedBytes: Int) {
        self.record = record
        cost = storedBytes + 2 * record.count
        readBytes = storedBytes
        assetBytes = 0
    }
}

extension Database {
    /// A record that exists, for an answer.
    ///
    /// - Parameters:
    ///   - desiredKeys: Its fields; nil for all.
    ///   - zone: The incarnation of its zone. Asked, as the user is, only for what concerns sharing.
    func shown(
        _ slot: Int32, of slots: RecordSlots, _ desiredKeys: DesiredKeys?, zone: @autoclosure () -> UInt64,
        to user: @autoclosure () -> String
    ) -> ShownRecord {
        let record = Database.project(slots.bytes(of: slot), desiredKeys)
        let byteCount = slots.byteCount(of: slot)
        let marks = slots.marks(of: slot)
        let assetBytes = marks.contains(.assets) ? Database.assetBytes(of: record) : 0
        guard marks.contains(.sharing) else {
            return ShownRecord(record, readBytes: byteCount, assetBytes: assetBytes)
        }
        let showing = showing(to: user(), zone: zone())
        guard let part = slots[slot].sharing, let share = part.share(shownTo: showing.user, owner: showing.owner) else {
            return ShownRecord(showing.shown(record), readBytes: byteCount, assetBytes: assetBytes)
        }
        let shown = showing.shown(record, share)
        let isManager = share.isManaged(by: showing.user, owner: showing.owner)
        return ShownRecord(shown, ofShareWith: isManager ? byteCount : Limits.shareBytesCharged + shown.count)
    }

    /// - Parameter zone: The incarnation of the zone whose records are shown.
    func showing(to user: String, zone: UInt64) -> ShareShowing {
        ShareShowing(owner: id.owner, user: user, zone: zone, addresses: shareAddresses)
    }
}
