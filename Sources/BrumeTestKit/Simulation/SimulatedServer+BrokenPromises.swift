internal import BrumeModel
internal import BrumeProtocol
internal import BrumeServer
internal import BrumeService
internal import BrumeStore

/// What the server's machine does wrong on purpose; see ``BrokenPromise``.
extension SimulatedServer {
    /// Removes the files of all assets.
    func loseAssets() {
        for path in disk.paths where path.hasPrefix("assets/") { disk.replace(path, with: nil) }
    }

    func syncLater() {
        after(UInt64.random(in: 500_000_000...4_000_000_000, using: &generator)) { server in
            server.disk.syncEverything()
            let frames = server.heldFrames
            server.heldFrames = []
            for (connection, frame) in frames { connection.sendDown(frame) }
        }
    }

    func cutGoodTail() {
        guard let path = disk.paths.last(where: { $0.hasPrefix("journal/") && $0.hasSuffix(".journal") }),
            var bytes = disk.contents(of: path)
        else { return }
        let magic = Array("BTCH".utf8)
        var last: Int?
        for offset in stride(from: 64, to: max(64, bytes.count - 4), by: 8)
        where Array(bytes[offset..<offset + 4]) == magic {
            last = offset
        }
        guard let last else { return }
        for index in last..<bytes.count { bytes[index] = 0 }
        disk.replace(path, with: bytes)
    }

    func miscount(_ entries: [[UInt8]]) {
        guard simulation.options.brokenPromise == .miscountsDeletions, let process else { return }
        for entry in entries {
            guard let commit = CommitHistory.decodeEntry(entry) else { continue }
            let deletions = commit.changes.count { if case .recordDeletion = $0 { true } else { false } }
            let database = process.loaded.first { $0.database.id == commit.database }?.database
            if deletions > 0 { database?.testOnly_miscount(by: 100 * deletions) }
        }
    }

    /// Has the databases in memory look at less of what members of rings do.
    func weakenRings(_ process: StepwiseServer) {
        switch simulation.options.brokenPromise {
        case .ignoresMembers: process.testOnly_weakenRings(.ignoresMembers)
        case .takesForeignStatements: process.testOnly_weakenRings(.takesForeignStatements)
        case .takesAnyProof: process.testOnly_weakenRings(.takesAnyProof)
        case .takesOldKeys: process.testOnly_weakenRings(.takesOldKeys)
        case .takesReadersEntries: process.testOnly_weakenRings(.takesReadersEntries)
        case .takesZoneKeys: process.testOnly_weakenRings(.takesZoneKeys)
        default: break
        }
    }
}
