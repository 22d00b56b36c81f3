package import BrumeKit

/// What a load consists of.
package struct LoadConfiguration: Sendable {
    /// The server, the container and the environment; its token does not count.
    package var client: BrumeConfiguration
    /// Connections are dealt out to these accounts.
    package var tokens: [String]
    /// Each is a session and a device of its own, with one operation under way.
    package var connections = 8
    package var seconds = 10.0
    package var mix: LoadMix
    /// Bytes of a record's largest field.
    package var recordBytes = 1024
    /// Records of a save or a fetch.
    package var batch = 1
    /// How long a connection may take to come up.
    package var connectTimeoutNanoseconds: UInt64 = 5_000_000_000
    /// Operations and names are drawn with it.
    package var seed: UInt64 = 1
    /// The server's process, if it is on this machine.
    package var serverPID: Int32?

    /// Different records that each connection saves; more saves write them again.
    package static let recordsPerConnection = 1_000

    package init(client: BrumeConfiguration, tokens: [String], mix: LoadMix) {
        self.client = client
        self.tokens = tokens
        self.mix = mix
    }
}
