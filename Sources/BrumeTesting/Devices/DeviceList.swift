internal import BrumeKit
internal import BrumeLock

/// The devices that a server gave away and that still exist.
final class DeviceList: Sendable {
    private struct State {
        var made = 0
        var devices: [Entry] = []
        /// Ids of the kit's own devices.
        var kitsIDs: Set<[UInt8]> = []
        var isServerReachable = true
        /// What the server does otherwise than a healthy one; nil for one in another process.
        weak var script: ServerScript?
        /// By the accounts' names: those that devices were let in with.
        var recoveryCodes: [String: CKContainer.RecoveryCode] = [:]
    }

    /// A container keeps its transport, and so does each of its databases, whatever becomes of the device.
    private struct Entry: Sendable {
        let name: String
        /// The one that the device had first: signing in with another account changes it.
        let id: [UInt8]
        weak var transport: DeviceTransport?
        weak var container: CKContainer?

        func hasID(_ id: [UInt8]) -> Bool { id == self.id || id == (try? container?.deviceID()) }
    }

    private let state = Lock(State())

    /// Makes a device with a state folder in the server's.
    ///
    /// - Parameters:
    ///   - host: Kept by the device.
    ///   - isKits: Whether the kit uses the device itself: it is no device of the test's.
    func add(
        to host: any Sendable, account: TestAccount?, folder: TestFolder, isKits: Bool = false,
        configuration: (_ stateFolder: String) -> BrumeConfiguration
    ) throws -> TestDevice {
        let number = try state.withLock { state in
            state.devices.removeAll { $0.transport == nil }
            guard state.devices.count < TestLimits.devicesMax else {
                throw TestServerError("the test server has \(state.devices.count) devices, which is the limit")
            }
            if isKits { return 0 }
            state.made += 1
            return state.made
        }
        let name = "\(account?.name ?? "nobody")-\(number)"
        let device = try TestDevice(
            name: name, account: account, configuration: configuration(folder.path + "/devices/" + name), list: self,
            host: host)
        if isKits { state.withLock { _ = $0.kitsIDs.insert(device.identity.id) } }
        return device
    }

    func insert(_ transport: DeviceTransport, _ device: ScriptedDevice) {
        let entry = Entry(name: device.name, id: device.id, transport: transport, container: device.container)
        let isServerReachable = state.withLock { state in
            state.devices.append(entry)
            return state.isServerReachable
        }
        if !isServerReachable { transport.setServerReachable(false) }
    }

    // MARK: Encryption keys

    func recoveryCode(of account: TestAccount) -> CKContainer.RecoveryCode? {
        state.withLock { $0.recoveryCodes[account.name] }
    }

    func setRecoveryCode(_ code: CKContainer.RecoveryCode, of account: TestAccount) {
        state.withLock { $0.recoveryCodes[account.name] = code }
    }

    private var all: [DeviceTransport] { state.withLock { $0.devices.compactMap(\.transport) } }

    func setScript(_ script: ServerScript) { state.withLock { $0.script = script } }

    /// What the server does otherwise than a healthy one; nil for one in another process.
    var script: ServerScript? { state.withLock { $0.script } }

    // MARK: As the server knows them

    /// Whether an id is of one of the kit's own devices.
    func isKits(_ id: [UInt8]) -> Bool { state.withLock { $0.kitsIDs.contains(id) } }

    /// The name of the device that goes by an id; nil for none of this list's.
    func name(ofDeviceWithID id: [UInt8]) -> String? {
        let devices = state.withLock { $0.devices }
        return (devices.first { $0.id == id } ?? devices.first { $0.hasID(id) })?.name
    }

    /// Takes a device's network away.
    func goOffline(deviceWithID id: [UInt8]) {
        for device in state.withLock({ $0.devices }) where device.hasID(id) { device.transport?.setOnline(false) }
    }

    // MARK: All of them

    var isServerReachable: Bool { state.withLock { $0.isServerReachable } }

    /// Devices, those to come included, find the server again, or do not.
    func setServerReachable(_ isReachable: Bool) {
        state.withLock { $0.isServerReachable = isReachable }
        for transport in all { transport.setServerReachable(isReachable) }
    }

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
