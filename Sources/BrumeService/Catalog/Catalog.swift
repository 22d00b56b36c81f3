package import BrumeModel

/// The accounts of a server with their tokens and quotas, the schemas of its containers with the members of their
/// roles, and its secrets.
///
/// Look-ups are answered from memory. A change takes effect once it is durable, however long that takes: until then
/// look-ups don't see it, and a change that fails leaves everything as it was.
///
/// Changes are made one after the other in the order that they are asked for, those of accounts and those of schemas
/// alike. Each is decided by what the ones before it left, so none is lost to another that was under way.
///
/// A data folder is one. Tests have another, of which they decide when a change becomes durable, and whether it does.
package protocol Catalog: AnyObject, Sendable {
    var secrets: ServerSecrets { get }

    /// The accounts, as far as changes have taken effect. Any thread.
    var accounts: AccountDirectory { get }

    /// The schemas of the containers that have any. On the admin loop, or before the loops run.
    var schemas: [String: ContainerSchemas] { get }

    /// Changes an account. On the admin loop.
    ///
    /// - Parameter done: Called there when the change is in effect, or has failed: before this returns or later.
    func change(
        _ change: AccountChange, then done: @escaping @Sendable (Result<AccountChange.Effect, AccountError>) -> Void)

    /// Changes the schemas of a container. On the admin loop.
    ///
    /// - Parameters:
    ///   - change: Called there once, with the schemas as the changes before have left them.
    ///   - done: Called there with the schemas in effect, changed or not, or with why they stayed as they were: before
    ///     this returns or later.
    func changeSchemas(
        of container: String, _ change: @escaping SchemaChange,
        then done: @escaping @Sendable (Result<ContainerSchemas, ServiceError>) -> Void)
}

/// A change of a container's schemas, which it may refuse.
package typealias SchemaChange = @Sendable (inout ContainerSchemas) throws(ServiceError) -> Void
