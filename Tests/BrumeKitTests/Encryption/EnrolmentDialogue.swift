import BrumeEncryption
import BrumeModel

@testable import BrumeKit

/// An enrolment whose persons are there and type what they read, without a server between the two devices.
struct EnrolmentDialogue {
    let newDevice = KeyPairs(seed: .random())
    private var asking: NewDeviceStateMachine
    private var enrolling: EnrollingDeviceStateMachine

    /// Both have typed what the other showed.
    init(of desk: StatementDesk, by device: KeysDevice) throws {
        guard case .available(let identity) = try device.standing(), let keys = try device.kept().kept.device else {
            throw Steps.Broken()
        }
        let requestID = CKContainer.EnrolmentRequest.newID()
        asking = NewDeviceStateMachine(scope: desk.scope, device: newDevice, requestID: requestID)
        enrolling = try EnrollingDeviceStateMachine(
            identity: identity, device: keys, requestID: requestID, commitment: asking.commitment ?? [])
        let (opening, shown) = try asking.take(offer: enrolling.offer ?? [])
        try enrolling.take(opening: opening)
        try asking.typed(try enrolling.typed(shown).code)
    }

    /// What the device that has the keys does then.
    var adding: AccountKeysStateMachine.Goal { .addDevice(newDevice.publicKeys, name: "new") }

    /// What the new one does, once it is listed in the statement of a device.
    func taking(from device: KeysDevice) throws -> AccountKeysStateMachine.Goal {
        guard case .available(let identity) = try device.standing() else { throw Steps.Broken() }
        return .takeKeys(try given(identity.statement))
    }

    func given(_ statement: Statement) throws -> GivenKeys {
        var enrolling = enrolling
        return GivenKeys(dialogue: asking, done: try enrolling.done(statement: statement), device: newDevice)
    }

    /// Lets a device in.
    static func letIn(_ new: KeysDevice, of desk: StatementDesk, by old: KeysDevice) throws {
        let dialogue = try EnrolmentDialogue(of: desk, by: old)
        try old.run(dialogue.adding)
        try new.run(dialogue.taking(from: old))
    }
}
