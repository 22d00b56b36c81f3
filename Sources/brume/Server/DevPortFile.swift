internal import BrumeSystem
internal import Foundation

/// The port on which `brume dev` served a data folder last, beside its certificates: what devices keep of a server goes
/// by its address.
struct DevPortFile {
    private static let host = "127.0.0.1"
    private let path: String

    init(folder: String) { path = folder + "/port" }

    /// The port, if nobody has it now; nil where there is none.
    var freePort: UInt16? {
        guard let text = try? String(contentsOfFile: path, encoding: .utf8),
            let port = UInt16(text.trimmingCharacters(in: .whitespacesAndNewlines)), port > 0,
            let socket = try? Listener.socket(host: Self.host, port: port, backlog: 1)
        else { return nil }
        close(socket.fd)
        return port
    }

    /// Remembers the port. Where it can't be written, the next start takes another one.
    func write(_ port: UInt16) { try? FileSystem.atomicReplace(path, Array("\(port)\n".utf8)) }
}
