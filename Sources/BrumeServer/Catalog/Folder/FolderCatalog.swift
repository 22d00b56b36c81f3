internal import BrumeModel
internal import BrumeService

/// The catalog of a server that keeps everything in a data folder: a file with the accounts, a file for the schemas of
/// each container, and the files of the secrets.
///
/// Changes wait for the disk on the admin loop, so each is in effect, or has failed, before it returns.
final class FolderCatalog: Catalog {
    let secrets: ServerSecrets
    /// Other threads change it as well: see ``Server/addAccount(name:email:id:)`` and its like.
    private let store: AccountStore
    private let registry: SchemaRegistry

    init(secrets: ServerSecrets, accounts: AccountStore, schemas: SchemaRegistry) {
        self.secrets = secrets
        store = accounts
        registry = schemas
    }

    var accounts: AccountDirectory { store.directory }

    var schemas: [String: ContainerSchemas] { registry.containers }

    func change(
        _ change: AccountChange, then done: @escaping @Sendable (Result<AccountChange.Effect, AccountError>) -> Void
    ) {
        do throws(AccountError) {
            done(.success(try store.change(change)))
        } catch {
            done(.failure(error))
        }
    }

    func changeSchemas(
        of container: String, _ change: @escaping SchemaChange,
        then done: @escaping @Sendable (Result<ContainerSchemas, ServiceError>) -> Void
    ) {
        do throws(ServiceError) {
            done(.success(try registry.change(container, change)))
        } catch {
            done(.failure(error))
        }
    }
}
