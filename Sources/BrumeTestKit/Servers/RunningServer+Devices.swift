package import BrumeKit

extension RunningServer {
    /// A device of an account: each call makes another one, unless it is given a state folder.
    package func device(token: String?, configure: (inout BrumeConfiguration) -> Void = { _ in }) -> CKContainer {
        CKContainer(identifier: Self.container, configuration: clientConfiguration(token: token, configure))
    }

    /// What the SDK needs to reach the server as another device.
    package func clientConfiguration(
        token: String?, _ configure: (inout BrumeConfiguration) -> Void = { _ in }
    ) -> BrumeConfiguration {
        var configuration = BrumeConfiguration(
            server: "127.0.0.1:\(port)", caPath: caPath, token: token, container: Self.container,
            stateFolder: newStateFolder())
        // Most tests add changes behind their commits.
        configuration.automaticSendDelay = .milliseconds(10)
        configure(&configuration)
        return configuration
    }
}
