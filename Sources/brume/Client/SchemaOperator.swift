internal import BrumeAdmin
internal import BrumeKit
internal import BrumeModel
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem

/// The operator's access to the schemas of a container: through the Admin service while a server runs on the data
/// folder, directly otherwise.
struct SchemaOperator {
    private enum Way {
        case running(ClientSession)
        case stopped(FolderSchemas)
    }

    private let invocation: Invocation
    private let folder: String
    private let container: String

    /// - Parameter begins: Whether the request may be the first one of an empty data folder.
    init(_ invocation: Invocation, begins: Bool = false) throws {
        self.invocation = invocation
        folder = try invocation.required("data")
        container = try CommandOptions.containerName(invocation)
        if try invocation.text("server") == nil && !OperatorDoor.isOpen(dataFolder: folder) {
            try Operator.checkOwner(of: folder)
            try DataFolder.require(folder, orEmpty: begins)
        }
    }

    /// The schema of an environment, and a fingerprint that distinguishes it from a later one.
    func schema(of environment: BrumeModel.Environment) async throws -> (schema: Schema, fingerprint: UInt32) {
        try await with(environment) { way in
            switch way {
            case .running(let session):
                let (text, fingerprint) = try await session.exportSchema()
                do throws(SchemaSyntaxError) {
                    return (try SchemaParser.parse(text), fingerprint)
                } catch {
                    throw CommandError(
                        .failed, "the server's schema can't be read: \(error)",
                        hint: "is this command older than the server?")
                }
            case .stopped(let schemas): return (schemas.schema, schemas.schema.fingerprint)
            }
        }
    }

    /// The names of all containers, in order; nil when a server of an earlier version can't tell.
    func containers() async throws -> [String]? {
        try await with(.development) { way in
            switch way {
            case .running(let session): try await Self.containers(of: session)
            case .stopped(let schemas): try schemas.containers()
            }
        }
    }

    private static func containers(of session: ClientSession) async throws -> [String]? {
        do throws(any Error) {
            return try await session.listContainers().containers.map(\.name)
        } catch let error as ServiceError where error.code == .invalidArguments {
            return nil
        }
    }

    /// Refuses a container that doesn't exist: most likely its name is mistyped.
    func checkContainer() async throws {
        guard let known = try await containers(), !known.contains(container) else { return }
        if known.isEmpty {
            throw CommandError(
                .notFound, "there is no container \(container), and no other one yet",
                hint: "the first save in development makes one, or brume schema import")
        }
        let shown = known.prefix(10).joined(separator: ", ") + (known.count > 10 ? " and \(known.count - 10) more" : "")
        throw CommandError(
            .notFound, "there is no container \(container); there is: \(shown)",
            hint: NearestName.find(container, among: known).map { "did you mean --container \($0)?" }
                ?? "name one with --container (BRUME_CONTAINER); brume schema import begins a new one")
    }

    func importSchema(_ schema: Schema, validatesOnly: Bool) async throws {
        try await with(.development) { way in
            switch way {
            case .running(let session):
                let text = SchemaPrinter.text(schema)
                guard text.utf8.count <= Limits.importedSchemaTextBytes else {
                    throw CommandError(
                        .failed,
                        "the schema has \(text.utf8.count) bytes without its comments; a running server takes up to"
                            + " \(Limits.importedSchemaTextBytes)",
                        hint: "stop the server, and import the file while it is stopped")
                }
                try await session.importSchema(text: text, validatesOnly: validatesOnly)
            case .stopped(let schemas): try schemas.importSchema(schema, validatesOnly: validatesOnly)
            }
        }
    }

    func deploy(fingerprint: UInt32) async throws {
        try await with(.production) { way in
            do throws(ServiceError) {
                switch way {
                case .running(let session): try await session.deploySchema(fingerprint: fingerprint)
                case .stopped(let schemas): try schemas.deploySchema(fingerprint: fingerprint)
                }
            } catch  where error.code == .serverRejectedRequest {
                throw CommandError(.conflict, error.message)
            }
        }
    }

    func reset() async throws -> ResetSummary {
        try await with(.development) { way in
            guard case .running(let session) = way else {
                throw CommandError(
                    .unreachable, "a reset empties databases, which their server does: none runs on \(folder)",
                    hint: "start it with `brume serve --data \(folder)`")
            }
            return try await session.resetSchema()
        }
    }

    func setRoleMember(
        role: String, account: String, isMember: Bool, _ environment: BrumeModel.Environment
    ) async throws {
        try await with(environment) { way in
            switch way {
            case .running(let session):
                try await session.setRoleMember(role: role, account: account, isMember: isMember)
            case .stopped(let schemas):
                try schemas.setRoleMember(role: role, account: account, isMember: isMember)
            }
        }
    }

    func roleMembers(_ environment: BrumeModel.Environment) async throws -> [RoleMember] {
        try await with(environment) { way in
            switch way {
            case .running(let session): try await session.listRoleMembers()
            case .stopped(let schemas): schemas.roleMembers()
            }
        }
    }

    private func with<Outcome>(
        _ environment: BrumeModel.Environment, _ body: (Way) async throws -> Outcome
    ) async throws -> Outcome {
        if let session = try Operator.session(invocation, container: container, environment: environment) {
            return try await body(.running(session))
        }
        try Operator.checkOwner(of: folder)
        let schemas = try FolderSchemas(
            dataFolder: folder, container: container, environment: environment, isOperators: true)
        defer { schemas.release() }
        return try await body(.stopped(schemas))
    }
}
