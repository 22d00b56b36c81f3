internal import Foundation

/// `server.json` in the data folder of a running server: where clients on this machine reach it.
struct ServerFile: Equatable, Sendable {
    let server: String
    let caPath: String?
    let pid: Int32

    /// Reads the file. Returns nil when there is none, so no server runs on the folder.
    init?(dataFolder: String) throws(CommandError) {
        let path = dataFolder + "/server.json"
        guard let data = FileManager.default.contents(atPath: path) else { return nil }
        guard let json = try? JSONParser.value(of: String(decoding: data, as: UTF8.self)),
            let server = json["server"]?.text, case .integer(let pid)? = json["pid"]
        else {
            throw CommandError(.failed, "\(path) is no server file", hint: "remove it if no server runs on this folder")
        }
        self.server = server
        caPath = json["ca"]?.text
        self.pid = Int32(truncatingIfNeeded: pid)
    }

    /// Whether the process still exists: a server that was killed leaves its file behind.
    var isAlive: Bool { kill(pid, 0) == 0 || errno == EPERM }

    /// The address to connect to: a server that listens on all addresses is reached on this machine's own.
    var reachableServer: String {
        if server.hasPrefix("0.0.0.0:") { return "127.0.0.1" + server.dropFirst("0.0.0.0".count) }
        if server.hasPrefix("[::]:") { return "[::1]" + server.dropFirst("[::]".count) }
        return server
    }
}
