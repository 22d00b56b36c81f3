import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeKit

/// What devices do about the account's keys when one lets another in, beside a server that the test has in its hands.
@Suite("Keys that one device gives another")
struct EnrolledKeysTests {
    let folder: TestFolder
    let desk = StatementDesk()
    let phone: KeysDevice
    let laptop: KeysDevice

    init() throws {
        folder = try TestFolder()
        phone = KeysDevice("phone", at: desk, stateFolder: folder.file("phone"))
        laptop = KeysDevice("laptop", at: desk, stateFolder: folder.file("laptop"))
    }

    private func tablet() throws -> KeysDevice {
        let tablet = KeysDevice("tablet", at: desk, stateFolder: folder.file("tablet"))
        try EnrolmentDialogue.letIn(tablet, of: desk, by: phone)
        return tablet
    }

    private func failure(_ device: KeysDevice, _ goal: AccountKeysStateMachine.Goal) throws -> AccountKeysFailure? {
        try device.failure(goal)
    }

    @Test("are the account's, and both devices are listed under the names that they were given")
    func letIn() throws {
        let code = try #require(try phone.code(.takeCode))
        try EnrolmentDialogue.letIn(laptop, of: desk, by: phone)
        #expect(try laptop.identityKeys() == phone.identityKeys())
        #expect(try KeysDevice.are([phone, laptop], listedAt: desk))
        let kept = try laptop.kept().kept
        #expect(kept.known?.trust == .compared && kept.pending == nil && kept.code == nil)
        guard case .available(let identity) = try phone.standing(), let device = try desk.last?.devices.last else {
            throw Steps.Broken()
        }
        #expect(DeviceName.open(device.name, of: device.keys, identity: identity.keys) == "new")
        // The code is as good as before, and the new device can let others in.
        #expect(try code.paperKey(desk.scope).publicKey == desk.last?.codeKey)
        let tablet = KeysDevice("tablet", at: desk, stateFolder: folder.file("tablet"))
        try EnrolmentDialogue.letIn(tablet, of: desk, by: laptop)
        #expect(try tablet.identityKeys() == phone.identityKeys())
    }

    @Test("come to a device that was removed before, and that has other keys of its own then")
    func again() throws {
        try phone.run(.identity)
        let tablet = try tablet()
        let former = try #require(try tablet.ownKeys)
        try phone.run(.removeDevice(former))
        guard case .noKeys(.removed, _) = try tablet.standing() else { Issue.record("it was removed"); return }
        try EnrolmentDialogue.letIn(tablet, of: desk, by: phone)
        #expect(try tablet.identityKeys() == phone.identityKeys())
        #expect(try tablet.ownKeys != former && KeysDevice.are([phone, tablet], listedAt: desk))
    }

    @Test("are listed once, however often that is asked for, and behind what another device did meanwhile")
    func listedOnce() throws {
        try phone.run(.identity)
        let tablet = try tablet()
        let dialogue = try EnrolmentDialogue(of: desk, by: phone)
        desk.isOvertakenBy = { _ = try tablet.code(.replaceCode) }
        for _ in 0..<3 { try phone.run(dialogue.adding) }
        #expect(desk.statements.count == 4)
        try laptop.run(dialogue.taking(from: phone))
        #expect(try laptop.identityKeys() == tablet.identityKeys())
        // Once more changes nothing.
        try laptop.run(dialogue.taking(from: phone))
        #expect(try KeysDevice.are([phone, tablet, laptop], listedAt: desk) && desk.statements.count == 4)
    }

