internal import BrumeKit
internal import BrumeModel
internal import BrumeSystem
internal import Foundation

/// The container and database that a client command works on.
struct ClientContext: Sendable {
    let container: CKContainer
    let database: CKDatabase

    /// Connects, so that a command reports soon when there is no server: a call would wait for one longer.
    ///
    /// - Parameter deviceName: The name of the device's folder under the state folder. Commands use another device than
    ///   the apps that share the folder: a device is not notified of its own changes, and an app has to be notified of
    ///   changes from a shell.
    init(_ invocation: Invocation, deviceName: String = Self.commandsDevice) async throws {
        // It may hold an account's keys.
        CoreDumps.turnOff()
        let configuration = try Self.configuration(invocation, deviceName: deviceName)
        container = CKContainer(identifier: try CommandOptions.containerName(invocation), configuration: configuration)
            .configuredWith(configuration: Self.trace()) { $0 }
        let scope = try Self.scope(invocation)
        if scope != .public, configuration.token == nil {
            throw CommandError(
                .notPermitted,
                "a \(scope == .shared ? "shared" : "private") database needs an account, and none is named",
                hint: "give its token with BRUME_TOKEN or --token-file; brume account add NAME makes one")
        }
        database = container.database(with: scope)
        _ = try await container.ping(timeoutNanoseconds: CommandOptions.connectTimeoutNanoseconds(invocation))
        if invocation.command.option(named: "owner") != nil, let owner = invocation.text("owner"),
            try await ownName == owner
        {
            throw CommandError(.usage, "that is you: leave --owner out")
        }
    }

    /// The account's own user record name, where ids have ``CKCurrentUserDefaultName``.
    var ownName: String {
        get async throws { try await container.userRecordID().recordName }
    }

    static let commandsDevice = "commands"

    /// The trace that the command belongs to. Tools that trace hand it on to the commands that they run by this
    /// variable (OpenTelemetry, Environment Variables as Context Propagation Carriers).
    private static func trace() -> CKOperation.Configuration {
        let configuration = CKOperation.Configuration()
        configuration.traceParent = ProcessInfo.processInfo.environment["TRACEPARENT"]
        return configuration
    }

    /// The database that the options choose.
    static func scope(_ invocation: Invocation) throws(UsageError) -> CKDatabase.Scope {
        func has(_ option: String) -> Bool { invocation.command.option(named: option) != nil }
        let isPublic = has("public") && invocation.isOn("public")
        let isShared = has("shared") && invocation.isOn("shared") || has("owner") && invocation.text("owner") != nil
        if isPublic, isShared {
            throw UsageError(
                "--public chooses another database than \(has("owner") ? "--owner" : "--shared"); give one of them",
                command: invocation.command)
        }
        return isPublic ? .public : isShared ? .shared : .private
    }

    /// The server and the account that the options name.
    static func configuration(
        _ invocation: Invocation, deviceName: String = Self.commandsDevice
    ) throws -> BrumeConfiguration {
        let environment = try CommandOptions.environment(invocation)
        let stateFolder = invocation.text("state") ?? BrumeConfiguration.homeFolder + "/.local/state/brume"
        do throws(SystemError) {
            try FileSystem.makeDirectoryTree(stateFolder + "/" + deviceName, permissions: 0o700)
        } catch {
            throw CommandError(
                .failed, "the folder \(stateFolder) for this device's id can't be made: \(error)",
                hint: "name one that this user may write to with --state (BRUME_STATE)")
        }
        var configuration = BrumeConfiguration(
            server: try CommandOptions.serverAddress(invocation),
            caPath: try CommandOptions.certificateAuthority(invocation), token: try token(invocation),
            container: try CommandOptions.containerName(invocation),
            environment: environment == .production ? .production : .development,
            stateFolder: stateFolder + "/" + deviceName)
        configuration.deviceName = deviceDisplayName(invocation)
        // A command shows which assets there are, and has their files if they are asked for.
        let takesAssets = invocation.command.option(named: CommandOptions.assetsFolder.name) != nil
        configuration.downloadsAssets = takesAssets && invocation.text(CommandOptions.assetsFolder.name) != nil
        return configuration
    }

    /// How the account's other devices show this one among those that have its encryption keys: apart from the apps on
    /// this machine.
    private static func deviceDisplayName(_ invocation: Invocation) -> String {
        if invocation.command.option(named: "device-name") != nil, let name = invocation.text("device-name"),
            !name.isEmpty
        {
            return name
        }
        let host = (try? FileSystem.read("/proc/sys/kernel/hostname", limit: 256)) ?? []
        let name = String(decoding: host, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
        return name.isEmpty ? "command line" : "\(name), command line"
    }

    /// The account's token; nil means no account, which may only read the public database.
    private static func token(_ invocation: Invocation) throws -> String? {
        try invocation.text("token-file").map { try TokenText.read($0) } ?? invocation.text("token")
    }

    /// The id of one of the caller's zones; `default` stands for the default zone.
    static func zoneID(_ name: String) throws(CommandError) -> CKRecordZone.ID {
        if name == "default" || name == Names.defaultZone { return .default }
        if let problem = Names.problemWithZoneName(name) {
            throw CommandError(name: name, problem, example: "Notes")
        }
        return CKRecordZone.ID(zoneName: name)
    }

    /// The same, or the id of the zone of another user whom --owner names.
    static func zoneID(_ name: String, _ invocation: Invocation) throws -> CKRecordZone.ID {
        let zoneID = try zoneID(name)
        guard let owner = invocation.text("owner") else { return zoneID }
        guard Names.isUserRecordName(owner) else {
            throw UsageError(
                "--owner takes a user record name, an underscore and 32 hexadecimal digits, not \"\(owner)\"",
                hint: "brume zones list --shared prints the owners")
        }
        if zoneID == .default {
            throw UsageError("a default zone is shared with nobody", command: invocation.command)
        }
        return CKRecordZone.ID(zoneName: zoneID.zoneName, ownerName: owner)
    }

    static func recordID(_ name: String, zoneID: CKRecordZone.ID) throws(CommandError) -> CKRecord.ID {
        // User records, whose names start with an underscore, can be fetched too.
        if !name.hasPrefix("_"), let problem = Names.problemWithRecordName(name) {
            throw CommandError(name: name, problem, example: "first-note")
        }
        return CKRecord.ID(recordName: name, zoneID: zoneID)
    }

    static func checkRecordType(_ type: String) throws(CommandError) {
        if let problem = Names.problemWithRecordType(type) { throw CommandError(name: type, problem, example: "Note") }
    }

    /// Prints the items that failed; the first one's exit code becomes the command's.
    static func report(
        _ failures: [(name: String, error: any Error)], scope: CKDatabase.Scope = .private
    ) -> ExitCode {
        for failure in failures {
            let described = CommandError(describing: failure.error, scope: scope)
            Terminal.printError("brume: \(failure.name): \(described.message)")
        }
        guard let first = failures.first.map({ CommandError(describing: $0.error, scope: scope) }) else { return .done }
        if !first.hint.isEmpty { Terminal.printError("       \(first.hint)") }
        return first.code
    }
}

extension CommandOptions {
    static func connectTimeoutNanoseconds(_ invocation: Invocation) throws(UsageError) -> UInt64 {
        UInt64((try invocation.number("connect-timeout", in: 0.001...3600) ?? 5) * 1e9)
    }
}
