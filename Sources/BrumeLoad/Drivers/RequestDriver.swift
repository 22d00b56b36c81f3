internal import BrumeModel
internal import BrumeProtocol
internal import BrumeRandom
internal import BrumeSystem

/// The scenarios `mixed`, `save` and `catch-up`: requests on connections that stay open.
///
/// `@unchecked Sendable`: belongs to its thread's loop.
final class RequestDriver: LoadDriver, @unchecked Sendable {
    /// One zone of one connection.
    private struct ZoneProgress {
        var id: ZoneID
        /// Records that fetches may ask for.
        var saved = 0
        var serial = 0
        var token: [UInt8] = []
    }

    private final class Device: @unchecked Sendable {
        let client: LoadClient
        var zones: [ZoneProgress]
        /// The intended times of operations that wait for room on the connection.
        var waiting: [UInt64] = []
        var firstWaiting = 0

        init(client: LoadClient, zones: [ZoneProgress]) {
            self.client = client
            self.zones = zones
        }
    }

    private unowned let thread: LoadThread
    private var devices: [Device] = []
    /// The indices of each account's devices.
    private var accounts: [[Int]] = []
    private var accountChoice: ZipfChoice?
    private let zoneChoice: ZipfChoice
    private var payload: [UInt8]
    private var nextDevice = 0
    private var isStopped = false
    private(set) var underWay = 0

    init(_ thread: LoadThread) {
        self.thread = thread
        zoneChoice = ZipfChoice(count: thread.configuration.zones, skew: thread.configuration.skew)
        payload = (0..<thread.configuration.recordBytes).map { UInt8(truncatingIfNeeded: $0 &* 31) }
    }

    private var configuration: LoadConfiguration { thread.configuration }

    // MARK: Preparing

    func prepare(_ done: @escaping (LoadFailure?) -> Void) {
        var byAccount: [Int: [Int]] = [:]
        for index in thread.connectionIndices {
            let zones = (0..<configuration.zones).map { number in
                ZoneProgress(id: ZoneID(name: number == 0 ? "load-\(index)" : "load-\(index)-\(number)"))
            }
            byAccount[index % configuration.tokens.count, default: []].append(devices.count)
            let client = thread.makeClient(index: index, token: thread.token(ofConnection: index))
            let device = Device(client: client, zones: zones)
            client.freed = { [unowned self, unowned device] in sendWaiting(device) }
            client.lost = { [unowned self, unowned device] _ in reopen(device) }
            devices.append(device)
        }
        accounts = byAccount.sorted { $0.key < $1.key }.map(\.value)
        if configuration.skew > 0, accounts.count > 1 {
            accountChoice = ZipfChoice(count: accounts.count, skew: configuration.skew)
        }
        thread.each(devices.count, { [unowned self] index, done in prepare(devices[index], done) }, done)
    }

    private func prepare(_ device: Device, _ done: @escaping (LoadFailure?) -> Void) {
        device.client.open { [self] failure in
            if let failure { return done(failure) }
            let request = ModifyZonesRequest(database: .private, saves: device.zones.map(\.id))
            device.client.call(.zonesModify, thread.coder.encodeModifyZonesRequest(request)) { [self] answer in
                let failure = outcome(answer) { (bytes) throws(ServiceError) in
                    for save in try thread.coder.decodeModifyZonesResponse(bytes).saves { _ = try save.get() }
                }
                if failure != nil || configuration.scenario != .catchUp { return done(failure) }
                fallBehind(device, zone: 0, done)
            }
        }
    }

    /// Gets the current token, then saves the records that the device is to be behind.
    private func fallBehind(_ device: Device, zone: Int, _ done: @escaping (LoadFailure?) -> Void) {
        if zone == device.zones.count { return done(nil) }
        catchUp(device, zone: zone, records: 0) { [self] result in
            switch result {
            case .failure(let failure): done(failure)
            case .success(let (_, token)):
                device.zones[zone].token = token
                saveLag(device, zone: zone, saved: 0) { [self] failure in
                    if let failure { return done(failure) }
                    fallBehind(device, zone: zone + 1, done)
                }
            }
        }
    }

    private func saveLag(_ device: Device, zone: Int, saved: Int, _ done: @escaping (LoadFailure?) -> Void) {
        let perRequest = max(1, min(400, LoadLimits.requestBytes / (configuration.recordBytes + 200)))
        let count = min(perRequest, configuration.lag - saved)
        if count <= 0 { return done(nil) }
        save(device, zone: zone, names: saved..<saved + count) { [self] failure in
            if let failure { return done(failure) }
            saveLag(device, zone: zone, saved: saved + count, done)
        }
    }

