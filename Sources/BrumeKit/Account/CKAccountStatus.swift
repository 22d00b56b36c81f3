public import Foundation

/// Whether this process can use a user's private database.
///
/// Differs from CloudKit: the account is the one whose token the container was configured with.
public enum CKAccountStatus: Int, Sendable {
    /// An error kept the container from finding out.
    case couldNotDetermine = 0
    /// The account can be used.
    case available = 1
    /// A restriction forbids the use of the account. Servers of this version have none; the testing kit does.
    case restricted = 2
    /// No account is signed in, or the server knows its token no more.
    case noAccount = 3
    /// There is an account, but it can't be used just now. Servers of this version never say so; the testing kit does.
    case temporarilyUnavailable = 4
}

extension Notification.Name {
    /// Posted when a container's account changes, or what can be done with it: on ``CKContainer/signIn(token:)`` and
    /// ``CKContainer/signOut()``, when the server refuses the account that it took before (its token was revoked) or
    /// takes it again, and when the server answers after ``CKContainer/accountStatus()`` could not determine the
    /// status. Ask the container for the new status.
    ///
    /// Posted on a queue of the SDK's, one after the other, while the container lives, which is the notification's
    /// object. What the server does shows where there is a connection, which the first call opens; while an account is
    /// refused, the SDK looks every 1 to 30 minutes whether the server takes it again, and every call looks too.
    public static let CKAccountChanged = Notification.Name("CKAccountChangedNotification")
}
