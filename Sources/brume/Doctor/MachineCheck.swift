internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import Foundation

/// What the machine gives a server: descriptors, memory, the clock and the port.
enum MachineCheck {
    private static let descriptorsWanted = 16_384

    static func findings(_ configuration: ServerConfiguration) -> [Finding] {
        [port(configuration), descriptors(configuration), memory(configuration), clock()]
    }

    private static func port(_ configuration: ServerConfiguration) -> Finding {
        let address =
            configuration.host.contains(":")
            ? "[\(configuration.host)]:\(configuration.port)" : "\(configuration.host):\(configuration.port)"
        if configuration.port == 0 { return Finding("port", .note, "any that is free") }
        do throws(SystemError) {
            try Listener.probe(host: configuration.host, port: configuration.port)
            return Finding("port", "\(address) is free")
        } catch {
            if error.errno == EADDRINUSE {
                if (try? OperatorDoor.isOpen(dataFolder: configuration.dataFolder)) == true {
                    return Finding("port", "\(address) is in use, while a server runs on the data folder")
                }
                return Finding(
                    "port", .failure, "\(address) is in use by something else",
                    remedy: "end it (ss -ltnp shows it; brume.socket is one), or choose another with --listen")
            }
            return Finding(
                "port", .failure, "nothing can listen on \(address): \(error)",
                remedy: "name an address of this machine, or [::] for all of them, with --listen")
        }
    }

    private static func descriptors(_ configuration: ServerConfiguration) -> Finding {
        let limit = Descriptors.raiseLimit()
        let wanted = configuration.connections ?? descriptorsWanted
        let text = "\(CountText.grouped(limit)) open files, of which each connection takes one"
        return limit < wanted + 256
            ? Finding(
                "descriptors", .warning, text,
                remedy: "raise the hard limit: LimitNOFILE= in the unit, or ulimit -Hn")
            : Finding("descriptors", text)
    }

    private static func memory(_ configuration: ServerConfiguration) -> Finding {
        let total = Int(sysconf(Int32(_SC_PHYS_PAGES))) * Int(getpagesize())
        let kept = snapshotBytes(configuration.dataFolder)
        let budget = configuration.memoryBudgetBytes
        let (machine, disk) = (ByteSize(bytes: total).rounded, ByteSize(bytes: kept).rounded)
        if budget > total / 10 * 8 {
            return Finding(
                "memory", .warning,
                "--memory-budget is \(ByteSize(bytes: budget).rounded), and the machine has \(machine)",
                remedy: "leave a fifth to connections, answers and the system")
        }
        if budget == 0, kept > total / 8 {
            return Finding(
                "memory", .warning,
                "databases take up to \(disk) on the disk, more in memory, and the machine has \(machine)",
                remedy: "set --memory-budget to about half of that: idle databases leave memory then")
        }
        return Finding(
            "memory",
            "\(machine); databases have \(disk) on the disk, and "
                + (budget == 0 ? "no bound in memory" : "about \(ByteSize(bytes: budget).rounded) in memory"))
    }

    /// The bytes of snapshots and journal.
    private static func snapshotBytes(_ folder: String) -> Int {
        let paths = FileManager.default.enumerator(atPath: folder)
        var bytes = 0
        while let path = paths?.nextObject() as? String {
            if path.hasPrefix("assets") {
                paths?.skipDescendants()
                continue
            }
            bytes += (try? FileSystem.size("\(folder)/\(path)")) ?? 0
        }
        return bytes
    }

    private static func clock() -> Finding {
        let now = TypedValue.text(of: Date(timeIntervalSince1970: Date().timeIntervalSince1970.rounded()))
        return SystemClock.isKeptInStep
            ? Finding("clock", "\(now), kept in step")
            : Finding(
                "clock", .warning, "\(now), and nothing keeps it in step",
                remedy: "run systemd-timesyncd or chrony: apps see when records changed, and certificates expire")
    }
}