    // MARK: The load

    func begin() {
        if configuration.rate != nil { return }
        for device in devices { start(device, intended: thread.now) }
    }

    func issue(intended: UInt64) { start(chosenDevice(), intended: intended) }

    func stop() { isStopped = true }

    func timePassed() {}

    private func chosenDevice() -> Device {
        guard let accountChoice else {
            nextDevice = (nextDevice + 1) % devices.count
            return devices[nextDevice]
        }
        let account = accounts[accountChoice.index(for: thread.generator.next())]
        return devices[account[Int(thread.generator.next() >> 8) % account.count]]
    }

    private func start(_ device: Device, intended: UInt64) {
        if isStopped { return }
        guard device.client.mayCall else {
            let failure = LoadFailure(
                code: "not sent", message: device.client.isOpen ? "too many wait for the connection" : "not connected")
            guard device.client.isOpen, device.waiting.count - device.firstWaiting < LoadLimits.waitingPerConnection
            else {
                let operation = configuration.scenario == .catchUp ? LoadOperation.catchUp : .save
                thread.recorder.failed(operation, from: intended, failure)
                return continueClosedLoop(after: device)
            }
            device.waiting.append(intended)
            return
        }
        run(device, intended: intended)
    }

    private func sendWaiting(_ device: Device) {
        while device.firstWaiting < device.waiting.count, device.client.mayCall {
            let intended = device.waiting[device.firstWaiting]
            device.firstWaiting += 1
            if device.firstWaiting == device.waiting.count { (device.waiting, device.firstWaiting) = ([], 0) }
            run(device, intended: intended)
        }
    }

    private func run(_ device: Device, intended: UInt64) {
        let zone = configuration.zones == 1 ? 0 : zoneChoice.index(for: thread.generator.next())
        var operation = LoadOperation.catchUp
        if configuration.scenario != .catchUp {
            operation = configuration.mix.operation(for: thread.generator.next() >> 8)
            // Only saved records can be fetched.
            if operation == .fetch, device.zones[zone].saved == 0 { operation = .save }
        }
        underWay += 1
        let ended: (Result<Int, LoadFailure>) -> Void = { [self] result in
            underWay -= 1
            switch result {
            case .success(let records):
                thread.recorder.succeeded(operation, from: intended, to: thread.now, records: records)
            case .failure(let failure): thread.recorder.failed(operation, from: intended, failure)
            }
            continueClosedLoop(after: device)
        }
        switch operation {
        case .fetch: fetch(device, zone: zone, ended)
        case .changes: changes(device, zone: zone, ended)
        case .catchUp: catchUp(device, zone: zone, records: 0) { ended($0.map(\.records)) }
        default:
            let first = device.zones[zone].serial % LoadLimits.recordsPerZone
            device.zones[zone].serial += configuration.batch
            save(device, zone: zone, names: first..<first + configuration.batch) { [self] failure in
                if let failure { return ended(.failure(failure)) }
                let saved = min(LoadLimits.recordsPerZone, first + configuration.batch)
                device.zones[zone].saved = max(device.zones[zone].saved, saved)
                ended(.success(configuration.batch))
            }
        }
    }

    private func continueClosedLoop(after device: Device) {
        if configuration.rate != nil || isStopped { return }
        if device.client.isOpen {
            // In the next turn, so that an immediate failure does not recurse.
            thread.loop.execute { [self] in
                start(accountChoice == nil ? device : chosenDevice(), intended: thread.now)
            }
        } else if accountChoice != nil {
            // With another device, and not at once: the server may be away. Without a choice of accounts the device
            // goes on when it is connected again.
            _ = thread.loop.schedule(afterMilliseconds: LoadLimits.retryMilliseconds.lowerBound) { [unowned self] in
                start(chosenDevice(), intended: thread.now)
            }
        }
    }

    /// Reopens a lost connection, as an app does.
    private func reopen(_ device: Device) {
        if isStopped { return }
        let pause = UInt64.random(in: LoadLimits.retryMilliseconds, using: &thread.generator)
        _ = thread.loop.schedule(afterMilliseconds: pause) { [unowned self] in
            if isStopped { return }
            device.client.open { [self] failure in
                if failure != nil {
                    device.client.close()
                    return reopen(device)
                }
                if accountChoice == nil { continueClosedLoop(after: device) }
                sendWaiting(device)
            }
        }
    }

    // MARK: Requests

