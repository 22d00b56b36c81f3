internal import BrumeServer
internal import BrumeService
internal import BrumeStore
internal import BrumeSystem
internal import Foundation

/// The data folder, and the disk that it is on.
enum FolderCheck {
    private static let warningPercent: UInt64 = 10
    private static let slowSyncMilliseconds = 20.0
    private static let syncs = 64

    static func findings(_ configuration: ServerConfiguration) -> [Finding] {
        let folder = configuration.dataFolder
        var findings = [content(folder)].compactMap(\.self)
        // The disk is that of the folder, or of where it will be made.
        var place = folder
        while !FileSystem.isDirectory(place), place != "/", place != "." { place = FileSystem.directory(of: place) }
        findings += [room(place, "disk", of: folder), syncTime(place)].compactMap(\.self)
        if let assets = configuration.assetsFolder {
            findings += [room(assets, "disk of assets", of: assets)].compactMap(\.self)
        }
        return findings
    }

    private static func content(_ folder: String) -> Finding {
        let content: DataFolder.Content
        do throws(SystemError) {
            content = try DataFolder.content(of: folder)
        } catch {
            return Finding(
                "data folder", .failure, "\(folder) can't be read: \(error)",
                remedy: "run this as the server's user, or make the folder that user's")
        }
        switch content {
        case .missing: return Finding("data folder", .note, "\(folder) is not there: the first start makes it")
        case .empty: return Finding("data folder", .note, "\(folder) is empty: the first start begins it")
        case .foreign:
            return Finding(
                "data folder", .failure, "\(folder) is the folder of something else",
                remedy: "name the server's own with --data (data in the configuration file)")
        case .data: break
        }
        if let mode = try? FileSystem.permissions(folder), mode & 0o077 != 0 {
            return Finding(
                "data folder", .warning, "others than its owner can enter \(folder)", remedy: "chmod go= \(folder)")
        }
        let isServed = (try? OperatorDoor.isOpen(dataFolder: folder)) == true
        if isServed { return Finding("data folder", "a server runs on \(folder)") }
        do throws(SystemError) {
            try DirectoryLock(directory: folder).release()
        } catch {
            return Finding(
                "data folder", .failure, "\(folder) can't be taken by a server: \(error)",
                remedy: "end what uses it, or make the folder the server's user's")
        }
        return Finding("data folder", "\(folder) is a server's, and none runs on it (brume verify reads all of it)")
    }

    private static func room(_ place: String, _ subject: String, of folder: String) -> Finding? {
        guard let space = try? FileSystem.space(place), space.total > 0 else { return nil }
        let percent = space.available * 100 / space.total
        let text =
            "\(ByteSize(bytes: Int(clamping: space.available)).rounded) of "
            + "\(ByteSize(bytes: Int(clamping: space.total)).rounded) are free (\(percent) %)"
        return percent < warningPercent
            ? Finding(
                subject, .warning, "where \(folder) is, \(text)",
                remedy: "make room: a full disk refuses writes, and below --asset-free uploads are refused")
            : Finding(subject, "where \(folder) is, \(text)")
    }

    /// How long the disk takes to keep something for good: each commit waits for that.
    private static func syncTime(_ place: String) -> Finding? {
        let path = "\(place)/.brume-doctor-\(getpid())"
        var milliseconds: [Double] = []
        do throws(SystemError) {
            let file = try File(path: path, mode: .createExclusively)
            defer {
                file.close()
                try? FileSystem.remove(path)
            }
            let block = [UInt8](repeating: 1, count: 4096)
            for index in 0..<syncs {
                let start = MonotonicClock.nowNanoseconds
                try block.withUnsafeBytes { bytes in
                    Result { () throws(SystemError) in try file.write(bytes, at: index * 4096) }
                }.get()
                try file.syncData()
                milliseconds.append(Double(MonotonicClock.nowNanoseconds - start) / 1_000_000)
            }
        } catch {
            return Finding(
                "disk writes", .failure, "\(place) can't be written: \(error)",
                remedy: "make it writable for the server's user, or make room")
        }
        milliseconds.sort()
        let (median, last) = (milliseconds[syncs / 2], milliseconds[syncs * 99 / 100])
        let text = String(
            format: "a write is on the disk after %.2f ms (median), %.2f ms at the 99th percentile", median, last)
        return median > slowSyncMilliseconds
            ? Finding(
                "disk writes", .warning, text,
                remedy: "each save waits for that: a disk with power-loss protection takes a hundredth")
            : Finding("disk writes", text)
    }
}
