internal import BrumeModel

/// The rules for a query, whatever the data, beside those that its decoder has checked.
enum QueryRules {
    /// The query as it runs for the caller.
    ///
    /// - Parameters:
    ///   - caller: The user record name; empty without an account.
    ///   - followsCloudKit: Whether what CloudKit refuses is refused here too.
    static func checked(
        _ query: Query, caller: String, followsCloudKit: Bool
    ) throws(ServiceError) -> Query {
        if query.recordType == Names.userRecordType { throw Schema.userRecordRefusal }
        if followsCloudKit, let problem = query.predicate.problemUnderCloudKitRules() {
            throw problem
        }
        guard let predicate = query.predicate.resolvingCurrentUser(caller) else {
            throw ServiceError(
                .notAuthenticated,
                "the query compares with the current user, and there is none; connect with an account's token")
        }
        return Query(
            recordType: query.recordType, predicate: predicate, sortDescriptors: query.sortDescriptors)
    }
}
