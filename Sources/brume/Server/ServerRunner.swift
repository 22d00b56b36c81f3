internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import Foundation

/// Runs a server on the main thread until it is told to stop.
enum ServerRunner {
    /// Starts `server`, calls `serving`, and returns when it has shut down cleanly.
    ///
    /// - Parameters:
    ///   - service: Tells a service manager about it; nil for a server that is none's.
    ///   - reload: Called at SIGHUP, which stops the server otherwise.
    static func run(
        _ server: Server, withParent: Bool, as service: ManagedService? = nil, reload: (@Sendable () -> Void)? = nil,
        serving: () throws -> Void
    ) throws {
        let stop: @Sendable () -> Void = {
            service?.stops()
            server.drain()
        }
        var reload = reload
        if let service, let body = reload { reload = { service.reloads(server, body) } }
        StopSignals.watch(reload: reload, stop)
        if withParent { StopSignals.watchStandardInput(stop) }
        try server.start()
        service?.serves(server)
        do {
            try serving()
        } catch {
            server.drain()
            server.wait()
            throw error
        }
        server.wait()
    }
}

extension CommandOptions {
    static let withParent = OptionDefinition(
        "with-parent", nil, "stop when standard input ends, so that it never outlives the process that started it")

    static let strict = OptionDefinition(
        "strict", nil, "be as strict as CloudKit: no queries with OR, no indexes that the schema does not name")

    /// The effect of ``strict`` in development, which surprises users who don't know it from CloudKit.
    static let strictNote = """
        With --strict the fields of learned record types are indexed as without, but what the server keeps of every record \
        (recordName, creationDate and the others) is not: a query of all records of a type, or one that sorts by creationDate, \
        fails until the schema marks "___recordID" QUERYABLE, or "___createTime" SORTABLE.
        """

    static let logLevel = OptionDefinition(
        "log-level", "LEVEL", "debug, info, warning or error", fallback: "info")

    /// The log that ``logLevel`` asks for.
    static func log(_ invocation: Invocation) throws(UsageError) -> Log {
        .standardError(try level(invocation), try format(invocation))
    }

    static let logFormat = OptionDefinition(
        "log-format", "FORMAT", "text, or json: an object a line", fallback: "text")

    private static func format(_ invocation: Invocation) throws(UsageError) -> Log.Format {
        // brume dev has text for people.
        if invocation.command.option(named: "log-format") == nil { return .text }
        switch try invocation.required("log-format") {
        case "text": return .text
        case "json": return .json
        case let format:
            throw UsageError("--log-format is text or json, not \"\(format)\"", command: invocation.command)
        }
    }

    /// The level that ``logLevel`` asks for.
    static func level(_ invocation: Invocation) throws(UsageError) -> Log.Level {
        switch try invocation.required("log-level") {
        case "debug": .debug
        case "info": .info
        case "warning": .warning
        case "error": .error
        case let level:
            throw UsageError(
                "--log-level is debug, info, warning or error, not \"\(level)\"", command: invocation.command)
        }
    }
}
