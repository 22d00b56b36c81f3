import BrumeEncryption
import BrumeModel

@testable import BrumeKit

/// A device of the desk's account.
struct KeysDevice {
    typealias Machine = AccountKeysStateMachine

    let folder: KeyFolder
    let name: String
    private let desk: StatementDesk

    /// - Parameters:
    ///   - stateFolder: Where the device keeps its keys.
    ///   - disk: Nil for one whose steps the desk counts.
    init(_ name: String, at desk: StatementDesk, stateFolder: String, disk: (any KeyDisk)? = nil) {
        self.name = name
        self.desk = desk
        folder = KeyFolder(
            stateFolder: stateFolder, place: KeyPlace(server: "example.com:7440", scope: desk.scope),
            disk: disk ?? BreakingKeyDisk(steps: desk.steps))
    }

    /// Runs an operation, as a process would that was just started.
    @discardableResult
    func run(_ goal: Machine.Goal) throws -> (outcome: Machine.Outcome, standing: Machine.Standing?) {
        let loaded = try kept()
        var machine = Machine(goal: goal, kept: loaded.kept, scope: desk.scope, deviceName: name)
        var version = loaded.version
        var action = machine.started()
        while true {
            switch action {
            case .fetch(let number): action = machine.pageCame(try desk.fetch(after: number))
            case .append(let request):
                if let refusal = try desk.append(request) {
                    action = machine.appendRefused(refusal)
                } else {
                    action = machine.appended()
                }
            case .write(let changes):
                guard case .done(let next?) = try folder.write(changes, over: version) else { throw Steps.Broken() }
                version = next
                action = machine.written()
            case .finish(let outcome): return (outcome, machine.standing)
            }
        }
    }

    func kept() throws -> KeyFolder.Loaded {
        guard case .done(let loaded) = try folder.load() else { throw Steps.Broken() }
        return loaded
    }

    /// Where the device stands once it has looked.
    func standing() throws -> Machine.Standing? { try run(.look).standing }

    /// The code that an operation hands out.
    func code(_ goal: Machine.Goal) throws -> RecoveryCode? {
        guard case .code(let code) = try run(goal).outcome else { return nil }
        return code
    }

    func failure(_ goal: Machine.Goal) throws -> AccountKeysFailure? {
        guard case .failed(let failure) = try run(goal).outcome else { return nil }
        return failure
    }

    /// The identity's public keys; nil where the device can't open it.
    func identityKeys() throws -> PublicKeys? {
        guard case .available(let identity) = try standing() else { return nil }
        return identity.keys.publicKeys
    }

    /// The device's own keys; nil where no statement lists any.
    var ownKeys: PublicKeys? { get throws { try kept().kept.device?.publicKeys } }

    /// Whether the account's devices are these, in their order.
    static func are(_ devices: [KeysDevice], listedAt desk: StatementDesk) throws -> Bool {
        try desk.last?.devices.map(\.keys) == devices.compactMap { try $0.ownKeys }
    }
}
