internal import BrumeKit
internal import Synchronization

/// The devices that a server gave away and that are still there.
final class DeviceList: Sendable {
    private struct State {
        var made = 0
        var devices: [WeakDevice] = []
    }

    private struct WeakDevice: Sendable {
        weak var device: TestDevice?
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
            state.devices.removeAll { $0.device == nil }
            guard state.devices.count < TestLimits.devicesMax else {
                throw TestServerError("the test server has \(state.devices.count) devices, which is the limit")
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

    func insert(_ device: TestDevice) {
        state.withLock { $0.devices.append(WeakDevice(device: device)) }
    }

    private var all: [TestDevice] { state.withLock { $0.devices.compactMap(\.device) } }

    /// Calls of all devices fail with the sentence from now on.
    func end(_ sentence: String) {
        for device in all { device.end(sentence) }
    }

    /// What kept devices from the server may be over.
    func circumstancesChanged() {
        for device in all { device.container.circumstancesChanged() }
    }
}
