internal import BrumeKit
internal import BrumeTestKit
internal import Foundation
internal import Testing

@testable internal import brume

extension ServerProcess {
    /// Runs an operator's command on the server, or on its data folder when it is stopped.
    func operate(_ words: String...) throws -> CommandRun {
        try CommandRun(words + ["--data", dataFolder], in: folder)
    }

    /// Makes an account; gives its token.
    func addAccount(_ name: String) throws -> String {
        try #require(try operate("account", "add", name, "--json").json()["token"]?.text)
    }

    /// The token of an account that `brume dev` made.
    func token(_ account: String = "a") throws -> String {
        try #require(ready["accounts"]?[account]?["token"]?.text)
    }

    /// The variables that a client of an account needs to reach it.
    func environment(account: String = "a") throws -> [String: String] {
        [
            "BRUME_SERVER": address, "BRUME_CA": caPath, "BRUME_TOKEN": try token(account),
            "BRUME_STATE": folder.file("state-\(account)"),
        ]
    }

    /// Runs an app's command as one of the accounts that `brume dev` made.
    func run(_ arguments: String..., account: String = "a", extra: [String: String] = [:]) throws -> CommandRun {
        try CommandRun(arguments, environment: environment(account: account).merging(extra) { $1 }, in: folder)
    }

    /// Runs a command that is told nothing of the server.
    func command(_ words: String..., environment: [String: String] = [:]) throws -> CommandRun {
        try CommandRun(words, environment: environment, in: folder)
    }

    /// What the SDK needs; `server` when it is to go another way.
    func configuration(
        token: String, server: String? = nil, container: String = "iCloud.faults"
    ) -> BrumeConfiguration {
        BrumeConfiguration(
            server: server ?? address, caPath: caPath, token: token, container: container,
            stateFolder: folder.file("state-" + UUID().uuidString))
    }

    /// The folder is sound, as the command sees it that needs no server.
    func expectSound(sourceLocation: SourceLocation = #_sourceLocation) throws {
        let verified = try CommandRun(["verify", dataFolder], in: folder)
        #expect(verified.status == 0, "\(verified.output) \(verified.errors)", sourceLocation: sourceLocation)
    }
}
