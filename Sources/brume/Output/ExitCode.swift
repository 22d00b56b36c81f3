/// How the process ends. The numbers are part of the command line's interface: they do not change.
enum ExitCode: Int32, CaseIterable, Sendable {
    case done = 0
    case failed = 1
    case usage = 2
    case notFound = 3
    case conflict = 4
    case notPermitted = 5
    case unreachable = 6
    case damaged = 7
    /// EX_IOERR of sysexits.h, with which the server exits by itself.
    case diskFailed = 74

    var meaning: String {
        switch self {
        case .done: "done"
        case .failed: "failed; the message says why"
        case .usage: "the command line makes no sense"
        case .notFound: "a record, zone, account, role, container, file or folder is not there"
        case .conflict: "somebody else was first: the record changed, the account exists, the folder is in use"
        case .notPermitted: "not authenticated, or not permitted"
        case .unreachable: "the server can't be reached, or is not ready"
        case .damaged:
            "verify, backup, restore, health or the start of a server found damage in the data folder or backup"
        case .diskFailed:
            "serve or dev stopped: the journal can't be written or synced; what was acknowledged is on the disk"
        }
    }
}
