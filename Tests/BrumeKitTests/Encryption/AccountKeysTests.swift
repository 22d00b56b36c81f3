import BrumeEncryption
import BrumeModel
import BrumeSystem
import BrumeTestKit
import Testing

@testable import BrumeKit

/// What a device does about the account's keys, beside a server that the test has in its hands.
@Suite("A device's keys")
struct AccountKeysTests {
    let folder: TestFolder
    let desk = StatementDesk()

    init() throws { folder = try TestFolder() }

    private func device(_ name: String) -> KeysDevice {
        KeysDevice(name, at: desk, stateFolder: folder.file(name))
    }

    /// A phone with the account's identity, and the recovery code.
    private func phone() throws -> (phone: KeysDevice, code: RecoveryCode) {
        let phone = device("phone")
        return (phone, try #require(try phone.code(.takeCode)))
    }

    private func isAvailable(_ device: KeysDevice) throws -> Bool { try device.identityKeys() != nil }

    private func absence(_ device: KeysDevice) throws -> KeyAbsence? {
        guard case .noKeys(let absence, _) = try device.standing() else { return nil }
        return absence
    }

    private func conflict(_ device: KeysDevice) throws -> UInt32? {
        guard case .conflict(let number) = try device.standing() else { return nil }
        return number
    }

    @Test("are not made by looking, and nothing is written for it")
    func looking() throws {
        let phone = device("phone")
        guard case .notSetUp = try phone.standing() else { Issue.record("it is not set up"); return }
        #expect(desk.statements.isEmpty)
        #expect(try phone.failure(.replaceCode) == .notSetUp)
        #expect(try phone.failure(.useCode(RecoveryCode())) == .nothingToRecover)
        #expect(try TestFolder.isEmptyOrMissing(folder.file("phone")))
    }

    @Test("are made where something is to be encrypted, once, and are the same afterwards")
    func making() throws {
        let phone = device("phone")
        guard case .available(let identity) = try phone.run(.identity).standing else {
            Issue.record("there is an identity"); return
        }
        #expect(try phone.identityKeys() == identity.keys.publicKeys)
        #expect(try desk.signed.map(\.statement.hash) == [identity.statement.hash])
        #expect(try phone.ownKeys == identity.statement.devices.first?.keys)
        #expect(try phone.kept().kept.known?.trust == .compared)
        #expect(try phone.kept().kept.pending == nil)
    }

    @Test("come with a recovery code that is handed out once, also where the keys were made before it was asked for")
    func codeOnce() throws {
        let phone = device("phone")
        try phone.run(.identity)
        let code = try #require(try phone.code(.takeCode))
        #expect(try code.paperKey(desk.scope).publicKey == desk.last?.codeKey)
        #expect(try phone.failure(.takeCode) == .codeNotHere)
        #expect(try phone.kept().kept.code == nil)
    }

    @Test("do not come with a code that another device has replaced meanwhile")
    func staleCode() throws {
        let (phone, _) = try phone()
        guard case .done(.some) = try phone.folder.write([.code(RecoveryCode())], over: phone.kept().version) else {
            throw Steps.Broken()
        }
        #expect(try phone.failure(.takeCode) == .codeNotHere)
        #expect(try phone.kept().kept.code == nil)
    }

    @Test("that lost the race stay lost, also where the device ended then and the server forgot the winner's")
    func lostRace() throws {
        let (phone, laptop) = (device("phone"), device("laptop"))
        try laptop.run(.identity)
        try phone.run(.look)
        let keys = KeyPairs(seed: .random())
        let lost = try Identity.first(
            scope: desk.scope, device: keys.publicKeys, deviceName: "phone", code: RecoveryCode())
        let pending = PendingStatement(signed: lost.signed, device: keys)
        guard case .done(.some) = try phone.folder.write([.pending(pending)], over: phone.kept().version) else {
            throw Steps.Broken()
        }
        let winner = desk.statements
        desk.statements = []
        #expect(try absence(phone) == .notEnrolled)
        let isGivenBack = desk.statements == winner
        #expect(isGivenBack)
        #expect(try phone.kept().kept.pending == nil)
    }

    @Test("of two devices that make them at once are the first one's, and the other asks to be let in")
    func race() throws {
        let (phone, laptop) = (device("phone"), device("laptop"))
        desk.isOvertakenBy = { try laptop.run(.identity) }
        guard case .noKeys(.notEnrolled, _) = try phone.run(.identity).standing else {
            Issue.record("the laptop was first"); return
        }
        #expect(desk.statements.count == 1)
        #expect(try isAvailable(laptop) && absence(phone) == .notEnrolled)
        #expect(try phone.kept().kept.pending == nil && phone.ownKeys == nil)
        let code = try #require(try laptop.code(.takeCode))
        try phone.run(.useCode(code))
        #expect(try phone.identityKeys() == laptop.identityKeys())
    }

    @Test("come to a second device with the recovery code, and both have the same identity")
    func recovery() throws {
        let (phone, code) = try phone()
        let laptop = device("laptop")
        #expect(try absence(laptop) == .notEnrolled)
        guard case .looked = try laptop.run(.useCode(RecoveryCode(code.text.lowercased()))).outcome else {
            Issue.record("the code is right"); return
        }
        #expect(try laptop.identityKeys() == phone.identityKeys() && isAvailable(phone))
        #expect(try KeysDevice.are([phone, laptop], listedAt: desk))
        #expect(try laptop.kept().kept.known?.trust == .compared)
        // Once more is no other device.
        try laptop.run(.useCode(code))
        #expect(desk.statements.count == 2)
    }

    @Test("do not come with another code, or with one that was replaced")
    func wrongCodes() throws {
        let (phone, code) = try phone()
        let laptop = device("laptop")
        #expect(try laptop.failure(.useCode(RecoveryCode())) == .wrongCode)
        let newer = try #require(try phone.code(.replaceCode))
        #expect(newer.text != code.text)
        #expect(try laptop.failure(.useCode(code)) == .wrongCode)
        #expect(try phone.failure(.useCode(code)) == .wrongCode)
        #expect(try laptop.ownKeys == nil && desk.statements.count == 2)
        try laptop.run(.useCode(newer))
        #expect(try laptop.identityKeys() == phone.identityKeys())
    }

    @Test("are replaced when a device is removed, which notices and comes back with the code under new device keys")
    func removal() throws {
        let (phone, code) = try phone()
        let laptop = device("laptop")
        try laptop.run(.useCode(code))
        let (before, laptopKeys) = (try phone.identityKeys(), try #require(try laptop.ownKeys))
        try phone.run(.removeDevice(laptopKeys))
        #expect(try phone.identityKeys() != before && isAvailable(phone))
        #expect(try absence(laptop) == .removed)
        #expect(try laptop.failure(.replaceCode) == .noKeys(.removed))
        // Whoever removes it once more finds it done.
        #expect(try phone.failure(.removeDevice(laptopKeys)) == nil && desk.statements.count == 3)
        let own = try #require(try phone.ownKeys)
        #expect(try phone.failure(.removeDevice(own)) == .ownDevice)
        #expect(try phone.failure(.removeDevice(KeyPairs(seed: .random()).publicKeys)) == .unknownDevice)

        try laptop.run(.useCode(code))
        #expect(try laptop.identityKeys() == phone.identityKeys())
        #expect(try laptop.ownKeys != laptopKeys)
    }

    @Test("are changed behind what another device did meanwhile")
    func overtaken() throws {
        let (phone, code) = try phone()
        let (laptop, tablet) = (device("laptop"), device("tablet"))
        desk.isOvertakenBy = { try tablet.run(.useCode(code)) }
        try laptop.run(.useCode(code))
        #expect(try desk.last?.devices.count == 3)
        desk.isOvertakenBy = { [keys = try #require(try laptop.ownKeys)] in try tablet.run(.removeDevice(keys)) }
        let newer = try #require(try phone.code(.replaceCode))
        #expect(try newer.paperKey(desk.scope).publicKey == desk.last?.codeKey)
        #expect(try phone.identityKeys() == tablet.identityKeys() && absence(laptop) == .removed)
    }

    @Test("give a restored server back what it lost, and go on")
    func restoredServer() throws {
        let (phone, code) = try phone()
        let laptop = device("laptop")
        try laptop.run(.useCode(code))
        _ = try phone.code(.replaceCode)
        let all = desk.statements
        for count in 0...all.count {
            desk.statements = Array(all.prefix(count))
            #expect(try isAvailable(phone))
            #expect(desk.statements == all, "from \(count)")
        }
        // What was made before the backup came back, and is sent after it.
        desk.steps.fault = (desk.steps.count + 3, .before)
        #expect(throws: Steps.Broken.self) { try phone.run(.replaceCode) }
        #expect(try phone.kept().kept.pending != nil)
        desk.statements = Array(all.prefix(1))
        #expect(try isAvailable(phone) && desk.statements == all)
        desk.statements = Array(all.prefix(1))
        #expect(try phone.code(.replaceCode) != nil && desk.statements.count == all.count + 1)
    }

    @Test("stop where the server shows another chain, from wherever it forks")
    func forks() throws {
        let (phone, code) = try phone()
        let (laptop, tablet) = (device("laptop"), device("tablet"))
        let first = desk.statements
        try laptop.run(.useCode(code))
        let pinned = try phone.identityKeys()
        // A backup came back, and a device that had not seen more went on.
        desk.statements = first
        try tablet.run(.useCode(code))
        #expect(try conflict(phone) == 2 && conflict(laptop) == 2)
        #expect(try phone.failure(.replaceCode) == .conflict && phone.failure(.takeCode) == .conflict)
        // The code that the known chain has does not tell the two apart.
        #expect(try phone.failure(.useCode(code)) == .conflict)
        let kept = try #require(try phone.kept().kept.known)
        #expect(kept.chain.last.number == 2 && kept.chain.last.keys == pinned)
        #expect(desk.statements.count == 2)
    }

    @Test("are another account's where it began anew: its other devices stop, and come with the new code")
    func beginningAnew() throws {
        let (phone, code) = try phone()
        let laptop = device("laptop")
        try laptop.run(.useCode(code))
        let before = try phone.identityKeys()
        let tablet = device("tablet")
        let newer = try #require(try tablet.code(.beginAnew))
        #expect(desk.statements.count == 1)
        #expect(try isAvailable(tablet) && tablet.identityKeys() != before)
        #expect(try conflict(phone) == 1)
        #expect(try phone.failure(.useCode(code)) == .conflict)
        #expect(try phone.failure(.useCode(RecoveryCode())) == .wrongCode)
        try phone.run(.useCode(newer))
        #expect(try phone.identityKeys() == tablet.identityKeys())
        #expect(try phone.kept().kept.known?.chain.statements.count == 2)
        // And one that is in a conflict can begin anew itself.
        let newest = try #require(try laptop.code(.beginAnew))
        #expect(try newest.paperKey(desk.scope).publicKey == desk.last?.codeKey)
        #expect(try isAvailable(laptop) && conflict(tablet) == 1)
    }

    @Test("are not replaced in the place of others than those that the person was asked about")
    func overtakenReset() throws {
        _ = try phone()
        let (laptop, tablet) = (device("laptop"), device("tablet"))
        desk.isOvertakenBy = { _ = try tablet.code(.beginAnew) }
        #expect(try laptop.failure(.beginAnew) == .replacedMeanwhile)
        #expect(try isAvailable(tablet) && laptop.kept().kept.pending == nil)
    }

    /// A statement that a device made and the server did not get.
    private func cutOff(_ goal: KeysDevice.Machine.Goal, of device: KeysDevice) throws {
        desk.isOvertakenBy = { throw Steps.Broken() }
        #expect(throws: Steps.Broken.self) { try device.run(goal) }
        #expect(try device.kept().kept.pending != nil)
    }

    @Test("are replaced in the place of all by nothing but what asks for that, however often it failed before")
    func cutOffReset() throws {
        let (phone, code) = try phone()
        let laptop = device("laptop")
        try laptop.run(.useCode(code))
        let before = desk.statements
        try cutOff(.beginAnew, of: phone)
        #expect(try isAvailable(phone))
        try phone.run(.identity)
        #expect(desk.statements == before, "a look sends nothing")
        let device = try #require(try laptop.ownKeys)
        try phone.run(.removeDevice(device))
        #expect(desk.statements.count == before.count + 1 && Array(desk.statements.prefix(before.count)) == before)

        try cutOff(.beginAnew, of: phone)
        let anew = try #require(try phone.code(.beginAnew))
        #expect(try desk.statements.count == 1 && desk.last?.codeKey == anew.paperKey(desk.scope).publicKey)
    }

    @Test("that a reset has replaced are seen by the device that made it, also where the answer was lost")
    func lostAnswerOfReset() throws {
        let (phone, code) = try phone()
        try device("laptop").run(.useCode(code))
        try cutOff(.beginAnew, of: phone)
        let pending = try #require(try phone.kept().kept.pending)
        let request = AppendStatementRequest(
            statement: SharedBytes(pending.signed.bytes), replacedHash: pending.replacedHash)
        #expect(try desk.append(request) == nil)
        #expect(try phone.identityKeys() == pending.signed.statement.keys)
        #expect(try phone.kept().kept.pending == nil && phone.code(.takeCode) != nil)
    }

    @Test("keep the recovery code on paper where its replacement failed, until somebody asks for one again")
    func cutOffCode() throws {
        let (phone, code) = try phone()
        try cutOff(.replaceCode, of: phone)
        try phone.run(.identity)
        #expect(try desk.last?.codeKey == code.paperKey(desk.scope).publicKey)
        let laptop = device("laptop")
        try laptop.run(.useCode(code))
        #expect(try isAvailable(laptop) && isAvailable(phone))
        let next = try #require(try phone.code(.replaceCode))
        #expect(try desk.last?.codeKey == next.paperKey(desk.scope).publicKey)
    }

    @Test("are made once where an account without any begins anew")
    func beginningAnewWithout() throws {
        let phone = device("phone")
        let code = try #require(try phone.code(.beginAnew))
        #expect(try desk.statements.count == 1 && desk.last?.codeKey == code.paperKey(desk.scope).publicKey)
    }

    @Test("that a server makes up let nobody in: no device takes an identity that only lists it")
    func inventedIdentity() throws {
        let (phone, _) = try phone()
        let keys = try #require(try phone.ownKeys)
        let invented = try Identity.first(scope: desk.scope, device: keys, deviceName: "phone", code: RecoveryCode())
        desk.statements = [SharedBytes(invented.signed.bytes)]
        #expect(try conflict(phone) == 1)
        // Nor does one that has lost all but its keys.
        let device = device("laptop")
        try device.run(.look)
        #expect(try absence(device) == .notEnrolled)
    }

    @Test("do not follow a server whose statements don't follow each other, or can't be read")
    func hostileServer() throws {
        let (phone, code) = try phone()
        try device("laptop").run(.useCode(code))
        let all = desk.statements
        let stranger = try Identity.first(
            scope: desk.scope, device: KeyPairs(seed: .random()).publicKeys, deviceName: "", code: RecoveryCode())
        let next = try stranger.identity.replacingKeys()
        desk.statements = [all[0], SharedBytes(next.signed.bytes)]
        #expect(try conflict(phone) == 2)
        let tablet = device("tablet")
        #expect(try conflict(tablet) == 1 && tablet.kept().kept.known == nil)
        desk.statements = [all[0], SharedBytes([1, 2, 3])]
        #expect(try isMalformed(phone.failure(.look)) && isMalformed(tablet.failure(.look)))
        desk.statements = [all[0], all[0]]
        #expect(try tablet.failure(.look) == .busy, "it does not ask for ever")
    }

    private func isMalformed(_ failure: AccountKeysFailure?) -> Bool {
        if case .malformed = failure { true } else { false }
    }
}

extension TestFolder {
    fileprivate static func isEmptyOrMissing(_ path: String) throws -> Bool {
        try !FileSystem.exists(path) || FileSystem.list(path).isEmpty
    }
}
