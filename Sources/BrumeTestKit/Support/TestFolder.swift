package import BrumeSystem

/// A test's folder, which goes with the object, and at the end of the process at the latest.
package final class TestFolder: Sendable {
    private let folder: TemporaryFolder
    package var path: String { folder.path }

    package init() throws(SystemError) { folder = try TemporaryFolder(prefix: "brume-test") }

    deinit { folder.remove() }

    /// Runs `body` with the path of an empty folder, which goes afterwards.
    package static func with<Outcome>(_ body: (String) throws -> Outcome) throws -> Outcome {
        let folder = try TestFolder()
        return try withExtendedLifetime(folder) { try body(folder.path) }
    }

    /// The path of a file in it.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Writes a file; returns its path.
    package func write(_ name: String, _ text: String) throws(SystemError) -> String {
        try FileSystem.atomicReplace(file(name), Array(text.utf8))
        return file(name)
    }
}
