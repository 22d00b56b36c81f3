internal import BrumeLock
internal import BrumeModel
internal import BrumeSystem

/// Making room: what was used least recently goes first.
extension AssetCache {
    private struct Entry {
        let path: String
        let byteCount: Int
        let accessedNanoseconds: Int64
        var isPart: Bool { path.hasSuffix(AssetCache.partSuffix) }
    }

    /// Counts the size that a part will have in the end, and removes other files when the limit is passed by it.
    ///
    /// A content goes in nevertheless when all that is left is leased or being written: a record can't be handed out
    /// without its assets.
    func reserve(_ byteCount: Int, for part: AssetCachePart, keptByteCount: Int) {
        let isWithinLimit = state.withLock { state in
            state.reservations[ObjectIdentifier(part)] = Reservation(path: part.file.path, byteCount: byteCount)
            guard let known = state.byteCount else { return false }
            let sum = known.addingClamped(byteCount - keptByteCount)
            state.byteCount = sum
            return sum <= byteCountMax
        }
        if !isWithinLimit { readAndMakeRoom() }
    }

    /// Reads the folder, and removes what is too much.
    private func readAndMakeRoom() {
        // Parts that are finished meanwhile count as reserved, and perhaps as a content too: the sum errs upwards only.
        let reservations = state.withLock { $0.reservations }
        let reservedPaths = Set(reservations.values.map(\.path))
        let entries = entries().filter { !reservedPaths.contains($0.path) }
        let reservedSum = reservations.values.reduce(0) { $0.addingClamped($1.byteCount) }
        var sum = entries.reduce(reservedSum) { $0.addingClamped($1.byteCount) }
        if sum > byteCountMax {
            let target = AssetCacheLimits.byteCountKept(of: byteCountMax)
            for entry in entries.sorted(by: { $0.accessedNanoseconds < $1.accessedNanoseconds }) {
                if sum <= target { break }
                if evict(entry) { sum -= entry.byteCount }
            }
        }
        let paths = Set(entries.map(\.path))
        state.withLock { state in
            for (part, reservation) in state.reservations where reservations[part] == nil {
                sum = sum.addingClamped(reservation.byteCount)
            }
            state.byteCount = sum
            // Others remove files too. What was verified since is noted again at its next use.
            state.verifiedVersions = state.verifiedVersions.filter { paths.contains($0.key) }
        }
    }

    /// Removes a file unless it is leased here, or is a part that somebody writes.
    private func evict(_ entry: Entry) -> Bool {
        // Open while its name goes, so that the space is freed after the lock, when it is closed.
        guard let file = try? File(path: entry.path, mode: .readRegular) else { return false }
        defer { file.unlockAndClose() }
        if entry.isPart {
            guard (try? file.tryLock()) == true, (try? file.isInPlace()) == true else { return false }
        }
        return state.withLock { state in
            guard state.leaseCounts[entry.path] == nil, (try? FileSystem.remove(entry.path)) != nil else {
                return false
            }
            state.verifiedVersions[entry.path] = nil
            return true
        }
    }

    /// All contents and parts of all accounts. What can't be read is left out; folders that are being removed go.
    private func entries() -> [Entry] {
        func list(_ path: String) -> [String] { ((try? FileSystem.list(path)) ?? []).map { "\(path)/\($0)" } }
        var accounts = list(folder)
        let removed = accounts.filter { $0.dropFirst(folder.count + 1).hasPrefix(Self.removedPrefix) }
        for path in removed { try? FileSystem.removeTree(path) }
        accounts.removeAll { removed.contains($0) }
        return accounts.flatMap(list).flatMap(list).compactMap { path in
            guard let status = try? FileSystem.status(path), status.isRegular else { return nil }
            return Entry(
                path: path, byteCount: status.version.byteCount, accessedNanoseconds: status.accessedNanoseconds)
        }
    }
}

extension Int {
    // A server may claim any size for an asset.
    fileprivate func addingClamped(_ other: Int) -> Int {
        let (sum, overflowed) = addingReportingOverflow(other)
        return overflowed ? .max : sum
    }
}
