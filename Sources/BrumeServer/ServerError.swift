internal import BrumeStore
internal import BrumeSystem

/// Why a server doesn't start, or stopped: a sentence for the operator that says what to do.
package struct ServerError: Error, CustomStringConvertible, Sendable {
    package enum Code: Sendable {
        /// Another server has the data folder.
        case folderInUse
        /// The data folder can't be read or written.
        case folder
        /// The folder is another user's.
        case notPermitted
        /// There is no room for a change on the data folder's disk. Nothing changed.
        case diskFull
        /// A file of the data folder is damaged.
        case damaged
        /// The folder of the assets is not there, or is not the right one: its disk may not be mounted.
        case assetsMissing
        /// The folder of the assets is another data folder's, or assets are in two places.
        case assetsConflict
        /// The assets are in another folder than the command line says.
        case assetsNotNamed
        /// The certificate, its key or the CA can't be used.
        case certificate
        /// The address can't be listened on.
        case listen
        /// A limit of the server.
        case limit
    }

    package let code: Code
    package let message: String

    package init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    package var description: String { message }
}

extension ServerError {
    init(folderNotMade error: SystemError) {
        let advice =
            error.isNotFound
            ? "; make the folder that it is to stand in first"
            : error.isForbidden ? "; choose one that this user may write to, or make it and give it to this user" : ""
        self.init(.folder, "the data folder can't be made: \(error)\(advice)")
    }

    /// A file of the folder is damaged or missing, or a newer version's.
    init(damaged folder: String, _ error: StoreError) {
        guard case .damaged = error else {
            self.init(.damaged, "\(folder): \(error)")
            return
        }
        if case .damaged(let damage) = error, damage.isMissing, damage.file == BlobFolder.root {
            self.init(
                .damaged,
                """
                \(folder): \(error). If it was moved to another disk, start with brume serve --assets DIR. If it is lost, \
                restore a backup; without one, brume help verify describes --accept-loss
                """)
            return
        }
        self.init(
            .damaged,
            "\(folder): \(error). Restore a backup; without one, brume help verify describes --accept-loss")
    }

    /// A server that is starting or stopping has the lock, and does not listen.
    init(folderNotLocked folder: String, _ error: SystemError) {
        if error.isExisting {
            self.init(
                .folderInUse,
                "\(folder) is in use by another server or command; stop that one, or wait until it has ended")
        } else {
            self.init(.folder, "the data folder can't be locked: \(error)")
        }
    }

    init(listeningOn host: String, _ port: UInt16, _ error: SystemError) {
        let advice =
            error.isInUse
            ? "; another program, or another server, listens there: stop it, or choose another port"
            : error.isForbidden ? "; ports below 1024 are root's: choose a higher one" : ""
        self.init(.listen, "\(host):\(port) can't be listened on: \(error)\(advice)")
    }
}
