internal import BrumeKit
internal import Synchronization

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

    private let state = Mutex(State())

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

    /// What kept devices from the server may be over.
    func circumstancesChanged() {
        for transport in all { transport.circumstancesChanged() }
    }
}
