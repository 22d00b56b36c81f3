internal import BrumeSystem

extension TemporaryFolder {
    /// Makes a folder that is removed when the command ends.
    init(forCommand prefix: String) throws(CommandError) {
        do throws(SystemError) {
            try self.init(prefix: prefix)
        } catch {
            throw CommandError(.failed, "no folder can be made: \(error)", hint: "check TMPDIR and the free space")
        }
    }
}
