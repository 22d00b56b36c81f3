extension CKDatabase {
    /// Brume's addition: goes on with what the server shows for a zone's encryption keys, where it is not what this
    /// device knows.
    ///
    /// That is so after a restored backup, when devices changed the keys before and after it; or the server lies. Until
    /// a person has decided nothing is encrypted in the zone on this device, and saves fail with
    /// `accountTemporarilyUnavailable`. Afterwards this device reads what was encrypted on either side, and the zone
    /// has a new key, which no device has that was removed. Other devices read what was encrypted with the keys that
    /// ended once this one has saved those records again. Does nothing where the two are the same.
    ///
    /// In the shared database it is for a guest whom the share's newest link does not take on, since somebody is a
    /// member again who was none: whoever is among ``encryptionPeople(ofShared:)`` afterwards reads what this device
    /// encrypts there. A device with the owner's newest keys has to have made what is shown. Nothing is read of the
    /// other side that this device did not know, and the keys stay as they are.
    ///
    /// A server that shows fewer keys gets the others back without that, and a zone that was deleted and made anew has
    /// new ones.
    ///
    /// When to call it: ``CKContainer/encryptionStatus()`` is `available`, and a save of an encrypted value fails with
    /// `accountTemporarilyUnavailable` all the same.
    ///
    /// - Returns: Whether there was anything to decide.
    /// - Throws: `invalidArguments` in the public database, and for a zone that this database can't have;
    ///   `zoneNotFound`; `limitExceeded` where the zone's keys have branched 15 times; `accountTemporarilyUnavailable`
    ///   where this device does not have the account's keys, or what the server shows is not made by devices of the
    ///   zone's owner, is of an earlier zone of this name, or says otherwise whether the zone's files are encrypted;
    ///   what calls to the server throw.
    @discardableResult
    public func acceptEncryptionKeys(of zoneID: CKRecordZone.ID) async throws(CKError) -> Bool {
        try await acceptEncryptionKeys(zoneID.ringID, in: zoneID)
    }

    /// Brume's addition: the same for the keys of a shared record and what is below it, which are others than its
    /// zone's.
    @discardableResult
    public func acceptEncryptionKeys(ofShared rootRecordID: CKRecord.ID) async throws(CKError) -> Bool {
        try await acceptEncryptionKeys(rootRecordID.treeRingID, in: rootRecordID.zoneID)
    }

    private func acceptEncryptionKeys(
        _ ring: ZoneRingID, in zoneID: CKRecordZone.ID
    ) async throws(CKError) -> Bool {
        let problem: String? =
            switch databaseScope {
            case .private, .shared: problem(of: zoneID)
            case .public: "nothing is encrypted in the public database"
            }
        if let problem {
            throw CKError(
                .invalidArguments,
                message: "zone \(zoneID.zoneName.quotedName) can't have its keys accepted: \(problem)")
        }
        let account = core.account
        return try await account.encryptedZones.accept(ring, for: account, callOptions)
    }
}
