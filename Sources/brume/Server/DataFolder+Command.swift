internal import BrumeServer
internal import BrumeSystem

extension DataFolder {
    /// Checks that there is a data folder, before a command looks for something in it.
    ///
    /// - Parameter orEmpty: Whether an empty folder will do, since the command begins one.
    static func require(_ folder: String, orEmpty: Bool = false) throws(CommandError) {
        switch try checkedContent(of: folder) {
        case .data: return
        case .empty where orEmpty: return
        case .missing:
            throw CommandError(.notFound, "there is no data folder \(folder)", hint: "name it with --data (BRUME_DATA)")
        case .empty:
            throw CommandError(
                .notFound, "\(folder) is no data folder: it is empty",
                hint: "a server makes one with its first start; is it another one? name it with --data (BRUME_DATA)")
        case .foreign:
            throw CommandError(
                .notFound, "\(folder) is no data folder: it has no brume.meta",
                hint: "name the folder of a server with --data (BRUME_DATA)")
        }
    }

    /// Checks that a folder may become a data folder, or is one, before a command makes files in it.
    static func requireOwn(_ folder: String) throws(CommandError) {
        guard case .foreign = try checkedContent(of: folder) else { return }
        throw CommandError(
            .conflict, "\(folder) holds other files and is no data folder: nothing is written there",
            hint:
                "name a folder that is empty or does not exist, such as --data \(FolderCopier.path(folder))/brume-data")
    }

    private static func checkedContent(of folder: String) throws(CommandError) -> Content {
        do throws(SystemError) {
            return try content(of: folder)
        } catch {
            throw CommandError(isForbidden: error.isForbidden, "the folder \(folder) can't be looked at: \(error)")
        }
    }
}
