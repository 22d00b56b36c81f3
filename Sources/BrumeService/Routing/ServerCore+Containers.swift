internal import BrumeModel
internal import BrumeStore
internal import BrumeSystem

/// What the operator is told about containers.
extension ServerCore {
    /// Gives a page of the containers. On the admin loop.
    func listContainers(after name: String, _ give: @escaping @Sendable (AdminOutcome) -> Void) {
        let rest = knownContainers.filter { $0 > name }.sorted()
        let page = rest.prefix(ServiceLimits.containersPerPage).map { name in
            let schemas = catalog.schemas[name] ?? ContainerSchemas(container: name)
            return ContainerSummary(
                name: name,
                development: ContainerEnvironment(recordTypes: ownTypeCount(of: schemas.development.schema)),
                production: ContainerEnvironment(recordTypes: ownTypeCount(of: schemas.production.schema)))
        }
        let answer = ContainerPage(
            containers: page, moreComing: page.count < rest.count, publicQuotaBytes: configuration.publicQuotaBytes)
        addPublicBytes(to: answer, at: 0) { give(.success(.containers($0))) }
    }

    /// How many record types a schema has beside that of user records, which every schema has.
    private func ownTypeCount(of schema: Schema) -> Int {
        schema.recordTypes.count { $0.key != Names.userRecordType }
    }

    /// Adds what the public databases hold, from the container at `index` on. On the admin loop.
    private func addPublicBytes(
        to page: ContainerPage, at index: Int, _ done: @escaping @Sendable (ContainerPage) -> Void
    ) {
        guard index < page.containers.count else { return done(page) }
        let name = page.containers[index].name
        publicBytes(of: name, .development) { [self] development in
            publicBytes(of: name, .production) { [self] production in
                var page = page
                page.containers[index].development.publicBytes = development
                page.containers[index].production.publicBytes = production
                addPublicBytes(to: page, at: index + 1, done)
            }
        }
    }

    /// What a public database holds: asked of its loop while it is in memory, and of its snapshot otherwise. `done` is
    /// called on the admin loop.
    private func publicBytes(
        of container: String, _ environment: Environment, _ done: @escaping @Sendable (Int) -> Void
    ) {
        let id = DatabaseID(container: container, environment: environment, scope: .public, owner: "")
        let shard = shard(of: id)
        shard.loop.execute { [self] in
            let loaded = shard.databases.known(id)?.usedBytes
            background.execute { [self] in
                if let bytes = loaded ?? bytesOnDisk(of: id) { return adminLoop.execute { done(bytes) } }
                loading.add(of: .operator) { [self] in
                    let bytes = countedBytes(of: id)
                    adminLoop.execute { done(bytes) }
                }
            }
        }
    }
}