    /// Saves records of those numbers. Numbers beyond the zone's limit reuse names.
    private func save(
        _ device: Device, zone: Int, names: Range<Int>, _ done: @escaping (LoadFailure?) -> Void
    ) {
        let random = thread.generator.next()
        withUnsafeBytes(of: random) { bytes in
            for offset in 0..<min(bytes.count, payload.count) { payload[offset] = bytes[offset] }
        }
        let limit = configuration.scenario == .catchUp ? Int.max : max(LoadLimits.recordsPerZone, configuration.batch)
        let saves = names.map { number in
            RecordSave<DecodedFields>(
                name: "record-\(number % limit)", type: "Load",
                fields: ["payload": .bytes(payload), "serial": .int64(Int64(number))])
        }
        let request = ModifyRecordsRequest<DecodedFields>(
            database: .private, savePolicy: .allKeys, operationID: thread.operationID(),
            zones: [ZoneModification(zone: device.zones[zone].id, saves: saves)])
        device.client.call(.recordsModify, thread.coder.encodeModifyRecordsRequest(request)) { [self] answer in
            done(
                outcome(answer) { (bytes) throws(ServiceError) in
                    for result in try thread.coder.decodeModifyRecordsResponse(bytes).flatMap(\.saves) {
                        if case .failure(let error) = result.outcome { throw error }
                    }
                })
        }
    }

    private func fetch(_ device: Device, zone: Int, _ done: @escaping (Result<Int, LoadFailure>) -> Void) {
        let saved = device.zones[zone].saved
        let first = Int(thread.generator.next() >> 8) % saved
        let names = (0..<min(configuration.batch, saved)).map { "record-\((first + $0) % saved)" }
        let request = FetchRecordsRequest(
            database: .private, zones: [FetchRecordsRequest.ZoneFetch(zone: device.zones[zone].id, names: names)])
        device.client.call(.recordsFetch, thread.coder.encodeFetchRecordsRequest(request)) { [self] answer in
            var fetched = 0
            let failure = outcome(answer) { (bytes) throws(ServiceError) in
                for outcome in try thread.coder.decodeFetchRecordsResponse(bytes).flatMap({ $0 }) {
                    switch outcome {
                    case .record: fetched += 1
                    case .failure(let error): throw error
                    case .deferred: break
                    }
                }
            }
            done(failure.map { .failure($0) } ?? .success(fetched))
        }
    }

    private func changes(_ device: Device, zone: Int, _ done: @escaping (Result<Int, LoadFailure>) -> Void) {
        page(device, zone: zone, token: device.zones[zone].token) { result in
            if case .success(let page) = result { device.zones[zone].token = page.token }
            done(result.map(\.records))
        }
    }

    /// Fetches all pages from the zone's token, which stays as it is.
    private func catchUp(
        _ device: Device, zone: Int, records: Int, from token: [UInt8]? = nil,
        _ done: @escaping (Result<(records: Int, token: [UInt8]), LoadFailure>) -> Void
    ) {
        page(device, zone: zone, token: token ?? device.zones[zone].token) { [self] result in
            switch result {
            case .failure(let failure): done(.failure(failure))
            case .success(let page):
                let sum = records + page.records
                guard page.moreComing else { return done(.success((sum, page.token))) }
                guard device.client.mayCall else {
                    return done(.failure(LoadFailure(code: "not sent", message: "too many wait for the connection")))
                }
                catchUp(device, zone: zone, records: sum, from: page.token, done)
            }
        }
    }

    private func page(
        _ device: Device, zone: Int, token: [UInt8],
        _ done: @escaping (Result<(records: Int, token: [UInt8], moreComing: Bool), LoadFailure>) -> Void
    ) {
        let request = ZoneChangesRequest(database: .private, zone: device.zones[zone].id, token: token)
        device.client.call(.recordsChanges, thread.coder.encodeZoneChangesRequest(request)) { [self] answer in
            var page: (records: Int, token: [UInt8], moreComing: Bool) = (0, [], false)
            let failure = outcome(answer) { (bytes) throws(ServiceError) in
                let answer = try thread.coder.decodeZoneChangesResponse(bytes)
                page = (answer.records.count + answer.deletions.count, answer.token, answer.moreComing)
            }
            done(failure.map { .failure($0) } ?? .success(page))
        }
    }
}

/// What went wrong with an answer, or with reading it.
func outcome(
    _ answer: LoadClient.Answer, _ read: (UnsafeRawBufferPointer) throws(ServiceError) -> Void
) -> LoadFailure? {
    switch answer {
    case .failure(let failure): return failure
    case .success(let bytes):
        let result = bytes.withUnsafeBytes { buffer in
            Result { () throws(ServiceError) in try read(buffer) }
        }
        if case .failure(let error) = result { return LoadFailure(error) }
        return nil
    }
}
