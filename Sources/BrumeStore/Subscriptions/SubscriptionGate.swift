package import BrumeModel

/// What users may subscribe to and be told of, as the schema and its roles say: asked when a subscription is saved, and
/// again for every record that it would tell of.
package struct SubscriptionGate: Sendable {
    /// Why the user may not subscribe to such records, or nil. In a private database the user is its owner.
    package var refusal: @Sendable (_ query: QuerySubscription, _ user: String) -> ServiceError?
    /// Whether the user may read a record of the type that this user made.
    package var mayRead: @Sendable (_ recordType: String, _ creator: String, _ user: String) -> Bool
    /// Whether everybody may read all records of the type, as is usual: then nobody is asked about one by one.
    package var isReadByAll: @Sendable (_ recordType: String) -> Bool
    /// The fields of a type's records that searches look into.
    package var searchableFields: @Sendable (_ recordType: String) -> SearchableFields
    /// A number that changes when the answers may. So a schema may change without a look at each database that it holds
    /// for: what a database has worked out is forgotten with its next commit.
    package var version: @Sendable () -> UInt64

    package init(
        refusal: @escaping @Sendable (_ query: QuerySubscription, _ user: String) -> ServiceError?,
        mayRead: @escaping @Sendable (_ recordType: String, _ creator: String, _ user: String) -> Bool,
        isReadByAll: @escaping @Sendable (_ recordType: String) -> Bool = { _ in false },
        searchableFields: @escaping @Sendable (_ recordType: String) -> SearchableFields = { _ in .all },
        version: @escaping @Sendable () -> UInt64 = { 0 }
    ) {
        self.refusal = refusal
        self.mayRead = mayRead
        self.isReadByAll = isReadByAll
        self.searchableFields = searchableFields
        self.version = version
    }

    /// The gate where no schema exists: everybody who may open the database may read all of it.
    package static let open = SubscriptionGate(
        refusal: { _, _ in nil }, mayRead: { _, _, _ in true }, isReadByAll: { _ in true })
}
