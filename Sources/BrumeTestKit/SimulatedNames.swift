/// The names of the files and folders of a ``SimulatedDisk``, by the numbers of their contents: those that there are,
/// and those that are there after a power cut.
struct SimulatedNames {
    private enum Change {
        case set(String, Int)
        case renamed(String, String, Int)
        case removed(String)
        case madeFolder(String)
        case removedFolder(String)

        /// The name that it gives or takes; nil for a folder's, and for a rename, which does both.
        var path: String? {
            switch self {
            case .set(let path, _), .removed(let path): path
            case .renamed, .madeFolder, .removedFolder: nil
            }
        }
    }

    private(set) var current: [String: Int] = [:]
    private var durable: [String: Int] = [:]
    private var folders: Set<String> = [""]
    /// The changes since their folder was synced.
    private var changes: [(folder: String, change: Change)] = []

    subscript(path: String) -> Int? { current[path] }

    /// The folder that a path is in; the data folder itself is the empty path.
    static func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? ""
    }

    func hasFolder(_ path: String) -> Bool { folders.contains(path) }

    /// The names of the files in a folder, sorted.
    func files(in folder: String) -> [String] { Self.names(Array(current.keys), in: folder) }

    /// The names of the folders in a folder, sorted.
    func folders(in folder: String) -> [String] { Self.names(Array(folders), in: folder).filter { !$0.isEmpty } }

    private static func names(_ paths: [String], in folder: String) -> [String] {
        let prefix = folder.isEmpty ? "" : folder + "/"
        return paths.filter { $0.hasPrefix(prefix) && !$0.dropFirst(prefix.count).contains("/") }
            .map { String($0.dropFirst(prefix.count)) }.sorted()
    }

    // MARK: Changes

    mutating func add(_ path: String, _ content: Int) {
        current[path] = content
        note(.set(path, content), in: Self.folder(of: path))
    }

    mutating func rename(_ path: String, to target: String) {
        guard let content = current.removeValue(forKey: path) else { return }
        current[target] = content
        note(.renamed(path, target, content), in: Self.folder(of: target))
    }

    mutating func remove(_ path: String) {
        current[path] = nil
        note(.removed(path), in: Self.folder(of: path))
    }

    mutating func makeFolder(_ path: String) {
        if folders.insert(path).inserted { note(.madeFolder(path), in: Self.folder(of: path)) }
    }

    /// Removes a folder that is empty.
    mutating func removeFolder(_ path: String) {
        if folders.remove(path) != nil { note(.removedFolder(path), in: Self.folder(of: path)) }
    }

    private mutating func note(_ change: Change, in folder: String) { changes.append((folder, change)) }

    /// Gives a file a name that was always there, with the folders around it; nil takes the name.
    mutating func replace(_ path: String, with content: Int?) {
        (current[path], durable[path]) = (content, content)
        if content != nil { makeFolders(around: path) }
    }

    private mutating func makeFolders(around path: String) {
        var folder = path
        while !folder.isEmpty {
            folder = Self.folder(of: folder)
            folders.insert(folder)
        }
    }

    // MARK: What lasts

    mutating func syncEverything() {
        durable = current
        changes = []
    }

    /// Makes the names in a folder durable. A rename to or from another folder leaves at least one of the two names:
    /// when the old one is gone durably, the new one is there.
    mutating func sync(_ synced: String) {
        var rest: [(folder: String, change: Change)] = []
        for (folder, change) in changes {
            switch change {
            case .renamed(let path, let target, let content)
            where folder == synced || Self.folder(of: path) == synced:
                // What happened to the new name before is over with this.
                rest.removeAll { $0.change.path == target }
                durable[target] = content
                if Self.folder(of: path) != synced {
                    // What is left to do of it.
                    rest.append((Self.folder(of: path), .removed(path)))
                } else if durable[path] == content {
                    durable[path] = nil
                }
            case _ where folder != synced: rest.append((folder, change))
            case .set(let path, let content): durable[path] = content
            case .renamed, .madeFolder, .removedFolder: break
            case .removed(let path): durable[path] = nil
            }
        }
        changes = rest
    }

    /// Cuts the power.
    ///
    /// - Parameter survives: Whether a change that was not synced is there afterwards.
    mutating func crash(_ survives: () -> Bool) {
        var lostFolders: [String] = []
        // By content: where it would be if it had not kept its old name.
        var lostRenames: [Int: String] = [:]
        for (_, change) in changes {
            switch (change, survives()) {
            case (.set(let path, let content), true): take(path, for: content, lostRenames)
            case (.renamed(let path, let target, let content), true):
                let isWhole = Self.folder(of: path) == Self.folder(of: target) || survives()
                if isWhole, durable[path] == content { durable[path] = nil }
                take(target, for: content, lostRenames)
            case (.renamed(_, let target, let content), false): lostRenames[content] = target
            case (.removed(let path), true): take(path, for: nil, lostRenames)
            case (.madeFolder(let path), false): lostFolders.append(path + "/")
            case (.removedFolder(let path), false): makeFolders(around: path + "/")
            default: break
            }
        }
        for folder in lostFolders { lose(folder) }
        // What came back brought its folder with it.
        for path in durable.keys { makeFolders(around: path) }
        current = durable
        changes = []
    }

    /// Gives a name to a content, or takes it. A file whose rename is lost keeps its old name only until then.
    private mutating func take(_ path: String, for content: Int?, _ lostRenames: [Int: String]) {
        if let former = durable[path], former != content, let target = lostRenames[former] {
            durable[target] = former
        }
        durable[path] = content
    }

    /// A folder was never made. What was renamed into it has its old name still.
    private mutating func lose(_ prefix: String) {
        let lost = Set(durable.filter { $0.key.hasPrefix(prefix) }.values)
        durable = durable.filter { !$0.key.hasPrefix(prefix) }
        folders = folders.filter { !($0 + "/").hasPrefix(prefix) }
        for case (_, .renamed(let path, _, let content)) in changes
        where lost.contains(content) && durable[path] == nil { durable[path] = content }
    }
}
