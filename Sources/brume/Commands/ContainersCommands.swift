internal import BrumeAdmin
internal import BrumeModel

/// `brume containers`: the containers of a server.
enum ContainersCommands {
    private static let options = [CommandOptions.json] + CommandOptions.operators
    private static let notes = [
        """
        Those that hold data or a schema, and those that brume serve --container names: of each environment the record types of \
        the schema, and the bytes of the public database that count against --public-quota. It needs the running server.
        """
    ]

    static let definitions = [
        CommandDefinition(
            ["containers", "list"], "list the containers, and what their public databases hold", options: options,
            notes: notes, examples: ["brume containers list --data ./brume-data"], body: .asynchronous(list)),
        CommandDefinition(
            ["containers"], "list the containers, and what their public databases hold", options: options, notes: notes,
            isHidden: true, body: .asynchronous(list)),
    ]

    private static func list(_ invocation: Invocation) async throws -> ExitCode {
        let page = try await Operator.runningSession(invocation).listContainers()
        let limit = page.publicQuotaBytes
        for container in page.containers {
            if invocation.isOn("json") {
                Terminal.print(
                    JSONValue.object([
                        ("container", .string(container.name)), ("development", json(container.development)),
                        ("production", json(container.production)), ("publicLimit", .integer(Int64(limit))),
                    ]).line)
            } else {
                Terminal.print(
                    "\(container.name)  development: \(text(container.development))  production: "
                        + text(container.production))
            }
        }
        if !invocation.isOn("json") {
            Terminal.print(
                page.containers.isEmpty
                    ? "there is none yet: the first save, or brume schema import, makes one"
                    : limit == 0
                        ? "public databases have no limit"
                        : "each public database may hold \(ByteSize(bytes: limit).figures)")
        }
        return .done
    }

    private static func text(_ environment: ContainerEnvironment) -> String {
        "\(CountText.text(environment.recordTypes, "record type")), "
            + "\(CountText.grouped(environment.publicBytes)) bytes public"
    }

    private static func json(_ environment: ContainerEnvironment) -> JSONValue {
        .object([
            ("recordTypes", .integer(Int64(environment.recordTypes))),
            ("publicBytes", .integer(Int64(environment.publicBytes))),
        ])
    }
}
