internal import BrumeModel
internal import BrumeProtocol
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
    static func open(_ core: ServerCore, on shard: Shard) throws(ServerError) -> LocalListener {
        let path = path(dataFolder: core.configuration.dataFolder)
        var limits = core.configuration.socketLimits
        limits.connectionsMax = ServerLimits.operatorConnections
        do throws(SystemError) {
            return try LocalListener(path: path, loop: shard.loop, limits: limits) { user in
                core.log.warning("a process of another user was sent away", [("user", String(user))])
            } accept: { connection in
                let session = Session(shard: shard, server: core, isOperators: true)
                session.accepted(connection)
                return session
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

extension ServerCore {
    /// Authenticates a hello at the operator's door, where everybody is the operator.
    ///
    /// The operator may name any container, even one that this server does not serve: most of what they ask for is not
    /// about one.
    func authenticateOperator(_ hello: Hello) throws(ServiceError) -> Identity {
        let environment = try check(hello)
        if case .account = hello.credentials {
            throw ServiceError(
                .notAuthenticated, "this socket is for the server's operator; an account's token is for its port")
        }
        return Identity(
            role: .admin, container: hello.container, environment: environment, deviceID: hello.deviceID,
            clientVersion: hello.clientVersion)
    }
}
