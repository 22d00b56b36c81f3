public import Foundation

/// What a user is looked up by: a mail address, a telephone number or a record id. Used as `CKUserIdentity.LookupInfo`.
///
/// Immutable, so it may be passed between threads. Equal when the three are.
public class CKUserIdentityLookupInfo: NSObject, NSSecureCoding, NSCopying, @unchecked Sendable {
    // Sendable: all is immutable.

    /// The mail address.
    public let emailAddress: String?
    /// The telephone number.
    public let phoneNumber: String?
    /// The record id.
    public let userRecordID: CKRecord.ID?

    private init(emailAddress: String?, phoneNumber: String?, userRecordID: CKRecord.ID?) {
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.userRecordID = userRecordID
    }

    /// Looks up by mail address.
    public convenience init(emailAddress: String) {
        self.init(emailAddress: emailAddress, phoneNumber: nil, userRecordID: nil)
    }

    /// Looks up by telephone number.
    public convenience init(phoneNumber: String) {
        self.init(emailAddress: nil, phoneNumber: phoneNumber, userRecordID: nil)
    }

    /// Looks up by record id.
    public convenience init(userRecordID: CKRecord.ID) {
        self.init(emailAddress: nil, phoneNumber: nil, userRecordID: userRecordID)
    }

    /// A lookup info for each mail address.
    public class func lookupInfos(withEmails emails: [String]) -> [CKUserIdentityLookupInfo] {
        emails.map { CKUserIdentityLookupInfo(emailAddress: $0) }
    }

    /// A lookup info for each telephone number.
    public class func lookupInfos(withPhoneNumbers phoneNumbers: [String]) -> [CKUserIdentityLookupInfo] {
        phoneNumbers.map { CKUserIdentityLookupInfo(phoneNumber: $0) }
    }

    /// A lookup info for each record id.
    public class func lookupInfos(with recordIDs: [CKRecord.ID]) -> [CKUserIdentityLookupInfo] {
        recordIDs.map { CKUserIdentityLookupInfo(userRecordID: $0) }
    }

    /// Whether both look up the same.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKUserIdentityLookupInfo else { return false }
        return emailAddress == other.emailAddress && phoneNumber == other.phoneNumber
            && userRecordID == other.userRecordID
    }

    /// Equal for equal lookup infos.
    public override var hash: Int { emailAddress?.hash ?? phoneNumber?.hash ?? userRecordID?.hash ?? 0 }

    /// The receiver itself, which can't change.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Archives are read under secure coding.
    public class var supportsSecureCoding: Bool { true }

    /// Writes the lookup info into a keyed archive.
    public func encode(with coder: NSCoder) {
        coder.requireKeyedCoding(for: CKUserIdentityLookupInfo.self)
        coder.encodeIfPresent(emailAddress, forKey: "EmailAddress")
        coder.encodeIfPresent(phoneNumber, forKey: "PhoneNumber")
        if let userRecordID { coder.encode(userRecordID, forKey: "UserRecordID") }
    }

    /// Reads an archived lookup info; nil when the archive holds none.
    public required init?(coder: NSCoder) {
        coder.requireKeyedCoding(for: CKUserIdentityLookupInfo.self)
        emailAddress = coder.stringIfPresent(forKey: "EmailAddress")
        phoneNumber = coder.stringIfPresent(forKey: "PhoneNumber")
        userRecordID = coder.objectIfPresent(of: CKRecordID.self, forKey: "UserRecordID")
        if emailAddress == nil, phoneNumber == nil, userRecordID == nil { return nil }
    }
}
