internal import BrumeKit
internal import BrumeModel
internal import Glibc

/// One connection of a load: a closed loop, the next operation begins when the one before has its answer.
struct LoadWorker: Sendable {
    private let session: ClientSession
    private let zone: ZoneID
    private let configuration: LoadConfiguration
    private let index: Int

    init(index: Int, configuration: LoadConfiguration) throws(ServiceError) {
        var client = configuration.client
        client.token = configuration.tokens[index % configuration.tokens.count]
        session = try ClientSession.unshared(client)
        zone = ZoneID(name: "load-\(index)")
        self.configuration = configuration
        self.index = index
    }

    /// Connects and makes the zone, so that neither is measured.
    func prepare() async throws(ServiceError) {
        _ = try await session.welcome(timeoutNanoseconds: configuration.connectTimeoutNanoseconds)
        let result = try await session.modifyZones(ModifyZonesRequest(database: .private, saves: [zone]))
        for save in result.saves { _ = try save.get() }
    }

    /// Works until the deadline of the monotonic clock.
    func run(untilNanoseconds deadline: UInt64) async -> LoadFigures {
        var figures = LoadFigures()
        var generator = SeededGenerator(seed: configuration.seed &+ UInt64(index) &* 0x1_0000_0001)
        var payload = (0..<configuration.recordBytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        var token: [UInt8] = []
        var saved = 0
        var serial: Int64 = 0
        var now = Self.monotonicNanoseconds()
        while now < deadline {
            var operation = configuration.mix.operation(for: generator.next() >> 8)
            // What nobody has saved can't be fetched.
            if operation == .fetch, saved == 0 { operation = .save }
            let started = now
            do throws(ServiceError) {
                let records: Int
                switch operation {
                case .save:
                    serial += 1
                    stamp(serial, into: &payload)
                    try await save(payload, serial: serial, random: generator.next())
                    saved = min(LoadConfiguration.recordsPerConnection, saved + configuration.batch)
                    records = configuration.batch
                case .fetch: records = try await fetch(of: saved, random: generator.next())
                case .changes: records = try await changes(since: &token)
                }
                now = Self.monotonicNanoseconds()
                figures.succeeded(operation, nanoseconds: now - started, records: records)
            } catch {
                figures.failed(operation, code: "\(error.code.rawValue) \(error.message)")
                now = Self.monotonicNanoseconds()
            }
        }
        return figures
    }

    /// Names go round, so that the first ones are those that fetches find.
    private func save(_ payload: [UInt8], serial: Int64, random: UInt64) async throws(ServiceError) {
        let first = (Int(serial) - 1) * configuration.batch
        let saves = (0..<configuration.batch).map { offset in
            RecordSave<DecodedFields>(
                name: name((first + offset) % LoadConfiguration.recordsPerConnection), type: "Load",
                fields: ["payload": .bytes(payload), "serial": .int64(serial)])
        }
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private, savePolicy: .allKeys, operationID: operationID(serial: serial, random: random),
            zones: [ZoneModification(zone: zone, saves: saves)])
        for result in try await session.modifyRecords(request).flatMap(\.saves) {
            if case .failure(let error) = result.outcome { throw error }
        }
    }

    private func fetch(of saved: Int, random: UInt64) async throws(ServiceError) -> Int {
        let count = min(configuration.batch, saved)
        let first = Int(random >> 8) % saved
        let names = (0..<count).map { name((first + $0) % saved) }
        let request = FetchRecordsRequest(
            database: .private, zones: [FetchRecordsRequest.ZoneFetch(zone: zone, names: names)])
        var fetched = 0
        for outcome in try await session.fetchRecords(request).flatMap({ $0 }) {
            switch outcome {
            case .record: fetched += 1
            case .failure(let error): throw error
            case .deferred: break
            }
        }
        return fetched
    }

    private func changes(since token: inout [UInt8]) async throws(ServiceError) -> Int {
        let page = try await session.zoneChanges(ZoneChangesRequest(database: .private, zone: zone, token: token))
        token = page.token
        return page.records.count + page.deletions.count
    }

    private func name(_ number: Int) -> String { "record-\(number)" }

    private func stamp(_ serial: Int64, into payload: inout [UInt8]) {
        withUnsafeBytes(of: serial) { bytes in
            for offset in 0..<min(bytes.count, payload.count) { payload[offset] = bytes[offset] }
        }
    }

    private func operationID(serial: Int64, random: UInt64) -> [UInt8] {
        var id: [UInt8] = []
        withUnsafeBytes(of: serial ^ Int64(index) << 40) { id += $0 }
        withUnsafeBytes(of: random ^ Self.monotonicNanoseconds()) { id += $0 }
        return id
    }

    static func monotonicNanoseconds() -> UInt64 {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
    }
}
