internal import BrumeModel
internal import BrumeService
internal import BrumeSystem

/// The operator's way into a running server: a Unix socket in its data folder, which needs neither a certificate nor a
/// token.
///
/// It speaks the port's protocol, without TLS. The kernel decides who may use it: processes of the server's user and of
/// root. Only they can enter its folder, and the server asks the kernel who came.
package enum OperatorDoor {
    /// Its folder within the data folder.
    static let folderName = "operator"

    /// The socket of a server on this data folder.
    package static func path(dataFolder: String) -> String { "\(dataFolder)/\(folderName)/socket" }

    /// Opens the door. The data folder's lock makes sure that no other server has it open.
    static func open(_ door: BrumeDoor, onLoop index: Int) throws(ServerError) -> LocalListener {
        let core = door.server
        let path = path(dataFolder: door.configuration.dataFolder)
        var limits = door.configuration.socketLimits
        limits.connectionsMax = ServerLimits.operatorConnections
        do throws(SystemError) {
            return try LocalListener(path: path, loop: core.shards[index].loop, limits: limits) { user in
                core.log.warning("a process of another user was sent away", [("user", String(user))])
            } accept: { connection in
                door.accept(connection, onLoop: index, isOperators: true)
            }
        } catch {
            throw ServerError(.folder, "the operator's socket can't be made: \(error)")
        }
    }

    /// Whether a server listens for the operator of this data folder.
    package static func isOpen(dataFolder: String) throws(ServerError) -> Bool {
        let path = path(dataFolder: dataFolder)
        do throws(SystemError) {
            return try LocalSocket.isListening(path)
        } catch {
            guard error.isForbidden else { throw ServerError(.folder, "the server can't be asked: \(error)") }
            throw ServerError(
                .notPermitted, "\(path) is for the server's user and for root; run this as one of them")
        }
    }
}
