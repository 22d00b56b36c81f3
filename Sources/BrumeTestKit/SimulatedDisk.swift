internal import BrumeLock
internal import BrumeRandom
internal import BrumeServer
package import BrumeStore
internal import BrumeSystem

/// A disk in memory that tells apart what was written and what is durable, and that fails when it is told to.
///
/// ``crash(seed:)`` is a power cut: of what was not synced, each 512-byte sector is lost or kept by chance, so that
/// writes tear; each name that was made, renamed or removed since its folder was synced is as before or as after, and a
/// folder that is not there takes what is in it along. A file that was renamed to another folder may have both names.
/// Nothing that was synced is ever lost. What a failed sync should have written is not written by a later one, as on a
/// real disk.
package final class SimulatedDisk: Disk {
    /// What goes wrong, counted in calls that change something (open files, writes, syncs, names).
    package struct Faults: Sendable {
        /// The call with this number fails, counted from 0; a sync that failed has made nothing durable.
        package var failingCall: Int?
        /// In this call the machine loses power, and every later one fails. ``SimulatedDisk/crash(seed:)`` brings it
        /// back.
        package var powerCutCall: Int?
        /// The call with this number finds the disk full, if it is one that takes room; the next one has room again.
        package var fullCall: Int?
        /// Writes that would make all files together larger fail: the disk is full.
        package var capacityBytes: Int?
        /// Files whose paths begin with this are read with one bit wrong.
        package var damagedPrefix: String?
        /// Files whose paths contain this can't be read, and such folders not listed.
        package var unreadablePart: String?

        /// Whether some call will fail.
        package var isArmed: Bool {
            failingCall != nil || powerCutCall != nil || fullCall != nil || capacityBytes != nil
        }

        package init(
            failingCall: Int? = nil, powerCutCall: Int? = nil, fullCall: Int? = nil, capacityBytes: Int? = nil
        ) {
            self.failingCall = failingCall
            self.powerCutCall = powerCutCall
            self.fullCall = fullCall
            self.capacityBytes = capacityBytes
        }
    }

    /// What survives a power cut of everything that was not synced.
    package enum Survival: Sendable {
        /// Each sector and each name by chance: writes tear.
        case byChance
        case nothing
        case everything
    }

    private struct State {
        var contents: [Int: SimulatedContent] = [:]
        var names = SimulatedNames()
        var open: [Int: (path: String, content: Int)] = [:]
        var nextID = 1
        var calls = 0
        var spaceLooks = 0
        var faults = Faults()
    }

    private let state = Lock(State())

    package init() {}

    package var faults: Faults {
        get { state.withLock { $0.faults } }
        set { state.withLock { $0.faults = newValue } }
    }

    /// Calls so far that change something.
    package var calls: Int { state.withLock { $0.calls } }

    // MARK: What tests do to it

    /// Ends the process: open files are closed, faults are cleared, and everything that was written can still be read,
    /// but is no more durable than it was.
    package func endProcess() {
        state.withLock { state in
            state.open = [:]
            state.faults = Faults()
        }
    }

    /// Cuts the power. Open files are gone; faults are cleared.
    package func crash(seed: UInt64, _ survival: Survival = .byChance) {
        var generator = SeededGenerator(seed: seed)
        state.withLock { state in
            state.names.crash { survival == .byChance ? Bool.random(using: &generator) : survival == .everything }
            for (id, content) in state.contents.sorted(by: { $0.key < $1.key }) {
                state.contents[id] = content.survivor(survival, using: &generator)
            }
            let named = Set(state.names.current.values)
            state.contents = state.contents.filter { named.contains($0.key) }
            state.open = [:]
            state.faults = Faults()
        }
    }

    /// Bytes of all files.
    package var usedBytes: Int {
        state.withLock { Self.usedBytes($0) }
    }

    /// Flips bits of a file, both in what was written and in what is durable.
    package func flip(_ mask: UInt8, at offset: Int, of path: String) {
        state.withLock { state in
            guard let id = state.names[path] else { return }
            state.contents[id]!.flip(mask, at: offset)
        }
    }

    /// Flips back what was flipped in a byte of a file since the last power cut. Where something was written over it
    /// meanwhile, that stays: it has no flipped bit.
    package func flipBack(at offset: Int, of path: String) {
        state.withLock { state in
            guard let id = state.names[path] else { return }
            state.contents[id]!.flipBack(at: offset)
        }
    }

    /// Makes everything durable that was written and named.
    package func syncEverything() {
        state.withLock { state in
            for id in state.contents.keys { state.contents[id]!.sync() }
            state.names.syncEverything()
        }
    }

    /// An independent copy, with no open files and no faults.
    package func copy() -> SimulatedDisk {
        let copied = state.withLock { $0 }
        let copy = SimulatedDisk()
        copy.state.withLock {
            $0 = copied
            $0.open = [:]
            $0.faults = Faults()
        }
        return copy
    }

    /// What a file holds, or nil.
    package func contents(of path: String) -> [UInt8]? {
        state.withLock { state in state.names[path].map { state.contents[$0]!.current } }
    }

    /// Changes a file behind the store's back, durably; nil removes it.
    package func replace(_ path: String, with bytes: [UInt8]?) {
        state.withLock { state in
            guard let bytes else { return state.names.replace(path, with: nil) }
            let id = state.nextID
            state.nextID += 1
            state.contents[id] = SimulatedContent(current: bytes, durable: bytes)
            state.names.replace(path, with: id)
        }
    }

    /// All files, sorted.
    package var paths: [String] { state.withLock { $0.names.current.keys.sorted() } }

    // MARK: Disk

    package func openForReading(_ path: String) throws(DiskError) -> DiskFile {
        try withState("open", path) { (state) throws(DiskError) in try Self.openExisting(path, &state) }
    }

    package func openForWriting(_ path: String) throws(DiskError) -> DiskFile {
        try changing("open", path) { (state) throws(DiskError) in try Self.openExisting(path, &state) }
    }

    private static func openExisting(_ path: String, _ state: inout State) throws(DiskError) -> DiskFile {
        guard let content = state.names[path] else {
            throw DiskError(call: "open", path: path, message: "no such file", isMissing: true)
        }
        return Self.open(path, content, &state)
    }

    private static func open(_ path: String, _ content: Int, _ state: inout State) -> DiskFile {
        let id = state.nextID
        state.nextID += 1
        state.open[id] = (path, content)
        return DiskFile(id: id)
    }

    package func create(_ path: String) throws(DiskError) -> DiskFile {
        try changing("open", path) { (state) throws(DiskError) in
            guard state.names[path] == nil else {
                throw DiskError(call: "open", path: path, message: "the file exists")
            }
            try Self.checkFolder(SimulatedNames.folder(of: path), for: path, state)
            let content = state.nextID
            state.nextID += 1
            state.contents[content] = SimulatedContent()
            state.names.add(path, content)
            return Self.open(path, content, &state)
        }
    }

    package func close(_ file: DiskFile) {
        state.withLock { $0.open[file.id] = nil }
    }

    package func write(_ bytes: [UInt8], to file: DiskFile, at offset: UInt64) throws(DiskError) {
        try changing("write", path(of: file)) { (state) throws(DiskError) in
            let content = try Self.content(of: file, state)
            // A write that finds too little room writes as much of its beginning as fits.
            let fitting = Self.room(state).map { [offset = Int(offset)] room in
                state.contents[content]!.fitting(bytes.count, at: offset, in: room)
            }
            if let fitting, fitting < bytes.count {
                state.contents[content]!.write(Array(bytes[..<fitting]), at: Int(offset))
                throw Self.isFull(state.open[file.id]!.path)
            }
            state.contents[content]!.write(bytes, at: Int(offset))
        }
    }

    package func read(_ file: DiskFile, at offset: UInt64, length: Int) throws(DiskError) -> [UInt8] {
        try withState("read", path(of: file)) { (state) throws(DiskError) in
            if let part = state.faults.unreadablePart, state.open[file.id]!.path.contains(part) {
                throw DiskError(call: "read", path: state.open[file.id]!.path, message: "the disk does not give it")
            }
            let bytes = state.contents[try Self.content(of: file, state)]!.current
            let start = min(Int(offset), bytes.count)
            var part = Array(bytes[start..<min(start + length, bytes.count)])
            if let prefix = state.faults.damagedPrefix, state.open[file.id]!.path.hasPrefix(prefix), !part.isEmpty {
                part[part.count / 2] ^= 1
            }
            return part
        }
    }

    package func size(of file: DiskFile) throws(DiskError) -> UInt64 {
        try withState("stat", path(of: file)) { (state) throws(DiskError) in
            UInt64(state.contents[try Self.content(of: file, state)]!.current.count)
        }
    }

    package func sync(_ file: DiskFile) throws(DiskError) {
        try changing("fdatasync", path(of: file)) { (state) throws(DiskError) in
            state.contents[try Self.content(of: file, state)]!.sync()
        }
    }

    package func fillWithZeros(_ file: DiskFile, length: UInt64) throws(DiskError) {
        try changing("write", path(of: file)) { (state) throws(DiskError) in
            let content = try Self.content(of: file, state)
            if let room = Self.room(state), state.contents[content]!.fitting(Int(length), at: 0, in: room) < length {
                throw Self.isFull(state.open[file.id]!.path)
            }
            state.contents[content]!.write([UInt8](repeating: 0, count: Int(length)), at: 0)
        }
    }

    package func rename(_ path: String, to target: String) throws(DiskError) {
        try changing("rename", path) { (state) throws(DiskError) in
            guard state.names[path] != nil else {
                throw DiskError(call: "rename", path: path, message: "no such file", isMissing: true)
            }
            try Self.checkFolder(SimulatedNames.folder(of: target), for: target, state)
            state.names.rename(path, to: target)
        }
    }

    package func remove(_ path: String) throws(DiskError) {
        try changing("unlink", path) { (state) throws(DiskError) in
            guard state.names[path] != nil else {
                throw DiskError(call: "unlink", path: path, message: "no such file", isMissing: true)
            }
            state.names.remove(path)
        }
    }

    package func list(_ path: String) throws(DiskError) -> [String] {
        try withState("readdir", path) { (state) throws(DiskError) in
            if let part = state.faults.unreadablePart, path.contains(part) {
                throw DiskError(call: "readdir", path: path, message: "the disk does not give it")
            }
            return state.names.files(in: path)
        }
    }

    package func listFolders(_ path: String) throws(DiskError) -> [String] {
        try withState("readdir", path) { state in state.names.folders(in: path) }
    }

    package func makeDirectory(_ path: String) throws(DiskError) {
        try changing("mkdir", path) { (state) throws(DiskError) in
            if !path.isEmpty { try Self.checkFolder(SimulatedNames.folder(of: path), for: path, state) }
            state.names.makeFolder(path)
        }
    }

    package func removeDirectory(_ path: String) throws(DiskError) {
        try changing("rmdir", path) { (state) throws(DiskError) in
            guard state.names.hasFolder(path), !path.isEmpty else {
                throw DiskError(call: "rmdir", path: path, message: "no such folder", isMissing: true)
            }
            guard state.names.files(in: path).isEmpty, state.names.folders(in: path).isEmpty else {
                throw DiskError(call: "rmdir", path: path, message: "the folder is not empty")
            }
            state.names.removeFolder(path)
        }
    }

    package func syncDirectory(_ path: String) throws(DiskError) {
        try changing("fsync", path) { (state) throws(DiskError) in
            try Self.checkFolder(path, state)
            state.names.sync(path)
        }
    }

    package func sha256(_ bytes: [UInt8]) -> [UInt8] { SHA256.digest(bytes) }
    package func makeContentHash() -> any ContentHash { SHA256Stream() }

    // MARK: Faults

    private func path(of file: DiskFile) -> String {
        state.withLock { $0.open[file.id]?.path ?? "a closed file" }
    }

    private func withState<Value>(
        _ call: String, _ path: String, _ body: (inout State) throws(DiskError) -> Value
    ) throws(DiskError) -> Value {
        let result = state.withLock { state -> Result<Value, DiskError> in
            if let cut = state.faults.powerCutCall, state.calls > cut {
                return .failure(DiskError(call: call, path: path, message: "the power is cut"))
            }
            do throws(DiskError) {
                return .success(try body(&state))
            } catch {
                return .failure(error)
            }
        }
        return try result.get()
    }

    private func changing<Value>(
        _ call: String, _ path: String, _ body: (inout State) throws(DiskError) -> Value
    ) throws(DiskError) -> Value {
        try withState(call, path) { (state) throws(DiskError) in
            let number = state.calls
            state.calls += 1
            if number == state.faults.failingCall {
                if call == "fdatasync" {
                    for open in state.open.values where open.path == path { state.contents[open.content]!.forget() }
                }
                throw DiskError(call: call, path: path, message: "input/output error")
            }
            if number == state.faults.fullCall, ["open", "write"].contains(call) {
                throw DiskError(call: call, path: path, message: "no space left on device", isFull: true)
            }
            if number == state.faults.powerCutCall {
                // What is under way may reach the disk in part; a sync that did not return has promised nothing.
                if call != "fdatasync", call != "fsync" { _ = try body(&state) }
                throw DiskError(call: call, path: path, message: "the power is cut")
            }
            return try body(&state)
        }
    }

    private static func content(of file: DiskFile, _ state: State) throws(DiskError) -> Int {
        guard let open = state.open[file.id] else {
            throw DiskError(call: "fcntl", path: "", message: "the file is closed")
        }
        return open.content
    }

    /// The number of free bytes; nil when there is no limit.
    private static func room(_ state: State) -> Int? { state.faults.capacityBytes.map { $0 - usedBytes(state) } }

    /// How often ``space(of:)`` was asked.
    package var spaceLookCount: Int { state.withLock { $0.spaceLooks } }

    package func space(of path: String) throws(DiskError) -> DiskSpace? {
        state.withLock { state in
            state.spaceLooks += 1
            guard let capacity = state.faults.capacityBytes else { return nil }
            return DiskSpace(
                freeBytes: UInt64(max(0, capacity - Self.usedBytes(state))), totalBytes: UInt64(capacity))
        }
    }

    private static func usedBytes(_ state: State) -> Int {
        Set(state.names.current.values).reduce(0) { $0 + (state.contents[$1]?.usedBytes ?? 0) }
    }

    private static func isFull(_ path: String) -> DiskError {
        DiskError(call: "write", path: path, message: "no space left on device", isFull: true)
    }

    private static func checkFolder(_ folder: String, for path: String? = nil, _ state: State) throws(DiskError) {
        guard state.names.hasFolder(folder) else {
            throw DiskError(call: "open", path: path ?? folder, message: "no such folder", isMissing: true)
        }
    }
}
