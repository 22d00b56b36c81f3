public import Foundation

/// Whether this process can use a user's private database.
///
/// Differs from CloudKit: the account is the one whose token the container was configured with.
public enum CKAccountStatus: Int, Sendable {
    /// An error kept the container from finding out.
    case couldNotDetermine = 0
    /// The account can be used.
    case available = 1
    /// A restriction forbids the use of the account.
    case restricted = 2
    /// No account is signed in.
    case noAccount = 3
    /// There is an account, but it can't be used just now.
    case temporarilyUnavailable = 4
}

extension Notification.Name {
    /// Posted when the status of the account changes. Ask the container for the new status.
    public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
}