    @Test("are not given by a device that has none, was removed, or whose account has as many devices as it may have")
    func refused() throws {
        let keys = KeyPairs(seed: .random()).publicKeys
        #expect(try failure(laptop, .addDevice(keys, name: "new")) == .notSetUp)
        try phone.run(.identity)
        #expect(try failure(laptop, .addDevice(keys, name: "new")) == .noKeys(.notEnrolled))
        let tablet = try tablet()
        let dialogue = try EnrolmentDialogue(of: desk, by: tablet)
        try phone.run(.removeDevice(#require(try tablet.ownKeys)))
        #expect(try failure(tablet, dialogue.adding) == .noKeys(.removed))
        for _ in 1..<KeyLimits.devicesMax {
            try phone.run(.addDevice(KeyPairs(seed: .random()).publicKeys, name: "one of many"))
        }
        #expect(try failure(phone, .addDevice(keys, name: "new")) == .tooManyDevices)
        #expect(try desk.last?.devices.count == KeyLimits.devicesMax)
    }

    @Test("are not taken where the server does not show what the other device said")
    func hidden() throws {
        try phone.run(.identity)
        let tablet = try tablet()
        let before = desk.statements
        let dialogue = try EnrolmentDialogue(of: desk, by: phone)
        try phone.run(dialogue.adding)
        let taking = try dialogue.taking(from: phone)
        let after = desk.statements
        // Without the statement that lists the device; and without any.
        for shown in [before, []] {
            desk.statements = shown
            #expect(try failure(laptop, taking) == .enrolmentBroken)
            #expect(try laptop.ownKeys == nil && laptop.identityKeys() == nil)
        }
        // What another dialogue said is of no use either.
        desk.statements = after
        let other = try EnrolmentDialogue(of: desk, by: tablet)
        try tablet.run(other.adding)
        let mixed = GivenKeys(
            dialogue: try dialogue.given(#require(try desk.last)).dialogue,
            done: try other.given(#require(try desk.last)).done, device: dialogue.newDevice)
        #expect(try failure(laptop, .takeKeys(mixed)) == .enrolmentBroken)
        #expect(try laptop.ownKeys == nil)
        // With all of it the device is let in after all.
        try laptop.run(taking)
        #expect(try laptop.identityKeys() == phone.identityKeys())
    }

    @Test("are not taken where a byte of what the other device said last is another one, or it was cut")
    func changed() throws {
        try phone.run(.identity)
        let dialogue = try EnrolmentDialogue(of: desk, by: phone)
        try phone.run(dialogue.adding)
        let given = try dialogue.given(#require(try desk.last))
        func expect(_ expected: AccountKeysFailure, with done: [UInt8]) throws {
            let taking = GivenKeys(dialogue: given.dialogue, done: done, device: given.device)
            #expect(try failure(laptop, .takeKeys(taking)) == expected, "\(done)")
            #expect(try laptop.ownKeys == nil && laptop.identityKeys() == nil)
        }
        // The label, and then format and suite.
        let label = 4 + "brume/1/enrol-4".utf8.count
        for index in given.done.indices {
            var done = given.done
            done[index] ^= 1
            try expect((label...label + 1).contains(index) ? .newer : .enrolmentBroken, with: done)
            try expect(.enrolmentBroken, with: Array(given.done.prefix(index)))
        }
        try expect(.enrolmentBroken, with: given.done + [0])
        try laptop.run(.takeKeys(given))
        #expect(try laptop.identityKeys() == phone.identityKeys())
    }

    @Test("are not those of a device that was removed again before they came")
    func removedMeanwhile() throws {
        try phone.run(.identity)
        let dialogue = try EnrolmentDialogue(of: desk, by: phone)
        try phone.run(dialogue.adding)
        let taking = try dialogue.taking(from: phone)
        try phone.run(.removeDevice(dialogue.newDevice.publicKeys))
        #expect(try failure(laptop, taking) == .enrolmentBroken)
        #expect(try laptop.ownKeys == nil)
    }

    @Test("of a person who began anew come to a device that knew those before")
    func beganAnew() throws {
        try phone.run(.identity)
        try laptop.run(.look)
        _ = try #require(try phone.code(.beginAnew))
        guard case .conflict(1) = try laptop.standing() else { Issue.record("it is another chain"); return }
        try EnrolmentDialogue.letIn(laptop, of: desk, by: phone)
        #expect(try laptop.identityKeys() == phone.identityKeys())
        #expect(try KeysDevice.are([phone, laptop], listedAt: desk))
    }

    /// The server is restored to what it was before `onOne`, and `onOther` follows.
    private func fork(onOne: () throws -> Void, onOther: () throws -> Void) throws {
        let backup = desk.statements
        try onOne()
        try laptop.run(.look)
        desk.statements = backup
        try onOther()
        guard case .conflict = try laptop.standing() else { Issue.record("there are two branches"); return }
    }

    @Test("of the one of two branches that a person chooses come to a device that knew the other")
    func branches() throws {
        try phone.run(.identity)
        let tablet = try tablet()
        let watch = KeysDevice("watch", at: desk, stateFolder: folder.file("watch"))
        try laptop.run(.look)
        // The tablet knows nothing of what the phone did.
        try fork {
            try EnrolmentDialogue.letIn(watch, of: desk, by: phone)
        } onOther: {
            _ = try tablet.code(.replaceCode)
        }
        try EnrolmentDialogue.letIn(laptop, of: desk, by: tablet)
        #expect(try laptop.identityKeys() == tablet.identityKeys())
        #expect(try KeysDevice.are([phone, tablet, laptop], listedAt: desk))
        // The phone and the watch come back the same way.
        for device in [phone, watch] {
            guard case .conflict = try device.standing() else { Issue.record("it knows a branch"); return }
            try EnrolmentDialogue.letIn(device, of: desk, by: laptop)
            #expect(try device.identityKeys() == tablet.identityKeys())
        }
    }

    @Test("of a branch are not taken where a device was removed on the other, or the code replaced")
    func branchOfRemovedDevice() throws {
        for isRemoval in [true, false] {
            let world = try EnrolledKeysTests()
            try world.expectNoWayToTheBranch(isRemoval: isRemoval)
        }
    }

    private func expectNoWayToTheBranch(isRemoval: Bool) throws {
        try phone.run(.identity)
        let tablet = try tablet()
        let other = KeysDevice("other", at: desk, stateFolder: folder.file("other"))
        try EnrolmentDialogue.letIn(other, of: desk, by: phone)
        try tablet.run(.look)
        try fork {
            if isRemoval {
                try phone.run(.removeDevice(#require(try other.ownKeys)))
            } else {
                _ = try phone.code(.replaceCode)
            }
        } onOther: {
            // What a device that was removed does for itself: it is not even listed there.
            try tablet.run(.removeDevice(#require(try other.ownKeys)))
        }
        let known = try laptop.kept().kept.known?.signed
        let dialogue = try EnrolmentDialogue(of: desk, by: tablet)
        try tablet.run(dialogue.adding)
        #expect(try failure(laptop, dialogue.taking(from: tablet)) == .conflict)
        #expect(try laptop.kept().kept.known?.signed == known && laptop.ownKeys == nil)
        // A new code of the tablet comes with keys that nobody else has had, once nobody is listed whom the laptop
        // doesn't know.
        #expect(try failure(laptop, .useCode(#require(try tablet.code(.replaceCode)))) == .conflict)
        try tablet.run(.removeDevice(dialogue.newDevice.publicKeys))
        let code = try #require(try tablet.code(.replaceCode))
        try laptop.run(.useCode(code))
        #expect(try laptop.identityKeys() == tablet.identityKeys())
    }

    @Test(
        "that come with a recovery code of a branch are not taken either while a device has them that may be a removed one"
    )
    func codeOfBranch() throws {
        try phone.run(.identity)
        let tablet = try tablet()
        let other = KeysDevice("other", at: desk, stateFolder: folder.file("other"))
        try EnrolmentDialogue.letIn(other, of: desk, by: phone)
        try tablet.run(.look)
        let removed = try #require(try other.ownKeys)
        try fork {
            try phone.run(.removeDevice(removed))
        } onOther: {
            _ = try tablet.code(.replaceCode)
        }
        let known = try laptop.kept().kept.known?.signed
        #expect(try failure(laptop, .useCode(#require(try tablet.code(.replaceCode)))) == .conflict)
        #expect(try laptop.kept().kept.known?.signed == known)
        try tablet.run(.removeDevice(removed))
        // A removed device can list itself again, as another one.
        let stranger = KeyPairs(seed: .random()).publicKeys
        try tablet.run(.addDevice(stranger, name: "phone"))
        #expect(try failure(laptop, .useCode(#require(try tablet.code(.replaceCode)))) == .conflict)
        try tablet.run(.removeDevice(stranger))
        try laptop.run(.useCode(#require(try tablet.code(.replaceCode))))
        #expect(try laptop.identityKeys() == tablet.identityKeys())
    }

    @Test("do not go to a device that was given up before it was listed, whatever the other one does next")
    func givenUp() throws {
        try phone.run(.identity)
        let dialogue = try EnrolmentDialogue(of: desk, by: phone)
        desk.isOvertakenBy = { throw Steps.Broken() }
        #expect(throws: Steps.Broken.self) { try phone.run(dialogue.adding) }
        #expect(try phone.kept().kept.pending != nil && desk.statements.count == 1)
        for goal in [AccountKeysStateMachine.Goal.look, .identity, .takeCode, .look] { try phone.run(goal) }
        #expect(desk.statements.count == 1)
        // Another one is let in, and that one is not.
        try EnrolmentDialogue.letIn(laptop, of: desk, by: phone)
        #expect(try KeysDevice.are([phone, laptop], listedAt: desk))
        // The same one is, once it is asked for again.
        try phone.run(dialogue.adding)
        #expect(try desk.last?.lists(dialogue.newDevice.publicKeys) == true && desk.statements.count == 3)
    }

    @Test("of another branch leave a device that was cut off with what it knew, or with all of it")
    func cutOff() throws {
        for step in 0..<12 {
            for kind in Steps.Fault.allCases {
                let world = try EnrolledKeysTests()
                try world.expectAllOrNothing(cutOffAt: step, kind)
            }
        }
    }

    private func expectAllOrNothing(cutOffAt step: Int, _ kind: Steps.Fault) throws {
        try phone.run(.identity)
        let tablet = try tablet()
        let watch = KeysDevice("watch", at: desk, stateFolder: folder.file("watch"))
        try fork {
            try EnrolmentDialogue.letIn(watch, of: desk, by: phone)
        } onOther: {
            _ = try tablet.code(.replaceCode)
        }
        let known = try laptop.kept().kept.known?.signed
        let dialogue = try EnrolmentDialogue(of: desk, by: tablet)
        try tablet.run(dialogue.adding)
        let taking = try dialogue.taking(from: tablet)
        desk.steps.fault = (desk.steps.count + step, kind)
        _ = try? laptop.run(taking)
        desk.steps.fault = nil
        try laptop.run(.look)
        let after = try laptop.kept().kept
        let hasAll = try laptop.identityKeys() == tablet.identityKeys() && after.known?.signed != known
        #expect(hasAll || after.known?.signed == known && after.device == nil, "step \(step), \(kind)")
        try laptop.run(taking)
        #expect(try laptop.identityKeys() == tablet.identityKeys())
    }
}
