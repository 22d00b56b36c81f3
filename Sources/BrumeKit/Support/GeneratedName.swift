internal import Foundation

/// The names of records, subscriptions and shares that the app does not name itself.
package enum GeneratedName {
    /// Makes the names in the current task and in the tasks that it starts; nil: each name is a new UUID. For tests
    /// that compare output between runs.
    @TaskLocal package static var source: (@Sendable () -> String)?

    static var next: String { source?() ?? UUID().uuidString }
}

extension CKRecordID {
    /// For the default argument of a public initialiser.
    @usableFromInline static var newRecordName: String { GeneratedName.next }
}
