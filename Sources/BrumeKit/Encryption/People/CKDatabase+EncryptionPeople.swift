internal import BrumeEncryption
internal import BrumeModel

/// The people with whom something is shared, and who of them has its encryption keys.
extension CKDatabase {
    /// Brume's addition: the people with whom a record is shared and whose encryption keys matter for that: its owner,
    /// those who have its keys, and those who wait for them. The account itself is not among them.
    ///
    /// In the private database those get the keys first who wait and came by the share's link. Whoever is still waiting
    /// then came without it, or by one that was replaced: the app shows them, and a person decides
    /// (``giveEncryptionKeys(to:)``). Of another's shares, in the shared database, those alone are told of as waiting
    /// who asked for this account. Somebody whose keys the server does not show is left out.
    ///
    /// - Parameter rootRecordID: The record that is shared, which the app has to name: a server is not believed which
    ///   one a share is of.
    /// - Returns: In the order of their user record names; none where nothing is encrypted in what is shared.
    /// - Throws: `unknownItem` where the account has no encryption keys yet; `accountTemporarilyUnavailable` where this
    ///   device does not have them, or the server shows other keys of the share than it knows; `invalidArguments` in
    ///   the public database, and for a zone that this database can't have; `zoneNotFound`; what calls to the server
    ///   throw.
    public func encryptionPeople(
        ofShared rootRecordID: CKRecord.ID
    ) async throws(CKError) -> [CKContainer.EncryptionPerson] {
        try await encryptionPeople(rootRecordID.treeRingID, in: rootRecordID.zoneID)
    }

    /// Brume's addition: the same for a zone that is shared as a whole.
    public func encryptionPeople(
        of zoneID: CKRecordZone.ID
    ) async throws(CKError) -> [CKContainer.EncryptionPerson] {
        try await encryptionPeople(zoneID.ringID, in: zoneID)
    }

    private func encryptionPeople(
        _ ring: ZoneRingID, in zoneID: CKRecordZone.ID
    ) async throws(CKError) -> [CKContainer.EncryptionPerson] {
        let problem =
            databaseScope == .public
            ? "nothing is encrypted there"
            : ring.root == CKRecordNameZoneWideShare
                ? "\(ring.root) is a share; name what it is of" : problem(of: zoneID)
        if let problem {
            throw CKError(
                .invalidArguments,
                message: "the people of zone \(zoneID.zoneName.quotedName) can't be listed: \(problem)")
        }
        let account = core.account
        let (own, others) = try await account.encryptedZones.people(ring, for: account, callOptions)
        var people: [CKContainer.EncryptionPerson] = []
        for person in others {
            guard let digits = try? SafetyNumber.digits(of: own.chain, and: person.statements.chain) else { continue }
            people.append(
                CKContainer.EncryptionPerson(
                    person, ring: ring, to: own.chain.last.scope.account, safetyNumber: digits.grouped(by: 5)))
        }
        return people
    }

    /// Brume's addition: gives somebody the encryption keys of what is shared, since a person has decided so.
    ///
    /// It is for those of ``encryptionPeople(ofShared:)`` who are waiting: they accepted without the share's
    /// link, or by one that was replaced, or before there were keys. They read all that was encrypted in it, and write
    /// as the share permits. Whether they are who they seem to be is the server's word, unless you compared the safety
    /// numbers before (``CKContainer/trust(_:)``). For somebody who has the keys nothing changes.
    ///
    /// - Throws: `invalidArguments` for a share of another's, whose owner gives its keys; `permissionFailure` where
    ///   this device knows other keys of the user; `unknownItem` where they are not waiting any more, or with other
    ///   keys: list the people again; `accountTemporarilyUnavailable` where this device does not have the account's
    ///   keys, or the server shows other keys of the share than it knows; what calls to the server throw.
    public func giveEncryptionKeys(to person: CKContainer.EncryptionPerson) async throws(CKError) {
        let name = person.userRecordID.recordName
        guard databaseScope == .private, person.ring.owner.isEmpty else {
            throw CKError(
                .invalidArguments,
                message: "\(name) can't be given encryption keys here: the owner of what is shared does that, in the "
                    + "private database")
        }
        if person.standing == .changed {
            throw CKError(
                .permissionFailure,
                message: "the server shows other keys of user \(name) than this device knows: they began anew, or the "
                    + "server lies; compare the safety numbers, and where they are the same, CKContainer.trust(_:)")
        }
        let account = core.account
        guard try await account.keyFolders.folder(of: account, callOptions).place.scope.account == person.account else {
            throw person.isAnothers
        }
        guard try await account.encryptedZones.giveKeys(to: person.person, person.ring, for: account, callOptions)
        else {
            throw CKError(
                .unknownItem,
                message:
                    "user \(name) is not waiting for these encryption keys any more, or has other keys of their own "
                    + "by now; list the people again")
        }
    }
}

extension String {
    /// The characters in groups, with spaces between them.
    fileprivate func grouped(by count: Int) -> String {
        var text = ""
        for (index, character) in enumerated() {
            if index > 0, index.isMultiple(of: count) { text.append(" ") }
            text.append(character)
        }
        return text
    }
}
