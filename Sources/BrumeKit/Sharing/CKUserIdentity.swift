public import Foundation

/// A user, as far as another user may know them.
///
/// Immutable, so it may be passed between threads. Equal when id, lookup info, name and account are.
public class CKUserIdentity: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all is immutable.

    /// The user's record id; nil when it is not known.
    public let userRecordID: CKRecord.ID?

    /// What the user was looked up by.
    public let lookupInfo: LookupInfo?

    /// The user's name; nil when it is not known.
    public let nameComponents: PersonNameComponents?

    /// True: the server does not tell who has an account.
    public let hasiCloudAccount: Bool

    /// Contacts of the device that are this user. Empty.
    @available(*, deprecated, message: "No longer supported")
    public var contactIdentifiers: [String] { [] }

    init(
        userRecordID: CKRecord.ID?, lookupInfo: LookupInfo? = nil, nameComponents: PersonNameComponents? = nil,
        hasiCloudAccount: Bool
    ) {
        self.userRecordID = userRecordID
        self.lookupInfo = lookupInfo
        self.nameComponents = nameComponents
        self.hasiCloudAccount = hasiCloudAccount
    }

    /// A user whom the server names.
    convenience init(user: String, context: AnswerContext) {
        self.init(
            userRecordID: CKRecord.ID(recordName: context.shown(user)),
            lookupInfo: LookupInfo(userRecordID: CKRecord.ID(recordName: user)), hasiCloudAccount: true)
    }

    /// The user record name as the server knows it, or nil.
    var userName: String? { lookupInfo?.userRecordID?.recordName ?? userRecordID?.recordName }

    /// Whether both are known to be one user: one record id, or one lookup info.
    func isSameUser(as other: CKUserIdentity) -> Bool {
        if let userRecordID, let otherID = other.userRecordID { return userRecordID == otherID }
        if let lookupInfo, let otherInfo = other.lookupInfo { return lookupInfo.isSameUser(as: otherInfo) }
        return false
    }

    /// Whether both say the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentity else { return false }
        return self === other
            || userRecordID == other.userRecordID && lookupInfo == other.lookupInfo
                && nameComponents == other.nameComponents && hasiCloudAccount == other.hasiCloudAccount
    }

    /// Equal for equal identities.
    public override var hash: Int { userRecordID?.hash ?? lookupInfo?.hash ?? 0 }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the identity into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKUserIdentity.self)
        if let userRecordID { coder.encode(userRecordID, forKey: "UserRecordID") }
        if let lookupInfo { coder.encode(lookupInfo, forKey: "LookupInfo") }
        coder.encodeIfPresent(nameComponents?.givenName, forKey: "GivenName")
        coder.encodeIfPresent(nameComponents?.familyName, forKey: "FamilyName")
        coder.encode(hasiCloudAccount, forKey: "HasICloudAccount")
    }

    /// Reads an archived identity; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKUserIdentity.self)
        guard coder.containsValue(forKey: "HasICloudAccount") else { return nil }
        userRecordID = coder.objectIfPresent(of: CKRecordID.self, forKey: "UserRecordID")
        lookupInfo = coder.objectIfPresent(of: CKUserIdentityLookupInfo.self, forKey: "LookupInfo")
        hasiCloudAccount = coder.decodeBool(forKey: "HasICloudAccount")
        let names = (
            given: coder.stringIfPresent(forKey: "GivenName"), family: coder.stringIfPresent(forKey: "FamilyName")
        )
        if names.given != nil || names.family != nil {
            var components = PersonNameComponents()
            components.givenName = names.given
            components.familyName = names.family
            nameComponents = components
        } else {
            nameComponents = nil
        }
    }
}

extension CKUserIdentity {
    /// What a user is looked up by.
    public typealias LookupInfo = CKUserIdentityLookupInfo
}
