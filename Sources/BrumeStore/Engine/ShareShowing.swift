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

    func shown(_ record: SharedBytes) -> SharedBytes {
        let part = record.withUnsafeBytes { StoredRecord.sharing(of: $0) }
        return part.storedShare.isEmpty ? StoredRecord.shown(record) : shown(record, ShareShowing.share(part))
    }

    /// The same for the record of a share that was read.
    func shown(_ record: SharedBytes, _ share: Share) -> SharedBytes {
        guard let viewer = share.viewer(user, owner: owner) else { return StoredRecord.shown(record) }
        return StoredRecord.shown(record, details: ShareViewCoder.encode(view(share, for: viewer)))
    }

    func view(_ share: Share, for viewer: Share.Viewer) -> ShareView {
        share.view(for: viewer, owner: owner) { secret, oneTimeSecret in
            addresses.url(ShareLink(zone: zone, secret: secret, oneTimeSecret: oneTimeSecret))
        }
    }

    /// The share in a record that was checked when it came into memory.
    static func share(_ part: SharingPart) -> Share {
        guard let share = try? part.storedShare.withUnsafeBytes({ try ShareCoder.decode($0) }) else {
            preconditionFailure("a share that was checked can't be read")
        }
        return share
    }
}

extension Database {
    /// - Parameter zone: The incarnation of the zone whose records are shown.
    func showing(to user: String, zone: UInt64) -> ShareShowing {
        ShareShowing(owner: id.owner, user: user, zone: zone, addresses: shareAddresses)
    }
}
