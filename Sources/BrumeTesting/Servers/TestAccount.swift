public import BrumeKit

/// An account of a test server.
public struct TestAccount: Hashable, Sendable {
    /// As tests name it.
    public let name: String
    /// The name at example.com.
    public let email: String
    /// What proves the account to the server.
    public let token: String
    /// The id of its user record in the server's container and environment.
    public let userRecordID: CKRecord.ID

    init(name: String, email: String, token: String, userRecordName: String) {
        self.name = name
        self.email = email
        self.token = token
        userRecordID = CKRecord.ID(recordName: userRecordName)
    }
}

extension TestAccount: CustomStringConvertible, CustomDebugStringConvertible {
    /// The account's name, without its token.
    public var description: String { "TestAccount(\(name), \(userRecordID.recordName))" }

    /// The same as ``description``.
    public var debugDescription: String { description }
}
