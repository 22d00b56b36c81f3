public import BrumeKit
public import FoundationEssentials
internal import Foundation

/// A device of a test server: a `CKContainer` with a device id and a state folder of its own, and a network that the
/// test can take away.
///
/// It keeps its server running. After the server's stop its calls fail at once.
public final class TestDevice: Sendable {
    /// The account's name and a number, for messages.
    public let name: String
    /// Nil: the device has no account.
    public let account: TestAccount?
    /// What the app under test is given.
    public let container: CKContainer
    /// A folder for the device's id and what else it keeps, such as the app's database. It goes with the server.
    public let stateFolder: URL

    /// How the server and scripts know the device.
    let identity: ScriptedDevice
    private let configuration: BrumeConfiguration
    private let transport: DeviceTransport
    let list: DeviceList
    /// The server, which runs while one of its devices is there.
    private let host: any Sendable

    init(
        name: String, account: TestAccount?, configuration: BrumeConfiguration, list: DeviceList, host: any Sendable
    ) throws {
        self.name = name
        self.account = account
        self.configuration = configuration
        self.list = list
        self.host = host
        stateFolder = URL(fileURLWithPath: configuration.stateFolder!, isDirectory: true)
        try FileManager.default.createDirectory(at: stateFolder, withIntermediateDirectories: true)
        let loop: LoopTransport
        switch LoopTransport.shared {
        case .success(let transport): loop = transport
        case .failure(let failure): throw TestServerError("the client's event loop can't be made: \(failure)")
        }
        transport = DeviceTransport(loop: loop, deviceName: name, list: list)
        // A registry of its own: devices share no connection.
        container = CKContainer(
            configuration: configuration, transport: .success(transport), registry: SessionRegistry())
        identity = ScriptedDevice(name: name, container: container)
        do throws(CKError) {
            _ = try container.deviceID()
        } catch {
            throw TestServerError(error.localizedDescription)
        }
        list.insert(transport, identity)
    }

    /// The user's own database.
    public var privateCloudDatabase: CKDatabase { container.privateCloudDatabase }

    /// The zones that other users share with the account.
    public var sharedCloudDatabase: CKDatabase { container.sharedCloudDatabase }

    /// The database that all users share.
    public var publicCloudDatabase: CKDatabase { container.publicCloudDatabase }

    /// The settings for a program of its own that is to be this device: `BRUME_SERVER` and the like.
    public var environmentVariables: [String: String] {
        var variables = [
            "BRUME_SERVER": configuration.server!, "BRUME_CA": configuration.caPath!,
            "BRUME_CONTAINER": configuration.container!, "BRUME_ENVIRONMENT": configuration.environment.rawValue,
            "BRUME_STATE": configuration.stateFolder!,
        ]
        if let token = configuration.token { variables["BRUME_TOKEN"] = token }
        return variables
    }

    // MARK: Network

    /// Whether the device has a network.
    public var isOnline: Bool { transport.isOnline }

    /// Takes the device's network away. Its connection breaks, and calls fail at once with `networkUnavailable`, writes
    /// in flight with `serverResponseLost`; those of the qualities of service `utility` and `background` wait, and so
    /// do listeners to ``CKContainer/notifications``.
    public func goOffline() {
        transport.setOnline(false)
    }

    /// Gives the device its network back. It reconnects at once where something waits for it.
    public func goOnline() {
        transport.setOnline(true)
    }

    // MARK: App

    /// The same device after its app was ended and started again: another container with the same device id and state
    /// folder. Calls of this one fail from now on.
    ///
    /// - Throws: ``TestServerError``.
    public func relaunched() throws -> TestDevice {
        end("the app on this device was started again: use the container of the device that relaunched() gave")
        return try TestDevice(name: name, account: account, configuration: configuration, list: list, host: host)
    }

    /// Another process of the same device beside this one, with the same device id and state folder.
    ///
    /// - Throws: ``TestServerError``.
    public func otherProcess() throws -> TestDevice {
        try TestDevice(name: name, account: account, configuration: configuration, list: list, host: host)
    }

    /// Calls fail with the sentence from now on, those in flight too.
    func end(_ sentence: String) {
        transport.end(sentence)
    }
}

extension TestDevice: CustomStringConvertible {
    /// The device's name.
    public var description: String { "TestDevice(\(name))" }
}
