internal import BrumeModel
internal import BrumeProtocol
internal import BrumeService

extension Claim {
    /// What a hello claims. Throws what is wrong with it, whoever sends it.
    init(_ hello: Hello) throws(ServiceError) {
        guard hello.protocolVersion == 1 else {
            throw ServiceError(
                .incompatibleVersion,
                "this server speaks protocol version 1; the client asked for \(hello.protocolVersion)")
        }
        guard let environment = hello.environment else {
            throw ServiceError(
                .invalidArguments, "the hello names no environment; choose development or production")
        }
        self.init(
            container: hello.container, environment: environment, deviceID: hello.deviceID,
            clientVersion: hello.clientVersion, proof: Proof(hello.credentials))
    }
}

extension Claim.Proof {
    init(_ credentials: Hello.Credentials) {
        self =
            switch credentials {
            case .none: .none
            case .account(let token): .account(token: token)
            case .admin(let token): .admin(token: token)
            }
    }
}
