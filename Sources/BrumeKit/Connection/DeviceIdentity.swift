internal import BrumeSystem
internal import Foundation

/// The device's id: without an account the 16 random bytes in the file `device-id` of the state folder, made once and
/// kept for good; with one, 16 bytes that these and the account's token come to, so that no two accounts share an id
/// and nobody can tell from their ids that they are on one device. A new token of the same account makes another
/// device.
///
/// The server leaves a device's own changes out of its notifications, and keeps events for a device that is away, by
/// this id. Processes that run at the same time and listen for notifications need a folder each.
enum DeviceIdentity {
    static let byteCount = 16

    /// The device's id for an account, or without one.
    ///
    /// - Throws: ``ConfigurationProblem`` when the folder can't be used.
    static func load(folder: String, token: String?) throws(ConfigurationProblem) -> [UInt8] {
        let id = try load(folder: folder)
        guard let token else { return id }
        return Array(SHA256.digest(id + Array(token.utf8)).prefix(byteCount))
    }

    /// The folder's id, made when there is none.
    ///
    /// - Throws: ``ConfigurationProblem`` when the folder can't be used.
    static func load(folder: String) throws(ConfigurationProblem) -> [UInt8] {
        let path = folder + "/device-id"
        if let id = try read(path) { return id }
        do {
            try FileManager.default.createDirectory(
                atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            // Written elsewhere and linked into place: the file appears whole, and the first of several processes wins.
            let temporary = path + "." + UUID().uuidString
            var generator = SystemRandomNumberGenerator()
            let id = Data((0..<byteCount).map { _ in UInt8.random(in: .min ... .max, using: &generator) })
            try id.write(to: URL(fileURLWithPath: temporary), options: .withoutOverwriting)
            defer { try? FileManager.default.removeItem(atPath: temporary) }
            do {
                try FileManager.default.linkItem(atPath: temporary, toPath: path)
            } catch {
                guard FileManager.default.fileExists(atPath: path) else { throw error }
            }
        } catch {
            throw ConfigurationProblem(
                "the device id can't be written to \(path): \(error.localizedDescription); set BRUME_STATE to a folder that "
                    + "this process can write to")
        }
        guard let id = try read(path) else {
            throw ConfigurationProblem("\(path) was removed while it was made; try again")
        }
        return id
    }

    /// Whether the app itself has ever listened for notifications, `now` included: the file `app-listens` in the folder
    /// says so from then on. Where it can't be written, the app is taken to have listened for as long as the process
    /// runs.
    static func appListens(folder: String, now: Bool) -> Bool {
        let path = folder + "/app-listens"
        let isKnown = FileManager.default.fileExists(atPath: path)
        if now, !isKnown { _ = FileManager.default.createFile(atPath: path, contents: nil) }
        return isKnown || now
    }

    private static func read(_ path: String) throws(ConfigurationProblem) -> [UInt8]? {
        var data: Data?
        var problem: (any Error)?
        // Once more where it was there only behind the first attempt, because another one made it.
        for _ in 0..<2 where data == nil {
            do {
                data = try Data(contentsOf: URL(fileURLWithPath: path))
            } catch {
                guard FileManager.default.fileExists(atPath: path) else { return nil }
                problem = error
            }
        }
        guard let data else {
            throw ConfigurationProblem(
                "the device id in \(path) can't be read: \(problem!.localizedDescription); make it readable, or set "
                    + "BRUME_STATE to another folder")
        }
        guard data.count == byteCount else {
            throw ConfigurationProblem(
                "\(path) holds \(data.count) bytes instead of a device id's \(byteCount); remove the file, and a new id is made"
            )
        }
        return [UInt8](data)
    }
}

/// What is wrong with how a container was configured: a sentence that names what to set.
struct ConfigurationProblem: Error, Equatable {
    let message: String

    init(_ message: String) {
        self.message = message
    }
}
