internal import BrumeEncryption
internal import BrumeModel

extension CKContainer {
    /// Brume's addition: somebody else with whom something is shared, and their encryption keys as the server shows
    /// them; see ``CKDatabase/encryptionPeople(ofShared:)``.
    ///
    /// It is of the moment at which the server was asked. What a person decides about it holds for these keys alone.
    public struct EncryptionPerson: Identifiable, Hashable, Sendable {
        /// How this device knows somebody's keys.
        public enum Standing: Hashable, Sendable {
            /// It does not: they are the server's word.
            case unknown
            /// The server showed them first, and they have gone on by the user's own signatures since.
            case seen
            /// The link of a share that they own proves them.
            case link
            /// A person compared the safety numbers; see ``CKContainer/trust(_:)``.
            case compared
            /// This device knows other ones: the user began anew, or the server lies. It gives these no keys until a
            /// person trusts them. Another device of the owner's may have done so: then they are a member by its word.
            case changed
        }

        /// The user whom the server names for the keys.
        public let userRecordID: CKRecord.ID
        /// How this device knows the keys.
        public internal(set) var standing: Standing
        /// Whether they have the keys of what is shared, as the server shows it.
        public let isMember: Bool
        /// Whether they take part in what is shared and wait for its keys. A device of the owner's gives them by
        /// itself to whoever came by the share's whole link; for others a person decides
        /// (``CKDatabase/giveEncryptionKeys(to:)``).
        public let isWaiting: Bool
        /// Sixty digits in groups of five: the same on both users' devices if, and only if, each sees the other's
        /// genuine keys.
        public let safetyNumber: String

        /// The user's: one list has each once.
        public var id: CKRecord.ID { userRecordID }

        let person: ShownPerson
        let ring: ZoneRingID
        /// For whom they are shown: a user record name.
        let account: String

        init(_ person: ShownPerson, ring: ZoneRingID, to account: String, safetyNumber: String) {
            self.account = account
            userRecordID = CKRecord.ID(recordName: person.user)
            standing =
                switch person.trust {
                case _ where person.isOther: .changed
                case .seen?: .seen
                case .link?: .link
                case .compared?: .compared
                case nil: .unknown
                }
            (isMember, isWaiting) = (person.isMember, person.isWaiting)
            self.safetyNumber = safetyNumber
            (self.person, self.ring) = (person, ring)
        }
    }

    /// Brume's addition: takes somebody's encryption keys for theirs, since a person has compared the safety numbers.
    ///
    /// Both users look at ``EncryptionPerson/safetyNumber`` of the other, each on a device of their own, and compare
    /// them side by side or on the phone: not by what the server carries. Where they are the same, both devices see
    /// genuine keys, and trusting says so on this one. Where this device knew other keys of the user, it knows these
    /// from now on: that is so after the user's ``resetEncryption()``, and where an owner reset, accept the new share
    /// by its link afterwards.
    ///
    /// It gives nobody keys: ``CKDatabase/giveEncryptionKeys(to:)`` does, with the person that this returns. Other
    /// devices of the account decide for themselves.
    ///
    /// - Returns: The same person, as ``EncryptionPerson/Standing/compared``.
    /// - Throws: `invalidArguments` for somebody of another container or environment; `internalError` where the state
    ///   folder can't be used; `zoneBusy` where another process keeps writing to it; what calls to the server throw.
    @discardableResult
    public func trust(_ person: EncryptionPerson) async throws(CKError) -> EncryptionPerson {
        let account = core.account
        let scope = try await account.keyFolders.folder(of: account, callOptions).place.scope
        let shown = person.person.statements.chain.last.scope
        guard shown.container == scope.container, shown.environment == scope.environment,
            scope.account == person.account
        else { throw person.isAnothers }
        try await account.encryptedZones.trust(person.person, person.ring, for: account, callOptions)
        var trusted = person
        trusted.standing = .compared
        return trusted
    }
}

extension CKContainer.EncryptionPerson {
    /// Why nothing is done with somebody who was listed for another account.
    var isAnothers: CKError {
        CKError(
            .invalidArguments,
            message: "\(userRecordID.recordName) was listed for another account, container or environment; list the "
                + "people again")
    }
}

extension CKContainer.EncryptionPerson: CustomStringConvertible, CustomReflectable {
    /// The user's record name.
    public var description: String { userRecordID.recordName }

    /// What an app sees, for `dump`.
    public var customMirror: Mirror {
        Mirror(
            self,
            children: [
                "userRecordID": userRecordID, "standing": standing, "isMember": isMember, "isWaiting": isWaiting,
                "safetyNumber": safetyNumber,
            ])
    }
}
