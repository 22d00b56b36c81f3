internal import BrumeKit
internal import BrumeLock

/// The devices that a server gave away and that are still there.
final class DeviceList: Sendable {
    private struct State {
        var made = 0
        /// A container keeps its transport, and so does each of its databases, whatever becomes of the device.
        var transports: [WeakTransport] = []
    }

    private struct WeakTransport: Sendable {
        weak var transport: DeviceTransport?
    }

    private let state = Lock(State())

    /// Makes a device with a state folder in the server's.
    ///
    /// - Parameter host: Kept by the device.
    func add(
        to host: any Sendable, account: TestAccount?, folder: TestFolder,
        configuration: (_ stateFolder: String) -> BrumeConfiguration
    ) throws -> TestDevice {
        let number = try state.withLock { state in
            state.transports.removeAll { $0.transport == nil }
            guard state.transports.count < TestLimits.devicesMax else {
                throw TestServerError("the test server has \(state.transports.count) devices, which is the limit")
            }
            state.made += 1
            return state.made
        }
        let name = "\(account?.name ?? "nobody")-\(number)"
        let device = try TestDevice(
            name: name, account: account, configuration: configuration(folder.path + "/devices/" + name), list: self,
            host: host)
        return device
    }

    func insert(_ transport: DeviceTransport) {
        state.withLock { $0.transports.append(WeakTransport(transport: transport)) }
    }

    private var all: [DeviceTransport] { state.withLock { $0.transports.compactMap(\.transport) } }

    /// Calls of all devices fail with the sentence from now on.
    func end(_ sentence: String) {
        for transport in all { transport.end(sentence) }
    }

    /// The connections that a user's devices have now, to wait for their end.
    func connections(ofUser userRecordName: String) -> DeviceConnections {
        DeviceConnections(open: all.map { ($0, $0.connections(ofUser: userRecordName)) })
    }

    /// What kept devices from the server may be over.
    func circumstancesChanged() {
        for transport in all { transport.circumstancesChanged() }
    }
}

/// Connections of devices at one moment.
struct DeviceConnections: Sendable {
    fileprivate let open: [(transport: DeviceTransport, numbers: Set<UInt64>)]

    /// Waits until the devices know that they are over.
    func ended() async {
        for (transport, numbers) in open { await transport.ended(numbers) }
    }
}
