import BrumeEncryption
import BrumeModel
import BrumeTestKit
import Testing

@testable import BrumeKit

/// What is left when a device ends in the midst of something: each step on the disk and with the server fails, before
/// it had its effect and after, and the next operation has to go on from there.
@Suite("A device's keys after a crash")
struct AccountKeysCrashTests {
    private typealias Goal = AccountKeysStateMachine.Goal

    /// Two devices, of which the first is about to do something.
    private final class World {
        let folder: TestFolder
        let desk = StatementDesk()
        let phone: KeysDevice
        let laptop: KeysDevice

        init() throws {
            folder = try TestFolder()
            phone = KeysDevice("phone", at: desk, stateFolder: folder.file("phone"))
            laptop = KeysDevice("laptop", at: desk, stateFolder: folder.file("laptop"))
        }
    }

    /// Breaks each step of `body` in each way, and calls `check` with the world as it is then. Returns how many times.
    private func eachFault(
        prepare: (World) throws -> Void, _ body: (World) throws -> Void, check: (World) throws -> Void
    ) throws -> Int {
        var broken = 0
        var step = 0
        while true {
            var wasReached = false
            for kind in Steps.Fault.allCases {
                let world = try World()
                try prepare(world)
                let first = world.desk.steps.count
                world.desk.steps.fault = (first + step, kind)
                do {
                    try body(world)
                } catch {
                    broken += 1
                }
                wasReached = world.desk.steps.count > first + step
                world.desk.steps.fault = nil
                if wasReached { try check(world) }
            }
            guard wasReached else { return broken }
            step += 1
        }
    }

    /// A code that works, whatever was lost with the answer.
    private func currentCode(of device: KeysDevice) throws -> RecoveryCode {
        if let code = try device.code(.takeCode) { return code }
        return try #require(try device.code(.replaceCode))
    }

    private func expectCode(_ code: RecoveryCode, opens world: World) throws {
        let tablet = KeysDevice("tablet", at: world.desk, stateFolder: world.folder.file("tablet"))
        try tablet.run(.useCode(code))
        #expect(try tablet.identityKeys() == world.phone.identityKeys())
    }

    @Test("the first identity is made once, and its code is there until it was handed out")
    func first() throws {
        let broken = try eachFault(prepare: { _ in }) { world in
            _ = try world.phone.code(.takeCode)
        } check: { world in
            // Nothing is lost but a code that was about to be handed out.
            let wasHandedOut = try world.phone.kept().kept.known != nil && world.phone.kept().kept.pending == nil
            let code = try world.phone.code(.takeCode)
            #expect(code != nil || wasHandedOut)
            #expect(world.desk.statements.count == 1)
            #expect(try world.phone.identityKeys() == world.desk.last?.keys)
            try expectCode(code ?? currentCode(of: world.phone), opens: world)
        }
        #expect(broken > 20)
    }

    @Test("a device that lets itself in with the code is listed once")
    func recovery() throws {
        var code: RecoveryCode?
        let broken = try eachFault { world in
            code = try world.laptop.code(.takeCode)
        } _: { world in
            try world.phone.run(.useCode(#require(code)))
        } check: { world in
            try world.phone.run(.useCode(#require(code)))
            #expect(try world.phone.identityKeys() == world.laptop.identityKeys())
            #expect(try KeysDevice.are([world.laptop, world.phone], listedAt: world.desk))
            #expect(world.desk.statements.count == 2)
        }
        #expect(broken > 20)
    }

    @Test("a device that another one lets in has all or nothing, and is listed once, wherever either was interrupted")
    func enrolling() throws {
        var dialogue: EnrolmentDialogue?
        let broken = try eachFault { world in
            try world.phone.run(.identity)
            dialogue = try EnrolmentDialogue(of: world.desk, by: world.phone)
        } _: { world in
            try world.phone.run(#require(dialogue).adding)
            try world.laptop.run(#require(dialogue).taking(from: world.phone))
        } check: { world in
            let dialogue = try #require(dialogue)
            try world.laptop.run(.look)
            try world.phone.run(dialogue.adding)
            try world.laptop.run(dialogue.taking(from: world.phone))
            #expect(try world.laptop.identityKeys() == world.phone.identityKeys())
            #expect(try KeysDevice.are([world.phone, world.laptop], listedAt: world.desk))
            #expect(world.desk.statements.count == 2)
        }
        #expect(broken > 20)
    }

    @Test("a device that follows a person to new keys does so, wherever it was interrupted")
    func following() throws {
        var code: RecoveryCode?
        let broken = try eachFault { world in
            try world.phone.run(.identity)
            code = try world.laptop.code(.beginAnew)
        } _: { world in
            try world.phone.run(.useCode(#require(code)))
        } check: { world in
            try world.phone.run(.useCode(#require(code)))
            #expect(try world.phone.identityKeys() == world.laptop.identityKeys())
            #expect(try KeysDevice.are([world.laptop, world.phone], listedAt: world.desk))
        }
        #expect(broken > 20)
    }

    @Test("a code that was replaced is good no more, and the new one is had by asking again")
    func replacing() throws {
        var old: RecoveryCode?
        let broken = try eachFault { world in
            old = try world.phone.code(.takeCode)
        } _: { world in
            _ = try world.phone.code(.replaceCode)
        } check: { world in
            let newer = try #require(try world.phone.code(.replaceCode))
            #expect(try world.laptop.failure(.useCode(#require(old))) == .wrongCode)
            #expect(world.desk.statements.count <= 3)
            try expectCode(newer, opens: world)
        }
        #expect(broken > 20)
    }

    @Test("a device that was to be removed is, and the one that removes keeps its keys")
    func removing() throws {
        var keys: PublicKeys?
        let broken = try eachFault { world in
            let code = try #require(try world.phone.code(.takeCode))
            try world.laptop.run(.useCode(code))
            keys = try world.laptop.ownKeys
        } _: { world in
            try world.phone.run(.removeDevice(#require(keys)))
        } check: { world in
            try world.phone.run(.removeDevice(#require(keys)))
            #expect(try KeysDevice.are([world.phone], listedAt: world.desk))
            #expect(try world.phone.identityKeys() != nil && world.laptop.identityKeys() == nil)
            #expect(world.desk.statements.count == 3)
        }
        #expect(broken > 10)
    }

    @Test("an account that begins anew does so with this device, whose code opens it")
    func beginningAnew() throws {
        let broken = try eachFault { world in
            _ = try world.laptop.code(.takeCode)
        } _: { world in
            _ = try world.phone.code(.beginAnew)
        } check: { world in
            let code = try #require(try world.phone.code(.beginAnew))
            #expect(world.desk.statements.count == 1)
            try expectCode(code, opens: world)
            #expect(try world.laptop.identityKeys() == nil)
        }
        #expect(broken > 20)
    }

    @Test("a statement whose answer was lost is sent again as it was")
    func lostAnswer() throws {
        let world = try World()
        // The folders, the statement on the disk, then the call.
        world.desk.steps.fault = (3, .after)
        #expect(throws: Steps.Broken.self) { try world.phone.run(.identity) }
        let kept = try #require(try world.phone.kept().kept.pending)
        #expect(world.desk.statements == [SharedBytes(kept.signed.bytes)])
        #expect(try world.phone.identityKeys() == kept.signed.statement.keys)
        #expect(world.desk.statements == [SharedBytes(kept.signed.bytes)])
        #expect(try world.phone.kept().kept.pending == nil)
    }
}
