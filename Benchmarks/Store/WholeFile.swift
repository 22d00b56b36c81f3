internal import BrumeKit
internal import BrumeServer
internal import BrumeService
internal import BrumeSystem
internal import BrumeTestKit
internal import Foundation
internal import Glibc

/// A large file from one device of an account to another one, plain and encrypted by turns: the time until it is saved
/// and until it is fetched, the processor's time of all of the process, which is both devices and the server, and what
/// the process's memory grows by meanwhile. Files of several sizes show whether memory depends on the size.
enum WholeFile {
    private static let rounds = 3

    static func run(megabytes: Int) async throws {
        let server = try RunningServer {
            $0.log = .none
            $0.service.assetLimitBytes = UInt64(2 * megabytes) << 20
        }
        defer { server.stop() }
        print("a file of \(megabytes) MiB from device to device, \(rounds) rounds, plain and encrypted by turns")
        var figures: [Bool: Figures] = [false: Figures(), true: Figures()]
        for round in 0..<rounds {
            for isEncrypted in [false, true] {
                try await send(
                    megabytes, isEncrypted: isEncrypted, round, server, &figures[isEncrypted, default: Figures()])
            }
        }
        for isEncrypted in [false, true] {
            let title = isEncrypted ? "encrypted" : "plain"
            guard let figures = figures[isEncrypted] else { continue }
            Encryption.report("\(title), saved", "s", figures.save.seconds)
            Encryption.report("\(title), saved", "ms CPU a MiB, devices and server", figures.save.processor)
            Encryption.report("\(title), fetched", "s", figures.fetch.seconds)
            Encryption.report("\(title), fetched", "ms CPU a MiB, devices and server", figures.fetch.processor)
            Encryption.report("\(title), memory of the process, most", "MiB more than before", figures.memory)
        }
    }

    private static func send(
        _ megabytes: Int, isEncrypted: Bool, _ round: Int, _ server: RunningServer, _ figures: inout Figures
    ) async throws {
        let token = try server.addAccount("\(isEncrypted ? "ada" : "bob")\(round)")
        let devices = [0, 1].map { _ in server.device(token: token) { $0.encryptsAssets = isEncrypted } }
        let folder = try TestFolder()
        let path = folder.file("file")
        let digest = try write(megabytes, to: path, number: 2 * round + (isEncrypted ? 1 : 0))
        let record = CKRecord(recordType: "Film")
        if isEncrypted { try await devices[1].useRecoveryCode(try await devices[0].recoveryCode().text) }
        try forgetPeakMemory()
        let before = try peakMemoryMegabytes()
        record["film"] = CKAsset(fileURL: URL(fileURLWithPath: path))
        try await figures.save.measure(megabytes) { try await devices[0].privateCloudDatabase.save(record) }
        var fetched: CKRecord?
        try await figures.fetch.measure(megabytes) {
            fetched = try await devices[1].privateCloudDatabase.record(for: record.recordID)
        }
        figures.memory.append(try peakMemoryMegabytes() - before)
        let asset: CKAsset? = fetched?["film"]
        guard let url = asset?.fileURL, try self.digest(of: url.path) == digest else {
            preconditionFailure("the file is another one on the second device")
        }
    }

    struct Figures {
        var save = Cost()
        var fetch = Cost()
        var memory: [Double] = []
    }

    struct Cost {
        var seconds: [Double] = []
        var processor: [Double] = []

        mutating func measure(_ megabytes: Int, _ body: () async throws -> Void) async throws {
            let (began, before) = (nanoseconds(), nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID))
            try await body()
            seconds.append(Double(nanoseconds() - began) / 1e9)
            processor.append(
                Double(nanoseconds(of: CLOCK_PROCESS_CPUTIME_ID) - before) / Double(megabytes) / 1e6)
        }
    }

    // MARK: The file

    /// Writes a file of which no two parts are equal.
    private static func write(_ megabytes: Int, to path: String, number: Int) throws -> UInt64 {
        guard let file = fopen(path, "w") else { preconditionFailure("no file can be made at \(path)") }
        defer { fclose(file) }
        var state = UInt64(number) &+ 1
        var part = [UInt64](repeating: 0, count: 1 << 17)
        var digest = Digest()
        for _ in 0..<megabytes {
            for index in part.indices {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                part[index] = state
            }
            part.withUnsafeBytes { bytes in
                digest.add(bytes)
                precondition(fwrite(bytes.baseAddress, 1, bytes.count, file) == bytes.count, "the disk is full")
            }
        }
        return digest.value
    }

    private static func digest(of path: String) throws -> UInt64 {
        guard let file = fopen(path, "r") else { preconditionFailure("there is no file at \(path)") }
        defer { fclose(file) }
        var part = [UInt8](repeating: 0, count: 1 << 20)
        var digest = Digest()
        while case let count = fread(&part, 1, part.count, file), count > 0 {
            part.withUnsafeBytes { digest.add(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
        }
        return digest.value
    }

    /// Enough to see that a file is another one.
    private struct Digest {
        var value: UInt64 = 14_695_981_039_346_656_037

        mutating func add(_ bytes: UnsafeRawBufferPointer) {
            for offset in stride(from: 0, to: bytes.count & ~7, by: 8) {
                value = (value ^ bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)) &* 1_099_511_628_211
            }
        }
    }

    // MARK: Memory

    private static func forgetPeakMemory() throws {
        guard let file = fopen("/proc/self/clear_refs", "w") else { return }
        fputs("5", file)
        fclose(file)
    }

    private static func peakMemoryMegabytes() throws -> Double {
        let status = try String(contentsOfFile: "/proc/self/status", encoding: .utf8)
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmHWM:") }
        let kilobytes = line?.split(separator: " ").dropFirst().first.flatMap { Double($0) }
        guard let kilobytes else { preconditionFailure("the system does not say how much memory there was") }
        return kilobytes / 1024
    }
}
